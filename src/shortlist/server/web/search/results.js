// The ranked rows. Each has a fixed height and moves to its rank, so nothing else moves.

import { h, put, visible } from "../core/dom.js";

// The most rows that are shown; the others are counted.
const MOST = 200;
const LONGEST = 600; // characters of a text; two lines are shown
const LEAD = 60; // characters before the first matched word
const UNKNOWN = "Closest by meaning, probably unrelated";

const move = (list, element, before) =>
  list.moveBefore && element.parentNode === list
    ? list.moveBefore(element, before)
    : list.insertBefore(element, before);

export class Results {
  /**
   * `open(row, focus)` is called to show a row in the panel, and to move the focus there if `focus` is set; `learn(row)`
   * when the user says that a row is right.
   */
  constructor({ open, leave, learn }) {
    this.open = open;
    this.learn = learn;
    this.rows = new Map();
    this.list = h("ol", { class: "hits", onkeydown: (event) => this.#key(event, leave) });
    this.axis = h("div", { class: "axis", "aria-hidden": "true" });
    this.element = h("div", { class: "results" }, this.axis, this.list);
  }

  clear() {
    this.rows.clear();
    this.list.replaceChildren();
    this.axis.replaceChildren();
    this.element.hidden = true;
  }

  show(outcome) {
    const rows = outcome.rows.slice(0, MOST);
    this.element.hidden = !rows.length;
    this.#drawAxis(outcome);
    this.divider?.remove();
    this.rest?.remove();
    const before = this.rows;
    this.rows = new Map(rows.map((row) => [row.id, Object.assign(before.get(row.id) ?? this.#make(), { row })]));
    for (const [id, { element }] of before) if (!this.rows.has(id)) element.remove();
    const border = rows.findIndex((row) => !row.kept);
    let at = 0;
    for (const entry of this.rows.values()) {
      this.#fill(entry, at, outcome.gauges, border);
      const wanted = this.list.children[at];
      if (wanted !== entry.element) move(this.list, entry.element, wanted ?? null);
      at += 1;
    }
    this.divider =
      border < 0
        ? null
        : h(
            "li",
            { class: "divide", "--at": border, "--below": 0 },
            border ? "Not selected" : outcome.isUnknown ? UNKNOWN : "Closest matches, none selected",
          );
    if (this.divider) this.list.insertBefore(this.divider, this.list.children[border]);
    const left = outcome.rows.length - rows.length;
    this.rest = left
      ? h(
          "li",
          { class: "divide", "--at": MOST, "--below": border < 0 ? 0 : 1 },
          `${left.toLocaleString("en")} more not shown`,
        )
      : null;
    if (this.rest) this.list.append(this.rest);
    this.element.style.setProperty("--gauges", outcome.gauges.length);
    this.list.style.setProperty("--rows", rows.length);
    this.list.style.setProperty("--dividers", (border < 0 ? 0 : 1) + (left ? 1 : 0));
    this.#rove(this.list.querySelector("[tabindex='0']") ?? this.#buttons()[0]);
  }

  focusFirst() {
    this.#buttons()[0]?.focus();
  }

  openFirst() {
    const first = this.rows.values().next().value;
    if (first) this.open(first.row, true);
  }

  focus(id) {
    this.rows.get(id)?.button.focus();
  }

  /** Shows what became of feedback, by the id of its row. */
  showLearned(said) {
    for (const [id, { right, row }] of this.rows) {
      const text = said[id] ?? "This was right";
      put(right, text);
      right.classList.toggle("said", id in said);
      right.setAttribute("aria-label", visible(`${text}: ${row.title}`));
    }
  }

  mark(id) {
    for (const [key, { button }] of this.rows) {
      if (key === id) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  #make() {
    const rank = h("span", { class: "rank" });
    const title = h("span", { class: "hit-title", dir: "auto" });
    const snippet = h("span", { class: "hit-snippet", dir: "auto" });
    const score = h("span", { class: "hit-score" });
    const button = h(
      "button",
      { type: "button", class: "hit", tabindex: "-1" },
      rank,
      h("span", { class: "hit-text" }, title, snippet),
      score,
    );
    const learn = () => this.learn(entry.row);
    const right = h("button", { type: "button", class: "quiet was-right", tabindex: "-1", onclick: learn });
    const entry = { button, right, rank, title, snippet, score, element: h("li", {}, button, right) };
    button.addEventListener("click", () => {
      this.#rove(button);
      this.open(entry.row, true);
    });
    button.addEventListener("focus", () => this.open(entry.row, false));
    return entry;
  }

  #fill({ element, button, rank, title, snippet, score, row }, at, gauges, border) {
    element.className = row.kept ? "kept" : "rejected";
    element.style.setProperty("--at", at);
    element.style.setProperty("--below", border >= 0 && at >= border ? 1 : 0);
    put(rank, at + 1);
    put(title, marked(row.title, row.matched));
    put(snippet, marked(excerpt(row.snippet, row.matched), row.matched));
    put(
      score,
      gauges.map((one, place) => gauge(one, row.values[one.key], place === 0)),
    );
    const numbers = gauges
      .filter(({ key }) => isNumber(row.values[key]))
      .map(({ key, name, format }) => `${name} ${format(row.values[key])}`);
    button.setAttribute(
      "aria-label",
      visible(`${at + 1}. ${row.title}, ${numbers.join(", ")}, ${row.kept ? "selected" : "not selected"}`),
    );
  }

  /** The scale of the first gauge, and the names of the lines of all. */
  #drawAxis({ gauges, tick }) {
    const lines = gauges.flatMap((one) => one.lines.map((line) => ({ ...line, share: share(line.at, one) })));
    const lowest = Math.min(...lines.map((one) => one.share));
    put(
      this.axis,
      gauges.length > 0 &&
        h(
          "span",
          { class: "axis-scale" },
          h("span", { class: "axis-zero" }, "0"),
          h("span", { class: "axis-top" }, `${tick(gauges[0].scale)} ${gauges[0].name}`),
          lines.map((line) =>
            h(
              "span",
              {
                class: `axis-line${line.isThreshold ? " threshold" : ""}${isLeft(line) ? " left" : ""}`,
                "--line": line.share,
              },
              line.name,
            ),
          ),
        ),
    );

    /** A single label is on the side with more space; of two, that of the lower line is on the left. */
    function isLeft(line) {
      return lines.length > 1 ? line.share === lowest : line.share > 0.5;
    }
  }

  #buttons() {
    return [...this.list.querySelectorAll("button.hit")];
  }

  #rove(button) {
    for (const one of this.#buttons()) one.tabIndex = one.nextSibling.tabIndex = one === button ? 0 : -1;
  }

  #key(event, leave) {
    const buttons = this.#buttons();
    const at = buttons.findIndex((one) => one.parentNode.contains(document.activeElement));
    const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (target === undefined || at < 0) return;
    event.preventDefault();
    if (target < 0) return leave();
    const button = buttons[Math.min(target, buttons.length - 1)];
    this.#rove(button);
    button.focus();
  }
}

const isNumber = (value) => typeof value === "number";
const share = (value, { scale }) => Math.max(0, Math.min(value / scale, 1));

/** A bar with its lines, its name and its value. A value may be missing: keyword search has no semantic similarity. */
function gauge(one, value, isMain) {
  return h(
    "span",
    { class: `gauge ${one.key}${isMain ? " main" : ""}` },
    h(
      "span",
      { class: "track" },
      h("span", { class: "fill", "--share": isNumber(value) ? share(value, one) : 0 }),
      one.lines.map((line) =>
        h("span", { class: `line${line.isThreshold ? " threshold" : ""}`, "--line": share(line.at, one) }),
      ),
    ),
    h("span", { class: "gauge-name" }, one.name),
    h("span", { class: "value" }, isNumber(value) ? one.format(value) : "–"),
  );
}

/** The matched words as a pattern. Inside of an identifier a word starts and ends where the case changes. */
function pattern(words) {
  const longestFirst = words.toSorted((one, other) => other.length - one.length);
  const any = longestFirst.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|");
  return new RegExp(`(?:(?<![\\p{L}\\p{N}])|(?<=\\p{Ll})(?=\\p{Lu}))(?:${any})(?!\\p{Ll})`, "gu");
}

/** A text with its matched words marked. */
function marked(text, words) {
  if (!words.length) return [text];
  const parts = [];
  let at = 0;
  for (const { 0: word, index } of text.matchAll(pattern(words))) {
    parts.push(text.slice(at, index), h("mark", {}, word));
    at = index + word.length;
  }
  return [...parts, text.slice(at)];
}

/** The text from shortly before its first matched word, if that is not at the beginning. */
function excerpt(text, words) {
  const from = words.length ? text.search(pattern(words)) : -1;
  const start = text.lastIndexOf(" ", from - LEAD) + 1;
  return from > 2 * LEAD && start > 0 ? `… ${text.slice(start, start + LONGEST)}` : text.slice(0, LONGEST);
}
