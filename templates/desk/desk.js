// Keys for what the page offers. Without this script, everything works with the mouse and Tab.
"use strict";

// The desk's address, which ends with a prefix if the desk is a service of a JupyterHub.
const root = new URL("..", document.currentScript.src);

const typing = (element) =>
  element.matches("textarea, select, input:not([type=checkbox])") || element.isContentEditable;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    const written = event.key === "Enter" && !event.repeat && event.target.form;
    // Not where several buttons decide different things.
    if (written && !written.querySelector("button[name=outcome]")) written.requestSubmit();
    return;
  }
  if (typing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // A key that is held would grade the next answers, too, before anybody has read them.
  if (event.repeat) return;
  const form = document.getElementById("grade");
  if (form && event.shiftKey && /^Digit[1-9]$/.test(event.code)) {
    const item = form.querySelector(`input[name=item][data-key="${event.code[5]}"]`);
    if (!item) return;
    event.preventDefault();
    for (const other of form.querySelectorAll("input[name=item]")) other.checked = other === item;
    form.requestSubmit();
    return;
  }
  if (event.key === "Enter" && form && !event.target.closest("a, button, summary")) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  const found = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!found) return;
  event.preventDefault();
  found.closest("details")?.setAttribute("open", "");
  if (found.matches("input:not([type=checkbox]), textarea")) found.focus();
  else found.click();
});

// A second press while the first is on its way would be taken for somebody else's change.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  setTimeout(() => delete form.dataset.sent, 3000); // if it was stopped on its way
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

const sum = document.getElementById("sum");
function showSum() {
  const chosen = [...document.querySelectorAll("#grade input[name=item]:checked")];
  const total = chosen.reduce((all, item) => all + Number(item.dataset.points), 0);
  const points = Math.min(Math.max(total, 0), Number(sum.dataset.most));
  sum.textContent = chosen.length ? `Sum: ${Math.round(100 * points) / 100}` : "";
}
if (sum) {
  document.getElementById("grade").addEventListener("change", showSum);
  showSum();
}

const find = document.getElementById("find");
find?.addEventListener("input", () => {
  const wanted = find.value.trim().toLowerCase();
  const rows = [...document.querySelectorAll("#list tbody tr:has(th)")];
  for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  const shown = rows.filter((row) => !row.hidden).length;
  document.getElementById("found").textContent = `${shown} of ${rows.length} ${rows.length === 1 ? "student" : "students"}`;
});

// Folds what was folded on the page before.
for (const details of document.querySelectorAll("details[data-remember]")) {
  const key = `folded ${details.dataset.remember}`;
  if (sessionStorage.getItem(key)) details.open = false;
  details.addEventListener("toggle", () =>
    details.open ? sessionStorage.removeItem(key) : sessionStorage.setItem(key, "1"));
}

for (const input of document.querySelectorAll("input[type=file][data-fills]"))
  input.addEventListener("change", async () => {
    document.getElementById(input.dataset.fills).value = (await input.files[0]?.text()) ?? "";
  });

// Says every few seconds what is open here, and shows what others have open.
const { here, every } = document.body.dataset;
async function report() {
  if (document.visibilityState !== "visible") return;
  try {
    const answer = await fetch(new URL(`here?${here}`, root), { credentials: "same-origin" });
    if (!answer.ok) return;
    const texts = await answer.json();
    for (const place of document.querySelectorAll("[data-presence]")) {
      const text = texts[place.dataset.presence] ?? "";
      if (place.textContent !== text) place.textContent = text;
    }
  } catch {
    // The desk has stopped. The next form says so.
  }
}
if (every && document.querySelector("[data-presence]")) {
  setInterval(report, 1000 * Number(every));
  document.addEventListener("visibilitychange", report);
}

// Follows a search until it ends.
async function follow(shown) {
  try {
    const answer = await fetch(location.pathname, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = page.getElementById("running");
    if (!now) return location.reload();
    if (now.textContent !== shown.textContent) shown.replaceChildren(...now.childNodes);
  } catch {
    // The desk has stopped.
  }
  setTimeout(follow, 1500, shown);
}
const running = document.getElementById("running");
if (running) setTimeout(follow, 1500, running);
