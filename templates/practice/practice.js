"use strict";
const answers = document.getElementById("answers");
const next = document.getElementById("next");
const verdict = document.getElementById("verdict");
if (verdict) verdict.focus();

function indent(event) {
  const area = event.target;
  if (event.key === "Escape") {
    area.dataset.leave = "yes";
  } else if (event.key === "Tab" && !area.dataset.leave && !event.shiftKey) {
    event.preventDefault();
    area.setRangeText("    ", area.selectionStart, area.selectionEnd, "end");
  } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
    const line = area.value.slice(0, area.selectionStart).split("\n").pop();
    const more = line.trimEnd().endsWith(":") ? "    " : "";
    event.preventDefault();
    area.setRangeText("\n" + line.match(/^ */)[0] + more, area.selectionStart, area.selectionEnd, "end");
  } else {
    delete area.dataset.leave;
  }
}

for (const area of document.querySelectorAll("[data-editor]")) {
  area.addEventListener("keydown", indent);
  area.addEventListener("blur", () => delete area.dataset.leave);
}

// A second press while the first is on its way would send a form that no longer counts.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  else event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

for (const box of document.querySelectorAll('input[type="checkbox"][name]')) {
  box.addEventListener("change", () => {
    if (!box.checked || !answers || !answers.contains(box)) return;
    for (const other of answers.querySelectorAll(`input[name="${CSS.escape(box.name)}"]`)) {
      if ((other.value === "none") !== (box.value === "none")) other.checked = false;
    }
  });
}

if (answers) {
  answers.addEventListener("submit", () => {
    if (document.querySelector("[data-editor]")) {
      answers.querySelector(".running").textContent = "Running your code …";
    }
  });
  for (const field of answers.querySelectorAll("input")) {
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
      event.preventDefault(); // the first field would hand in all others blank
    });
  }
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && answers) {
    event.preventDefault();
    answers.requestSubmit(answers.querySelector("button.main"));
  } else if (event.key === "n" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey && !answers) {
    event.preventDefault();
    if (next) next.requestSubmit();
  }
});
