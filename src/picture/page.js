"use strict";
const all = (selector) => [...document.querySelectorAll(selector)];
const [circles, items] = [all("circle[data-node]"), all("li[data-node]")];
const lines = all("[data-ends]").map((line) => [line, line.dataset.ends.split(" ")]);
const byNode = (elements) => new Map(elements.map((element) => [element.dataset.node, element]));
const [circleOf, itemOf] = [byNode(circles), byNode(items)];
const tip = document.getElementById("tip");
const search = document.getElementById("search");
let pinned = null;

// The browser's own tooltips would cover the page's.
circles.forEach((circle) => circle.querySelector("title").remove());

// Case, accents and width do not matter.
const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const texts = new Map(items.map((item) => [item.dataset.node, fold(item.textContent)]));

function find() {
  const words = fold(search.value).split(/\s+/).filter(Boolean);
  const isFound = (node) => words.every((word) => texts.get(node).includes(word));
  const found = new Set([...texts.keys()].filter(isFound));
  [...circles, ...items].forEach((element) => element.classList.toggle("faint", !found.has(element.dataset.node)));
  lines.forEach(([line, ends]) => line.classList.toggle("faint", !ends.every((end) => found.has(end))));
  document.getElementById("found").textContent = words.length ? `${found.size} found` : "";
}

function mark(node) {
  const near = new Set(node === null ? [] : [node]);
  const joined = lines.filter(([, ends]) => ends.includes(node));
  joined.forEach(([, ends]) => ends.forEach((end) => near.add(end)));
  lines.forEach(([line, ends]) => line.classList.toggle("near", ends.includes(node)));
  circles.forEach((circle) => circle.classList.toggle("near", near.has(circle.dataset.node)));
  items.forEach((item) => item.classList.toggle("near", item.dataset.node === node));
}

function show(event, node) {
  tip.textContent = itemOf.get(node).textContent;
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 8))}px`;
  mark(node);
}

circles.forEach((circle) => {
  const node = circle.dataset.node;
  circle.addEventListener("mousemove", (event) => show(event, node));
  circle.addEventListener("mouseleave", () => {
    tip.hidden = true;
    mark(pinned);
  });
  circle.addEventListener("click", () => {
    pinned = pinned === node ? null : node;
    mark(node);
    itemOf.get(node).scrollIntoView({ block: "center", behavior: "smooth" });
  });
});
items.forEach((item) => {
  item.addEventListener("mouseenter", () => mark(item.dataset.node));
  item.addEventListener("mouseleave", () => mark(pinned));
});
search.addEventListener("input", find);

// A link to the page may name what is searched: page.html#words.
function findLinked() {
  search.value = decodeURIComponent(location.hash.slice(1));
  find();
}
window.addEventListener("hashchange", findLinked);
if (location.hash) findLinked();
