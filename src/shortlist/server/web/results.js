// The ranked rows. Each has a fixed height and moves to its rank, so nothing else moves.

import { h } from "./dom.js";

// The most rows that are shown; the others are counted.
const MOST = 200;

const move = (list, element, before) =>
  list.moveBefore && element.parentNode === list
    ? list.moveBefore(element, before)
    : list.insertBefore(element, before);

export class Results {
  /** `open(row, focus)` is called to show a row in the panel, and to move the focus there if `focus` is set. */
  constructor({ open, leave }) {
    this.open = open;
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
    const { scale, lines } = outcome;
    const rows = outcome.rows.slice(0, MOST);
    this.element.hidden = !rows.length;
    this.#drawAxis(outcome);
    this.divider?.remove();
    this.rest?.remove();
    const before = this.rows;
    this.rows = new Map(rows.map((row) => [row.id, Object.assign(before.get(row.id) ?? this.#make(), { row })]));
    for (const [id, { element }] of before) if (!this.rows.has(id)) element.remove();
    const share = (line) => (line ? Math.min(line.at / scale, 1) : -1);
    const main = share(lines.find((line) => !line.isThreshold));
    const threshold = share(lines.find((line) => line.isThreshold));
    const border = rows.findIndex((row) => !row.kept);
    let at = 0;
    for (const entry of this.rows.values()) {
      this.#fill(entry, at, { scale, main, threshold, border });
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
            border ? "Not selected" : "Closest matches, none selected",
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
    const value = h("span", { class: "value" });
    const detail = h("span", { class: "detail" });
    const button = h(
      "button",
      { type: "button", class: "hit", tabindex: "-1" },
      rank,
      h("span", { class: "hit-text" }, title, snippet),
      h(
        "span",
        { class: "hit-score" },
        h("span", { class: "track" }, h("span", { class: "fill" })),
        h("span", { class: "numbers" }, value, detail),
      ),
    );
    const entry = { button, rank, title, snippet, value, detail, element: h("li", {}, button) };
    button.addEventListener("click", () => {
      this.#rove(button);
      this.open(entry.row, true);
    });
    button.addEventListener("focus", () => this.open(entry.row, false));
    return entry;
  }

  #fill({ element, button, rank, title, snippet, value, detail, row }, at, { scale, main, threshold, border }) {
    const below = border >= 0 && at >= border;
    element.className = `${row.kept ? "kept" : "rejected"}${main < 0 ? " no-line" : ""}${threshold < 0 ? " no-threshold" : ""}`;
    for (const [name, number] of Object.entries({
      at,
      below: below ? 1 : 0,
      share: Math.max(0, Math.min(row.score / scale, 1)),
      line: main,
      threshold,
    }))
      element.style.setProperty(`--${name}`, number);
    rank.textContent = at + 1;
    title.textContent = row.title;
    snippet.textContent = row.snippet;
    value.textContent = row.label;
    detail.textContent = row.detail;
    button.setAttribute(
      "aria-label",
      `${at + 1}. ${row.title}, ${row.label}, ${row.kept ? "selected" : "not selected"}`,
    );
  }

  #drawAxis({ scale, tick, lines }) {
    this.axis.replaceChildren(
      h(
        "span",
        { class: "axis-scale" },
        h("span", { class: "axis-zero" }, "0"),
        h("span", { class: "axis-top" }, tick(scale)),
        lines.map((line) =>
          h(
            "span",
            {
              class: `axis-line${line.isThreshold ? " threshold" : ""}${isLeft(line) ? " left" : ""}`,
              "--line": Math.min(line.at / scale, 1),
            },
            line.name,
          ),
        ),
      ),
    );

    /** A single label is on the side with more space; of two, that of the lower line is on the left. */
    function isLeft(line) {
      return lines.length > 1 ? line.at === Math.min(...lines.map((one) => one.at)) : line.at / scale > 0.5;
    }
  }

  #buttons() {
    return [...this.list.querySelectorAll("button.hit")];
  }

  #rove(button) {
    for (const one of this.#buttons()) one.tabIndex = one === button ? 0 : -1;
  }

  #key(event, leave) {
    const buttons = this.#buttons();
    const at = buttons.indexOf(document.activeElement);
    const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (target === undefined || at < 0) return;
    event.preventDefault();
    if (target < 0) return leave();
    const button = buttons[Math.min(target, buttons.length - 1)];
    this.#rove(button);
    button.focus();
  }
}
