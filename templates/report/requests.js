"use strict";
const place = document.querySelector("[data-requests]");
const fields = [...document.querySelectorAll("[data-request]")];
const save = document.querySelector("[data-save]");
function requests() {
  return fields
    .filter((field) => field.value.trim())
    .map((field) => ({ part: field.dataset.request, text: field.value.trim() }));
}
function content() {
  const { set, student, token } = place.dataset;
  const format = "grader-regrade-request/1";
  return JSON.stringify({ format, set, student, token, requests: requests() }, null, 1) + "\n";
}
function show() {
  const count = requests().length;
  const many = count === 1 ? "1 request" : `${count} requests`;
  place.querySelector("[data-count]").textContent = count ? `${many} to save.` : "No requests yet.";
  save.disabled = !count;
  const block = "`".repeat(3);
  place.querySelector("[data-issue]").value = count
    ? `Regrade request\n\n${block}json\n${content()}${block}\n` : "";
}
for (const field of fields) field.addEventListener("input", show);
save.addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content()], { type: "application/json" }));
  link.download = `regrade-request-${place.dataset.set}-${place.dataset.student}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
show();
