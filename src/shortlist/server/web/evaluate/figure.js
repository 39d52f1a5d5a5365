// Plots that the service draws. Their SVG text is turned into elements one by one, since the page does not let the browser
// parse text as markup (trusted types).

import { h, svg } from "../core/dom.js";

/** @import { Plot } from "../core/types.js" */
/** @typedef {"svg" | "line" | "polyline" | "polygon" | "rect" | "circle" | "text" | "title"} Shape */

const SHAPES = new Set(["svg", "line", "polyline", "polygon", "rect", "circle", "text", "title"]);
const ATTRIBUTES = new Set(
  "viewBox role aria-label class x x1 x2 y y1 y2 cx cy r width height points transform text-anchor".split(" "),
);
/** @type {Record<string, string>} */
const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };
const PIECES = /<(\/?)(\w+)((?:\s+[\w-]+="[^"]*")*)\s*(\/?)>|([^<]+)/g;

const MAX_DISTANCE = 32; // pixels from the pointer to a value that is shown

/** @param {string} text */
const unescapeText = (text) => text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity]);

/**
 * Creates the root element of an SVG text.
 *
 * @param {string} text
 */
function drawSvg(text) {
  /** @type {Element[]} */
  const open = [h("div")];
  for (const [, closes, tag, given, single, words] of text.matchAll(PIECES)) {
    if (words !== undefined) {
      open[open.length - 1].append(unescapeText(words));
    } else if (closes) {
      open.pop();
    } else {
      if (!SHAPES.has(tag)) throw new TypeError(`A plot has no <${tag}>.`);
      const element = svg(/** @type {Shape} */ (tag), Object.fromEntries(listAttributes(given)));
      open[open.length - 1].append(element);
      if (!single) open.push(element);
    }
  }
  return open[0].firstElementChild;
}

/**
 * @param {string} given
 * @returns {Generator<[name: string, value: string]>}
 */
function* listAttributes(given) {
  for (const [, name, value] of given.matchAll(/([\w-]+)="([^"]*)"/g))
    if (ATTRIBUTES.has(name)) yield [name, unescapeText(value)];
}

/**
 * Shows the value that is nearest to the pointer.
 *
 * @param {Element} drawing
 * @param {HTMLElement} value
 */
function showNearest(drawing, value) {
  const shapes = [...drawing.querySelectorAll("circle, rect")].filter((shape) => shape.querySelector("title"));
  /** @param {Element | null} nearest */
  const show = (nearest) => {
    for (const shape of shapes) shape.classList.toggle("is-near", shape === nearest);
    value.textContent = nearest?.querySelector("title")?.textContent ?? "";
  };
  drawing.addEventListener("pointermove", (event) => {
    const { clientX, clientY } = /** @type {PointerEvent} */ (event);
    const distances = shapes.map((shape) => {
      const { left, right, top, bottom } = shape.getBoundingClientRect();
      return Math.hypot(Math.max(left - clientX, clientX - right, 0), Math.max(top - clientY, clientY - bottom, 0));
    });
    const least = Math.min(...distances);
    show(least <= MAX_DISTANCE ? shapes[distances.indexOf(least)] : null);
  });
  drawing.addEventListener("pointerleave", () => show(null));
}

/**
 * A plot with its title, its legend and an optional text below it.
 *
 * @param {Plot} plot
 * @param {string} [words]
 */
export function figure({ title, svg: text, names }, words = "") {
  const drawing = drawSvg(text);
  const value = h("p", { class: "plot-value", "aria-hidden": "true" });
  if (drawing) showNearest(drawing, value);
  return h(
    "figure",
    { class: "card figure" },
    h("figcaption", {}, h("h3", {}, title)),
    drawing,
    value,
    h(
      "ul",
      { class: "legend" },
      names.map((name, at) => h("li", {}, h("span", { class: `swatch s${at + 1}`, "aria-hidden": "true" }), name)),
    ),
    words && h("p", { class: "hint" }, words),
  );
}
