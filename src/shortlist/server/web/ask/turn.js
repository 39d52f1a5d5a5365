// One question and its answer, shown while it arrives. Its status is above the text, so nothing moves as the text grows.

import { ServiceError } from "../core/api.js";
import { h, put, visible } from "../core/dom.js";
import { formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";
import { copyText, failure } from "../core/messages.js";
import { CHECKED, drawAnswer, drawRemoved, drawText, MAX_SHOWN_REMOVED, SUSPICIOUS } from "./answer.js";
import { formatAnswer } from "./copy.js";
import { formatSource, placeOf } from "./passage.js";

/** @import { Child } from "../core/dom.js" */
/** @import { IconName } from "../core/icons.js" */
/** @import { Answer, Citation, Claim, Evidence, Span, ToolCall } from "../core/types.js" */
/** @import { Cite, Cited } from "./answer.js" */
/** @typedef {(button: HTMLElement, item: Evidence, spans: Span[], checked?: string) => void} OpenPassage */

const AUTHORS = {
  extract: "without an LLM",
  llm: "by the LLM",
  agent: "by the LLM as an agent",
  gate: "",
};

// The status of an error of the language model.
const MODEL_FAILED = 502;

export class Turn {
  /**
   * @param {string} question
   * @param {{ open: OpenPassage }} options
   */
  constructor(question, { open }) {
    this.open = open;
    /** @type {Evidence[]} */
    this.evidence = [];
    /** @type {Citation[]} */
    this.citations = [];
    /** @type {HTMLButtonElement[]} */
    this.buttons = []; // of the citations in the text; each stays the same while the text grows
    this.received = "";
    this.state = h("p", { class: "turn-state", role: "status" });
    this.text = h("div", { class: "answer", dir: "auto" });
    this.more = h("div", { class: "turn-more" });
    this.element = h(
      "article",
      { class: "turn", "aria-label": question, "aria-busy": "true" },
      h("h2", { class: "turn-question", dir: "auto" }, question),
      this.state,
      this.text,
      this.more,
    );
    this.#showState("search", "Searching…");
  }

  /**
   * Applies an event of the answer.
   *
   * @param {string} name
   * @param {any} data
   */
  update(name, data) {
    if (name === "evidence") {
      this.evidence.push(data);
      this.#showState("documents", `Reading ${formatCount(this.evidence.length, "passage")}…`);
    }
    if (name === "step") this.#showState("search", `Searching: ${formatCall(data)}`);
    if (name === "text") {
      this.received += data.text;
      this.#draw((cite) => drawText(this.received, this.evidence, cite));
    }
  }

  /** @param {Answer} answer */
  show(answer) {
    this.evidence = answer.evidence;
    this.citations = answer.sentences.flatMap((sentence) => sentence.citations);
    this.#draw((cite) => [...(answer.refused ? [drawRefusal(answer)] : []), ...drawAnswer(answer, cite)]);
    this.#showState(answer.refused ? "none" : "documents", this.#summarize(answer));
    this.element.removeAttribute("aria-busy");
    put(this.more, this.#copyButton(answer), this.#listEvidence(answer), this.#listRemoved(answer), listCalls(answer));
  }

  /**
   * @param {unknown} error
   * @param {(options: { isExtractive?: boolean }) => void} retry
   */
  fail(error, retry) {
    this.element.removeAttribute("aria-busy");
    this.#showState("warn", "Not answered");
    const isOfModel = error instanceof ServiceError && error.status === MODEL_FAILED;
    const without = () => retry({ isExtractive: true });
    const button = isOfModel && h("button", { type: "button", onclick: without }, "Answer without the model");
    this.text.replaceChildren(failure(error, () => retry({}), button));
  }

  stop() {
    this.element.removeAttribute("aria-busy");
    this.#showState("close", "Stopped");
  }

  /**
   * @param {IconName} name
   * @param {string} text
   */
  #showState(name, text) {
    this.state.replaceChildren(icon(name), h("span", { title: text }, text));
  }

  /** @param {Answer} answer */
  #summarize({ refused, sentences, evidence, dropped, broke_off, by, usage, confidence = 0 }) {
    const cited = new Set(this.citations.map(({ number }) => number).filter(Boolean)).size;
    const sources = `from ${cited} of ${formatCount(evidence.length, "passage")}`;
    return [
      refused ? "Not answered" : `${formatCount(sentences.length, "sentence")} ${sources}`,
      dropped.length && `${formatCount(dropped.length, "sentence")} removed`,
      broke_off && "the reply was interrupted",
      !refused && confidence > 0 && `confidence ${Math.round(100 * confidence)} %`,
      AUTHORS[by],
      formatUsage(usage),
    ]
      .filter(Boolean)
      .join(" · ");
  }

  /**
   * Replaces the text. The buttons of citations stay, and the focus on one of them.
   *
   * @param {(cite: Cite) => Node[]} draw
   */
  #draw(draw) {
    const focused = document.activeElement;
    let count = 0;
    this.text.replaceChildren(...draw((cited, claim) => this.#cite(count++, cited, claim)));
    if (focused instanceof HTMLElement && this.text.contains(focused)) focused.focus({ preventScroll: true });
  }

  /**
   * @param {number} at
   * @param {Cited} cited
   * @param {Claim} [claim]
   */
  #cite(at, { number, marker, spans = [] }, claim) {
    const item = this.evidence[number - 1];
    if (!item) return document.createTextNode(marker); // a list of sources, not a passage
    this.buttons[at] ??= h("button", { type: "button", class: "cite" });
    const button = this.buttons[at];
    const name = labelOf(item);
    put(button, String(number));
    button.title = visible(name);
    button.ariaLabel = visible(`Citation ${number}: ${name}`);
    button.onclick = () => this.open(button, item, spans, claim && CHECKED[claim.support]);
    return button;
  }

  /** @param {Answer} answer */
  #copyButton(answer) {
    const copy = () => copyText(formatAnswer(answer), this.text, "Answer");
    return (
      !answer.refused &&
      h("button", { type: "button", class: "quiet copy", onclick: copy }, icon("copy"), "Copy answer")
    );
  }

  /**
   * The cited passages, and the others in a fold.
   *
   * @param {Answer} answer
   */
  #listEvidence({ evidence }) {
    const numbers = new Set(this.citations.map(({ number }) => number));
    const cited = evidence.filter(({ number }) => numbers.has(number));
    const others = evidence.filter(({ number }) => !numbers.has(number));
    /** @param {Evidence[]} items */
    const list = (items) =>
      items.map((item) => h("li", { class: items === cited && "cited" }, this.#passageButton(item)));
    return [
      cited.length > 0 && h("h3", {}, "Cited"),
      cited.length > 0 && h("ol", { class: "shown", "aria-label": "Cited passages" }, list(cited)),
      others.length > 0 &&
        h(
          "details",
          { class: "fold" },
          h(
            "summary",
            {},
            `${formatCount(others.length, cited.length ? "other passage" : "passage")} found, not cited`,
          ),
          h("ol", { class: "shown" }, list(others)),
        ),
    ];
  }

  /** @param {Evidence} item */
  #passageButton(item) {
    const button = h(
      "button",
      { type: "button", class: "quiet" },
      h("span", { class: "unseen" }, "Passage "),
      h("span", { class: "shown-number" }, item.number),
      h("span", { class: "shown-from", dir: "auto" }, item.label),
      h("span", { class: "shown-place", dir: "auto" }, placeOf(item)),
      item.warning && h("span", { class: "flag", title: item.warning }, icon("warn"), SUSPICIOUS),
      h("span", { class: "shown-score", title: "Relevance" }, item.score.toFixed(2)),
    );
    const spans = this.citations.filter(({ number }) => number === item.number).flatMap((cited) => cited.spans);
    button.addEventListener("click", () => this.open(button, item, mergeSpans(spans)));
    return button;
  }

  /** @param {Answer} answer */
  #listRemoved({ dropped, evidence }) {
    /** @type {Cite} */
    const cite = (cited) => this.#cite(this.buttons.length, cited);
    return (
      dropped.length > MAX_SHOWN_REMOVED &&
      fold(
        `${formatCount(dropped.length, "sentence")} removed`,
        dropped.map((removed) => drawRemoved(removed, evidence, cite)),
      )
    );
  }
}

