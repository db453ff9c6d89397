"use strict";
// Filters the index. Without it, the page lists every problem; it only moves and hides entries
// that are there, keeps the filters in the fragment of the address, and takes no text for markup.
const form = document.getElementById("filters");
const list = document.getElementById("entries");
const status = document.getElementById("count");
const entries = [...list.children];
const exact = ["family", "level", "code"];
const listed = ["kind", "set"];
// Without endings, so that "tiling" also finds "tiled", and "collectives" the singular.
const stem = (word) => word.replace(/(?<=.{3})(?:ing|ed|ism|(?<![su])s)$/, "");
const idle = new Set(["a", "an", "and", "for", "in", "of", "on", "the", "to", "vs", "with"]);
const words = (text) => {
  const all = text.normalize("NFKD").replace(/[^\x00-\x7f]/g, "").toLowerCase()
    .replace(/[-'’]/g, "").split(/[^a-z0-9]+/).filter(Boolean);
  const said = all.filter((word) => !idle.has(word));
  return (said.length ? said : all).map(stem);
};
// The index has words, separated by spaces; a searched word matches the beginning of one.
const has = (text, word) => ` ${text}`.includes(` ${word}`);
const allows = (data, wanted) =>
  exact.every((name) => !wanted[name] || data[name] === wanted[name])
  && listed.every((name) => !wanted[name] || data[name].split(" ").includes(wanted[name]))
  && (!wanted.from || Number(data.minutes) >= Number(wanted.from))
  && (!wanted.to || Number(data.minutes) <= Number(wanted.to))
  && (!wanted.concept || data.concept.includes(wanted.concept.trim().toLowerCase().replaceAll(" ", "-")));
const values = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));

const apply = () => {
  const wanted = values();
  const searched = words(wanted.q || "");
  const found = entries.map((entry, place) => {
    const { title, topics, text } = entry.dataset;
    const weights = searched.map((word) => has(title, word) ? 3 : has(topics, word) ? 2 : has(text, word) ? 1 : 0);
    const weight = weights.reduce((sum, one) => sum + one, 0);
    // Of two titles or lists of topics with the same words, the one of the shorter title is closer.
    const length = searched.length && weight >= 2 * searched.length ? title.split(" ").length : Infinity;
    return { entry, place, weight, length, hits: weights.filter(Boolean).length, allowed: allows(entry.dataset, wanted) };
  });
  // If no problem has all words, those with the most words are shown.
  const most = Math.max(0, ...found.filter((one) => one.allowed).map((one) => one.hits));
  const shown = found.filter((one) => one.allowed && one.hits === most && (most || !searched.length));
  shown.sort((a, b) => b.weight - a.weight || (a.length < b.length ? -1 : a.length > b.length ? 1 : 0) || a.place - b.place);
  for (const { entry } of found) entry.hidden = true;
  for (const { entry } of shown) entry.hidden = false;
  list.append(...shown.map((one) => one.entry));
  const count = `${shown.length} of ${entries.length} problems`;
  const some = shown.length && most < searched.length;
  status.textContent = !shown.length ? `${count}. Change the search or clear a filter.`
    : some ? `No problem has all words; ${count} ${shown.length === 1 ? "has" : "have"} ${most} of ${searched.length}.`
    : `${count}.`;
};
const store = () => {
  const fragment = new URLSearchParams(values()).toString();
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
};
const load = () => {
  if (location.hash && !location.hash.includes("=")) return; // a place on the page
  const stored = new URLSearchParams(location.hash.slice(1));
  for (const field of form.elements) if (field.name) field.value = stored.get(field.name) || "";
};
form.addEventListener("input", () => { apply(); store(); });
form.addEventListener("reset", () => setTimeout(() => { apply(); store(); }));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => { load(); apply(); });
form.hidden = false;
load();
apply();
