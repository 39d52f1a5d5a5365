// The ranked rows. Each has a fixed height and moves to its rank, so nothing else moves.

import { h, put, visible } from "../core/dom.js";
import { escapePattern } from "../core/format.js";
import { icon } from "../core/icons.js";

/** @import { Child } from "../core/dom.js" */
/** @import { IconName } from "../core/icons.js" */
/** @import { Feedback, Gauge, Line, Outcome, Row } from "./types.js" */

/**
 * @typedef {object} Entry the elements of a row
 * @property {HTMLLIElement} element
 * @property {HTMLButtonElement} button
 * @property {Record<"called" | "wrong", HTMLButtonElement>} reportButtons
 * @property {HTMLElement} rank
 * @property {HTMLElement} title
 * @property {HTMLElement} snippet
 * @property {HTMLElement} score
 * @property {Row} row
 */

const PARTS_KEY = "shortlist-parts";
const MAX_ROWS = 200; // the others are counted
const MAX_SNIPPET_CHARACTERS = 600; // two lines are shown
const LEAD_CHARACTERS = 60; // before the first matched word

/** @type {Record<string, { image: IconName, name: string, className: string }>} */
const REPORTS = {
  called: { image: "up", name: "This was right", className: "was-right" },
  wrong: { image: "down", name: "This was wrong", className: "was-wrong" },
};