/**
 * Merges spans that overlap, in order.
 *
 * @param {Span[]} spans
 * @returns {Span[]}
 */
export function mergeSpans(spans) {
  /** @type {Span[]} */
  const merged = [];
  for (const [start, end] of spans.toSorted((span, other) => span[0] - other[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

/** @param {Evidence} item */
const labelOf = (item) => `${formatSource(item)}${item.warning ? ` (${SUSPICIOUS})` : ""}`;

/** @param {Answer} answer */
const drawRefusal = ({ text, reason }) =>
  h(
    "div",
    { class: "refusal" },
    icon("none"),
    h("p", { class: "refusal-text" }, text),
    h("p", { class: "muted" }, reason),
  );

/** @param {Answer} answer */
const listCalls = ({ steps }) =>
  steps.length > 0 &&
  fold(
    formatCount(steps.length, "tool call"),
    steps.map((step) => [h("code", {}, formatCall(step)), h("span", { class: "muted" }, step.error ?? "")]),
  );

/**
 * @param {string} summary
 * @param {Child[]} rows
 */
const fold = (summary, rows) =>
  h(
    "details",
    { class: "fold" },
    h("summary", {}, summary),
    h(
      "ul",
      { class: "left-out" },
      rows.map((row) => h("li", {}, row)),
    ),
  );

/**
 * A tool call as text; the arguments of a model may be a plain string.
 *
 * @param {ToolCall} call
 */
export function formatCall({ tool, arguments: given }) {
  const values = typeof given === "string" ? [given] : Object.values(given ?? {}).map((value) => JSON.stringify(value));
  return `${tool}(${values.join(", ")})`;
}

/** @param {Answer["usage"]} usage */
const formatUsage = ({ calls, total_tokens: tokens }) =>
  calls ? `${tokens ? `${formatCount(tokens, "token")} in ` : ""}${formatCount(calls, "call")}` : "";
