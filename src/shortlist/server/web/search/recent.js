// Recent queries, which this browser stores.

import { h } from "../core/dom.js";
import { addToList, clearList, readList } from "../core/history.js";

const KEY = "shortlist-queries";
const MAX_STORED = 20;
const MAX_SHOWN = 5;

/**
 * Stores a query, in place of the same one and of those that it continues.
 *
 * @param {string} query
 */
export const rememberQuery = (query) =>
  addToList(KEY, query, { max: MAX_STORED, replaces: (older) => query.startsWith(older) });

/**
 * The recent queries, or null if there are none.
 *
 * @param {(query: string) => void} use
 */
export function drawRecent(use) {
  /** @type {string[]} */
  const queries = readList(KEY);
  if (!queries.length) return null;
  const clear = () => {
    clearList(KEY);
    element.remove();
  };
  const element = h(
    "section",
    { class: "recent", "aria-label": "Recent queries" },
    h("p", {}, "Recent, in this browser only:"),
    h(
      "ul",
      { class: "samples" },
      queries
        .slice(0, MAX_SHOWN)
        .map((query) =>
          h("li", {}, h("button", { type: "button", onclick: () => use(query) }, h("span", { dir: "auto" }, query))),
        ),
    ),
    h("button", { type: "button", class: "quiet", onclick: clear }, "Clear"),
  );
  return element;
}