export class Results {
  /**
   * @param {object} options
   * @param {(row: Row, focus: boolean) => void} options.onOpen called to show a row, and to move the focus there
   * @param {() => void} options.onLeave called when the focus leaves the list upwards
   * @param {(row: Row, outcome: "called" | "wrong") => void} options.onReport called when the user says that a row is
   *   right or wrong, or takes that back
   */
  constructor({ onOpen, onLeave, onReport }) {
    this.onOpen = onOpen;
    this.onLeave = onLeave;
    this.onReport = onReport;
    /** @type {Map<string, Entry>} */
    this.rows = new Map();
    /** @type {HTMLElement[]} */
    this.dividers = [];
    this.list = h("ol", { class: "hits", onkeydown: (event) => this.#moveFocus(event) });
    this.axis = h("div", { class: "axis", "aria-hidden": "true" });
    this.parts = h("button", { type: "button", class: "quiet", onclick: () => this.#toggleParts() });
    this.element = h(
      "div",
      { class: "results" },
      h("div", { class: "results-head" }, this.parts, this.axis),
      this.list,
    );
    this.#showParts(localStorage.getItem(PARTS_KEY) === "shown");
  }

  #toggleParts() {
    const isShown = !this.element.classList.contains("with-parts");
    localStorage.setItem(PARTS_KEY, isShown ? "shown" : "hidden");
    this.#showParts(isShown);
  }

  /**
   * Shows or hides the bars that are parts of the main one.
   *
   * @param {boolean} isShown
   */
  #showParts(isShown) {
    this.element.classList.toggle("with-parts", isShown);
    put(this.parts, isShown ? "Hide parts" : "Show parts");
    this.parts.title = "Keyword and semantic match of each row";
  }

  clear() {
    this.rows.clear();
    this.list.replaceChildren();
    this.axis.replaceChildren();
    this.element.hidden = true;
  }

  /** @param {Outcome} outcome */
  show(outcome) {
    const rows = outcome.rows.slice(0, MAX_ROWS);
    this.element.hidden = !rows.length;
    this.#drawAxis(outcome);
    for (const divider of this.dividers) divider.remove();
    const before = this.rows;
    this.rows = new Map(
      rows.map((row) => [row.id, Object.assign(before.get(row.id) ?? this.#makeEntry(row), { row })]),
    );
    for (const [id, { element }] of before) if (!this.rows.has(id)) element.remove();
    const border = rows.findIndex((row) => !row.isSelected);
    let at = 0;
    for (const entry of this.rows.values()) {
      this.#fillEntry(entry, at, outcome.gauges, border);
      const wanted = this.list.children[at];
      if (wanted !== entry.element) moveBefore(this.list, entry.element, wanted ?? null);
      at += 1;
    }
    this.#divide(outcome, border, outcome.rows.length - rows.length);
    const parts = outcome.gauges.filter(({ isPart }) => isPart).length;
    this.parts.hidden = !parts;
    this.element.style.setProperty("--gauges", String(outcome.gauges.length - parts));
    this.element.style.setProperty("--parts", String(parts));
    this.list.style.setProperty("--rows", String(rows.length));
    this.list.style.setProperty("--dividers", String(this.dividers.length));
    this.#rove(this.#buttons().find((button) => button.tabIndex === 0) ?? this.#buttons()[0]);
  }

  focusFirst() {
    this.#buttons()[0]?.focus();
  }

  openFirst() {
    const [first] = this.rows.values();
    if (first) this.onOpen(first.row, true);
  }

  /** @param {string} id */
  focus(id) {
    this.rows.get(id)?.button.focus();
  }

  /**
   * Shows what became of feedback, by the id of its row. What was reported can be undone with the same button.
   *
   * @param {Map<string, Feedback>} feedback
   */
  showFeedback(feedback) {
    for (const [id, { reportButtons, row }] of this.rows) {
      const reported = feedback.get(id);
      for (const [outcome, button] of Object.entries(reportButtons)) {
        const isReported = reported?.outcome === outcome;
        const text = isReported ? `${reported.result}${reported.canUndo ? ", undo" : ""}` : "";
        put(button, text || icon(REPORTS[outcome].image));
        button.hidden = Boolean(reported) && !isReported;
        button.classList.toggle("said", isReported);
        const name = text || REPORTS[outcome].name;
        button.setAttribute("aria-label", visible(`${name}: ${row.title}`));
        if (isReported && reported.canUndo) button.title = `${REPORTS[outcome].name}. Undo`;
        else button.title = isReported ? "" : REPORTS[outcome].name;
      }
    }
  }

  /**
   * Marks the row that is open.
   *
   * @param {string | null} id
   */
  mark(id) {
    for (const [key, { button }] of this.rows) {
      if (key === id) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  /**
   * Adds a divider before the rows that are not selected, and one that counts the rows that are not shown.
   *
   * @param {Outcome} outcome
   * @param {number} border the index of the first row that is not selected, or -1
   * @param {number} hidden
   */
  #divide({ isUnknown }, border, hidden) {
    this.dividers = [];
    if (border >= 0) {
      const none = isUnknown ? "Closest by meaning, probably unrelated" : "Closest matches, none selected";
      const divider = h("li", { class: "divide", "--at": border, "--below": 0 }, border ? "Not selected" : none);
      this.list.insertBefore(divider, this.list.children[border]);
      this.dividers.push(divider);
    }
    if (hidden) {
      const below = this.dividers.length;
      const text = `${hidden.toLocaleString("en")} more not shown`;
      const divider = h("li", { class: "divide", "--at": MAX_ROWS, "--below": below }, text);
      this.list.append(divider);
      this.dividers.push(divider);
    }
  }

  /**
   * @param {Row} row
   * @returns {Entry}
   */
  #makeEntry(row) {
    const rank = h("span", { class: "rank" });
    const title = h("span", { class: "hit-title", dir: "auto" });
    const snippet = h("span", { class: "hit-snippet", dir: "auto" });
    const score = h("span", { class: "hit-score" });
    const text = h("span", { class: "hit-text" }, title, snippet);
    const button = h("button", { type: "button", class: "hit", tabindex: "-1" }, rank, text, score);
    /** @param {"called" | "wrong"} outcome */
    const makeReport = (outcome) =>
      h("button", {
        type: "button",
        class: `quiet ${REPORTS[outcome].className}`,
        tabindex: "-1",
        onclick: () => this.onReport(entry.row, outcome),
      });
    const reportButtons = { called: makeReport("called"), wrong: makeReport("wrong") };
    /** @type {Entry} */
    const entry = {
      button,
      reportButtons,
      rank,
      title,
      snippet,
      score,
      row,
      element: h("li", {}, button, h("span", { class: "reports" }, reportButtons.called, reportButtons.wrong)),
    };
    button.addEventListener("click", () => {
      this.#rove(button);
      this.onOpen(entry.row, true);
    });
    button.addEventListener("focus", () => this.onOpen(entry.row, false));
    return entry;
  }

  /**
   * @param {Entry} entry
   * @param {number} at
   * @param {Gauge[]} gauges
   * @param {number} border
   */
  #fillEntry({ element, rank, title, snippet, score, row }, at, gauges, border) {
    element.className = row.isSelected ? "kept" : "rejected";
    element.style.setProperty("--at", String(at));
    element.style.setProperty("--below", border >= 0 && at >= border ? "1" : "0");
    put(rank, `${at + 1}.`);
    put(title, markWords(row.title, row.matched));
    put(snippet, markWords(cutExcerpt(row.snippet, row.matched), row.matched));
    put(
      score,
      gauges.map((gauge, place) => drawGauge(gauge, row.values[gauge.key], place === 0)),
      h("span", { class: "unseen" }, row.isSelected ? " selected" : " not selected"),
    );
  }

  /**
   * The scale of the first gauge, and the names of the lines of all.
   *
   * @param {Outcome} outcome
   */
  #drawAxis({ gauges, formatTick }) {
    const lines = gauges.flatMap((gauge) => gauge.lines.map((line) => ({ ...line, share: shareOf(line.at, gauge) })));
    const lowest = Math.min(...lines.map(({ share }) => share));
    // A single label is on the side with more space; of two, that of the lower line is on the left.
    const isLeft = (/** @type {number} */ share) => (lines.length > 1 ? share === lowest : share > 0.5);
    put(
      this.axis,
      gauges.length > 0 &&
        h(
          "span",
          { class: "axis-scale" },
          h("span", { class: "axis-zero" }, "0"),
          h("span", { class: "axis-top" }, formatTick(gauges[0].scale)),
          h("span", { class: "axis-name" }, gauges[0].name),
          lines.map(({ isThreshold, name, share }) =>
            h(
              "span",
              {
                class: `axis-line${isThreshold ? " threshold" : ""}${isLeft(share) ? " left" : ""}`,
                "--line": share,
              },
              name,
            ),
          ),
        ),
    );
  }

  #buttons() {
    return [...this.rows.values()].map(({ button }) => button);
  }

  /**
   * Makes one row the stop of the Tab key.
   *
   * @param {HTMLButtonElement | undefined} stop
   */
  #rove(stop) {
    for (const { button, reportButtons } of this.rows.values())
      for (const each of [button, reportButtons.called, reportButtons.wrong]) each.tabIndex = button === stop ? 0 : -1;
  }

  /** @param {KeyboardEvent} event */
  #moveFocus(event) {
    const buttons = this.#buttons();
    const at = buttons.findIndex((button) => button.parentElement?.contains(document.activeElement));
    /** @type {Record<string, number>} */
    const targets = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 };
    const target = targets[event.key];
    if (target === undefined || at < 0) return;
    event.preventDefault();
    if (target < 0) {
      this.onLeave();
      return;
    }
    const button = buttons[Math.min(target, buttons.length - 1)];
    this.#rove(button);
    button.focus();
  }
}

