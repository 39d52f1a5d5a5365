// The Settings tab: the settings in force, their origins, and how to change them.

import { h, table } from "../core/dom.js";
import { loadCompat } from "../core/extensions.js";
import { failure, loading } from "../core/messages.js";
import { readStatus } from "../core/service.js";

/** @import { Setting } from "../core/types.js" */

/** @param {HTMLElement} root */
export function mount(root) {
  const content = h("div", {}, loading());
  root.append(h("div", { class: "head" }, h("h1", {}, "Settings")), content);
  show(content);
}

/** @param {HTMLElement} content */
async function show(content) {
  content.replaceChildren(loading());
  try {
    const [compat, { configuration }] = await Promise.all([loadCompat(), readStatus()]);
    const cards = compat ? [h("div", { class: "columns" }, await compat.createSettingsCards())] : [];
    content.replaceChildren(h("div", { class: "parts" }, cards, settingsTable(configuration)));
  } catch (error) {
    content.replaceChildren(failure(error, () => show(content)));
  }
}

/**
 * The settings that the service was started with; those of the retriever have a card of their own.
 *
 * @param {Setting[]} configuration
 */
function settingsTable(configuration) {
  const rows = configuration.filter(({ key }) => !key.startsWith("bm25s."));
  return h(
    "section",
    { class: "card flush", "aria-label": "Other settings" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, "Other settings"),
      h("p", { class: "muted" }, "Set when the service was started"),
    ),
    h(
      "div",
      { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of settings" },
      table(
        "Other settings",
        ["Setting", "Value", "Origin"],
        rows.map(({ key, value, origin }) => [h("code", {}, splitKey(key)), formatValue(value), origin]),
        { class: "texts" },
      ),
    ),
  );
}

/**
 * A key that may wrap after its dots and underscores.
 *
 * @param {string} key
 */
const splitKey = (key) => key.split(/(?<=[._])/).flatMap((part) => [part, h("wbr")]);

/** @param {any} value */
function formatValue(value) {
  if (value === null || (typeof value === "object" ? Object.keys(value) : value).length === 0) return "–";
  return typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : String(value);
}
