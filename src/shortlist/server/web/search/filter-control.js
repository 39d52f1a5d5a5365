// The control of the metadata filter: a field that suggests the pairs of the results, and a button for each filter.

import { h } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { formatPair, listPairs, parsePair } from "./filters.js";

/** @import { Candidate } from "../core/types.js" */
/** @import { Control } from "../core/controls.js" */
/** @import { Pair } from "./types.js" */

const MAX_SUGGESTED = 100;

/** @implements {Control<Pair[]>} */
export class FilterControl {
  /** @param {{ change: (pairs: Pair[]) => void }} options */
  constructor({ change }) {
    this.change = change;
    /** @type {Pair[]} */
    this.pairs = [];
    /** @type {Map<string, Pair>} */
    this.suggested = new Map();
    this.options = h("datalist", { id: "filter-values" });
    this.wrong = h("p", { class: "wrong-field", id: "filter-wrong", role: "alert" });
    this.field = h("input", {
      id: "filter",
      list: "filter-values",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "key=value",
      "aria-describedby": "filter-hint filter-wrong",
      oninput: (event) => this.#onInput(/** @type {InputEvent} */ (event)),
      onkeydown: (event) => {
        if (event.key === "Enter" && !event.isComposing) this.#add();
      },
    });
    this.list = h("ul", { class: "chips", "aria-label": "Filters" });
    this.element = h(
      "div",
      { class: "control filter" },
      h("label", { for: "filter" }, "Filter"),
      this.field,
      this.options,
      h("p", { class: "hint", id: "filter-hint" }, "By metadata. Enter adds a filter."),
      this.wrong,
      this.list,
    );
  }

  /** @param {Pair[]} pairs */
  set(pairs) {
    if (pairs === this.pairs) return;
    this.pairs = pairs;
    this.list.hidden = !pairs.length;
    this.list.replaceChildren(...pairs.map((pair) => h("li", {}, this.#removeButton(pair))));
  }

  /**
   * Suggests the kinds and the metadata of these candidates.
   *
   * @param {Candidate[]} candidates
   */
  suggest(candidates) {
    const pairs = candidates.flatMap(({ kind, metadata }) => [
      /** @type {Pair} */ (["kind", kind]),
      ...listPairs(metadata),
    ]);
    /** @type {[string, Pair][]} */
    const named = pairs.map((pair) => [formatPair(pair), pair]);
    this.suggested = new Map(named.slice(0, MAX_SUGGESTED));
    this.options.replaceChildren(...[...this.suggested.keys()].sort().map((value) => h("option", { value })));
  }

  /** @param {InputEvent} event */
  #onInput({ inputType }) {
    this.wrong.textContent = "";
    const isChosen = !inputType || inputType === "insertReplacementText"; // from the list, and not typed
    if (isChosen && this.suggested.has(this.field.value)) this.#add();
  }

  #add() {
    const text = this.field.value.trim();
    const pair = this.suggested.get(text) ?? parsePair(text);
    if (!pair) {
      this.wrong.textContent = text ? "Enter a key and a value, such as category=payments." : "";
      return;
    }
    this.field.value = "";
    if (!this.pairs.some((other) => formatPair(other) === formatPair(pair))) this.change([...this.pairs, pair]);
  }

  /** @param {Pair} pair */
  #removeButton(pair) {
    const remove = () => {
      this.change(this.pairs.filter((other) => other !== pair));
      this.field.focus();
    };
    return h(
      "button",
      { type: "button", "aria-label": `Remove the filter ${formatPair(pair)}`, onclick: remove },
      h("span", { dir: "auto" }, formatPair(pair)),
      icon("close"),
    );
  }
}
