// Creates elements. The content of documents is inserted as text, never as HTML, and without invisible characters.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child what an element may contain */

/**
 * Attributes by name, listeners by `onclick` and the like, custom properties by `--name`.
 * @typedef {{ [Name in keyof HTMLElementEventMap as `on${Name}`]?: (event: HTMLElementEventMap[Name]) => unknown }} Listeners
 */

/** @typedef {Listeners & { [name: string]: unknown }} Attributes */

const SVG = "http://www.w3.org/2000/svg";
const SHOWN_ATTRIBUTES = new Set(["aria-label", "title"]);

/**
 * Creates an element.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Creates an element of SVG.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * @template {HTMLElement | SVGElement} Element
 * @param {Element} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {Element}
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name.startsWith("--")) element.style.setProperty(name, String(value));
    else if (SHOWN_ATTRIBUTES.has(name)) element.setAttribute(name, visible(value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  put(element, ...children);
  return element;
}

/**
 * Replaces the content of an element.
 *
 * @param {Element} element
 * @param {...Child} children
 */
export function put(element, ...children) {
  const flat = /** @type {unknown[]} */ (children).flat(Number.POSITIVE_INFINITY);
  const shown = flat.filter((child) => child !== null && child !== undefined && child !== false);
  element.replaceChildren(...shown.map((child) => (child instanceof Node ? child : visible(child))));
}

/**
 * Shows characters that are invisible or change the text direction as codes. Joiners stay inside of words and emoji of
 * other scripts than ASCII, which need them.
 *
 * @param {unknown} text
 * @returns {string}
 */
export function visible(text) {
  return String(text).replace(
    /(?!\r?\n|\t)(?!(?<=[^\0-\x7f])[\u200c\u200d](?=[^\0-\x7f]))[\p{C}\p{Zl}\p{Zp}]/gu,
    (letter) => `[U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/**
 * A table: `head` has the names of the columns, and each row starts with its own name.
 *
 * @param {string} caption
 * @param {string[]} head
 * @param {Child[][]} rows
 * @param {Attributes} [attributes]
 */
export function table(caption, head, rows, attributes = {}) {
  return h(
    "table",
    attributes,
    h("caption", { class: "unseen" }, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head.map((title) => h("th", { scope: "col" }, title)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([name, ...cells]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          cells.map((cell) => h("td", {}, cell)),
        ),
      ),
    ),
  );
}

/**
 * A row of a list of facts, unless it has no value.
 *
 * @param {string} name
 * @param {Child} value
 */
export const fact = (name, value) => Boolean(value) && h("div", {}, h("dt", {}, name), h("dd", {}, value));

/**
 * Returns a function that calls `act` once it was not called for a while.
 *
 * @param {() => unknown} act
 * @param {number} milliseconds
 */
export function debounce(act, milliseconds) {
  /** @type {number | undefined} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}

/**
 * Whether a key was pressed as a shortcut: without a modifier and outside of a dialog.
 *
 * @param {KeyboardEvent} event
 */
export const isShortcut = (event) =>
  !(event.ctrlKey || event.metaKey || event.altKey) && !document.querySelector("dialog[open]");

/**
 * Whether the target of an event takes text.
 *
 * @param {Event} event
 */
export const isInField = (event) =>
  event.target instanceof Element && event.target.closest("input, textarea, select") !== null;