/**
 * Moves an element without losing its state, where the browser can.
 *
 * @param {HTMLElement & { moveBefore?: (element: Node, before: Node | null) => void }} list
 * @param {HTMLElement} element
 * @param {Element | null} before
 */
function moveBefore(list, element, before) {
  if (list.moveBefore && element.parentNode === list) list.moveBefore(element, before);
  else list.insertBefore(element, before);
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
const isNumber = (value) => typeof value === "number";

/**
 * @param {number} value
 * @param {Gauge} gauge
 */
const shareOf = (value, { scale }) => Math.max(0, Math.min(value / scale, 1));

/**
 * A bar with its lines, its name and its value. A value may be missing: keyword search has no semantic similarity.
 *
 * @param {Gauge} gauge
 * @param {number | undefined} value
 * @param {boolean} isMain
 */
function drawGauge(gauge, value, isMain) {
  /** @param {Line} line */
  const drawLine = ({ at, isThreshold }) =>
    h("span", { class: `line${isThreshold ? " threshold" : ""}`, "--line": shareOf(at, gauge) });
  return h(
    "span",
    { class: `gauge ${gauge.key}${isMain ? " main" : ""}${gauge.isPart ? " part" : ""}` },
    h(
      "span",
      { class: "track" },
      h("span", { class: "fill", "--share": isNumber(value) ? shareOf(value, gauge) : 0 }),
      gauge.lines.map(drawLine),
    ),
    h("span", { class: isMain ? "unseen" : "gauge-name" }, ` ${gauge.name} `),
    h("span", { class: "value" }, isNumber(value) ? gauge.format(value) : "–"),
  );
}

/**
 * The matched words as a pattern. Inside of an identifier a word starts and ends where the case changes.
 *
 * @param {string[]} words
 */
function wordPattern(words) {
  const longestFirst = words.toSorted((word, other) => other.length - word.length);
  const any = longestFirst.map(escapePattern).join("|");
  return new RegExp(`(?:(?<![\\p{L}\\p{N}])|(?<=\\p{Ll})(?=\\p{Lu}))(?:${any})(?!\\p{Ll})`, "gu");
}

/**
 * A text with its matched words marked.
 *
 * @param {string} text
 * @param {string[]} words
 * @returns {Child[]}
 */
function markWords(text, words) {
  if (!words.length) return [text];
  /** @type {Child[]} */
  const parts = [];
  let at = 0;
  for (const { 0: word, index } of text.matchAll(wordPattern(words))) {
    parts.push(text.slice(at, index), h("mark", {}, word));
    at = index + word.length;
  }
  return [...parts, text.slice(at)];
}

/**
 * The text from shortly before its first matched word, if that is not at the beginning.
 *
 * @param {string} text
 * @param {string[]} words
 */
export function cutExcerpt(text, words) {
  const from = words.length ? text.search(wordPattern(words)) : -1;
  const start = text.lastIndexOf(" ", from - LEAD_CHARACTERS) + 1;
  return from > 2 * LEAD_CHARACTERS && start > 0
    ? `… ${text.slice(start, start + MAX_SNIPPET_CHARACTERS)}`
    : text.slice(0, MAX_SNIPPET_CHARACTERS);
}
