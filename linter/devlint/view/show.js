"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const card = document.getElementById("card");
const values = [...document.querySelectorAll(".v[tabindex]")];
const runs = new Map();
for (const run of document.querySelectorAll(".v")) {
  if (!runs.has(run.dataset.v)) runs.set(run.dataset.v, []);
  runs.get(run.dataset.v).push(run);
}
let shown = null;
let pinned = false;
let leaving = 0;

function element(name, attributes, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

function sentence(text) {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

function fill(id) {
  const value = data[id];
  card.replaceChildren(
    element("h3", {}, value.name, element("span", { className: "chip " + value.tint }, value.text)),
    element("p", {}, value.kind),
  );
  if (value.story.length) {
    const steps = value.story.map((step) => {
      const at = step.link ? element("a", { href: step.link }, step.at) : step.at;
      const item = element("li", {}, ...sentence(step.what), ", ", at);
      if (step.code) item.append(element("code", { className: "at" }, step.code));
      return item;
    });
    card.append(element("ol", {}, ...steps));
  }
}

function place(anchor) {
  const box = anchor.getBoundingClientRect();
  const left = Math.min(box.left, document.documentElement.clientWidth - card.offsetWidth - 16);
  const below = box.bottom + 8 + card.offsetHeight <= innerHeight || box.top < card.offsetHeight + 140;
  card.style.left = Math.max(left, 16) + scrollX + "px";
  card.style.top = (below ? box.bottom + 8 : box.top - 8 - card.offsetHeight) + scrollY + "px";
}

function show(run) {
  clearTimeout(leaving);
  hide();
  shown = run.dataset.v;
  for (const each of runs.get(shown)) each.classList.add("lit");
  fill(shown);
  card.hidden = false;
  place(run);
}

function hide() {
  if (shown !== null) for (const each of runs.get(shown)) each.classList.remove("lit");
  shown = null;
  pinned = false;
  card.hidden = true;
}

function go(index) {
  const target = values[Math.max(0, Math.min(values.length - 1, index))];
  if (!target) return;
  for (const each of values) each.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
  target.scrollIntoView({ block: "nearest" });
}

function neighbour(run, down) {
  const own = run.getBoundingClientRect();
  const rows = values.map((each, index) => ({ index, box: each.getBoundingClientRect() }))
    .filter(({ box }) => (down ? box.top > own.bottom - 4 : box.bottom < own.top + 4));
  rows.sort((a, b) => Math.abs(a.box.top - own.top) - Math.abs(b.box.top - own.top)
    || Math.abs(a.box.left - own.left) - Math.abs(b.box.left - own.left));
  return rows.length ? rows[0].index : values.indexOf(run);
}

document.addEventListener("mouseover", (event) => {
  const run = event.target.closest(".v");
  if (run && !pinned) show(run);
  else if (event.target.closest("#card")) clearTimeout(leaving);
});
document.addEventListener("mouseout", (event) => {
  if (!pinned && event.target.closest(".v, #card")) {
    clearTimeout(leaving);
    leaving = setTimeout(() => { if (!pinned) hide(); }, 220);
  }
});
document.addEventListener("click", (event) => {
  const run = event.target.closest(".v");
  const chip = event.target.closest("button.chip");
  if (run) { show(run); pinned = true; }
  else if (chip) only(chip);
  else if (!event.target.closest("#card")) hide();
});
document.addEventListener("focusin", (event) => {
  const run = event.target.closest(".v");
  if (run) { show(run); pinned = true; }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { hide(); return; }
  const run = document.activeElement.closest(".v");
  if (!run || event.altKey || event.ctrlKey || event.metaKey) return;
  const here = values.indexOf(run);
  const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: values.length - 1 }[event.key];
  if (to !== undefined) go(to);
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") go(neighbour(run, event.key === "ArrowDown"));
  else if (event.key === "Enter") { const link = card.querySelector("a"); if (link) link.focus(); }
  else return;
  event.preventDefault();
});

function only(chip) {
  const on = chip.getAttribute("aria-pressed") !== "true";
  for (const each of document.querySelectorAll("button.chip")) each.setAttribute("aria-pressed", "false");
  chip.setAttribute("aria-pressed", String(on));
  for (const each of document.querySelectorAll(".v, .notes span")) {
    each.classList.toggle("chosen", on && each.classList.contains(chip.dataset.tint));
  }
  if (on) document.body.dataset.only = chip.dataset.tint;
  else delete document.body.dataset.only;
}

if (location.hash.startsWith("#v")) {
  const run = values.find((each) => "#v" + each.dataset.v === location.hash);
  if (run) { run.scrollIntoView({ block: "center" }); run.focus(); }
}
