// Plots that the service draws. Their SVG text is turned into elements one by one, since the page does not let the browser
// parse text as markup (trusted types).

import { h, svg } from "../core/dom.js";

const SHAPES = new Set(["svg", "line", "polyline", "polygon", "rect", "circle", "text", "title"]);
const ATTRIBUTES = new Set(
  "viewBox role aria-label class x x1 x2 y y1 y2 cx cy r width height points transform text-anchor".split(" "),
);
const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };
const PIECES = /<(\/?)(\w+)((?:\s+[\w-]+="[^"]*")*)\s*(\/?)>|([^<]+)/g;

const plain = (text) => text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity]);

/** The root of an SVG text as an element. */
function drawn(text) {
  const open = [h("div")];
  for (const [, closes, tag, given, single, words] of text.matchAll(PIECES)) {
    if (words !== undefined) {
      open.at(-1).append(plain(words));
    } else if (closes) {
      open.pop();
    } else {
      if (!SHAPES.has(tag)) throw new TypeError(`A plot has no <${tag}>.`);
      const element = svg(tag, Object.fromEntries(attributes(given)));
      open.at(-1).append(element);
      if (!single) open.push(element);
    }
  }
  return open[0].firstElementChild;
}

function* attributes(given) {
  for (const [, name, value] of given.matchAll(/([\w-]+)="([^"]*)"/g))
    if (ATTRIBUTES.has(name)) yield [name, plain(value)];
}

/** A plot with its title, its legend and an optional text below it. */
export function figure({ title, svg: text, names }, words = "") {
  return h(
    "figure",
    { class: "card figure" },
    h("figcaption", {}, h("h3", {}, title)),
    drawn(text),
    h(
      "ul",
      { class: "legend" },
      names.map((name, at) => h("li", {}, h("span", { class: `swatch s${at + 1}`, "aria-hidden": "true" }), name)),
    ),
    words && h("p", { class: "hint" }, words),
  );
}
