"use strict";
// Sorts and filters the tables of this page. Everything is readable without it; it only moves and
// hides rows that are there, and takes no text for markup.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const bodies = [...table.tBodies];
  const rows = [...table.querySelectorAll("tbody tr:not(.group)")].map((row) => [row, row.parentNode]);
  const groups = [...table.querySelectorAll("tbody tr.group")];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const cell = row.cells[column];
    return "value" in cell.dataset ? cell.dataset.value : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y;
  };
  const sort = (column, direction) => {
    heads.forEach((head, n) => head.setAttribute("aria-sort", n === column ? direction : "none"));
    const plain = direction === "none";
    const sign = direction === "descending" ? -1 : 1;
    for (const group of groups) group.hidden = !plain;
    const ordered = plain ? rows : [...rows].sort(([a], [b]) => {
      const [x, y] = [value(a, column), value(b, column)];
      // What has no value stays last in both directions.
      return x === "" || y === "" ? compare(x, y) : sign * compare(x, y);
    });
    for (const [row, home] of ordered) (plain ? home : bodies[0]).append(row);
  };
  const next = { none: "ascending", ascending: "descending", descending: "none" };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sort(column, next[head.getAttribute("aria-sort")]));
  });
  if (!table.dataset.filter) continue;
  const label = document.createElement("label");
  const input = document.createElement("input");
  const status = document.createElement("span");
  label.className = "filter";
  input.type = "search";
  status.setAttribute("role", "status");
  label.append(table.dataset.filter, " ", input, " ", status);
  table.closest(".scroll").before(label);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row] of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    status.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
}
