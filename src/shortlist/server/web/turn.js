// One question and its answer, shown while it arrives. Its status is above the text, so nothing moves as the text grows.

import { failure, h, icon } from "./dom.js";
import { counted } from "./outcome.js";
import { place, placed } from "./passage.js";

const BY = {
  extract: "without an LLM",
  llm: "by the LLM",
  agent: "by the LLM as an agent",
  gate: "",
};

// More passages than this are collapsed.
const FEW = 6;

export class Turn {
  /** `open(button, evidence, spans)` is called to show a passage. */
  constructor(question, { open }) {
    this.open = open;
    this.evidence = [];
    this.citations = [];
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
    this.#say("search", "Searching…");
  }

  /** Applies an event of the answer. */
  update(name, data) {
    if (name === "evidence") {
      this.evidence.push(data);
      this.#say("documents", `Reading ${counted(this.evidence.length, "passage")}…`);
    }
    if (name === "step") this.#say("search", `Searching: ${called(data)}`);
    if (name === "text") {
      this.received += data.text;
      this.text.append(...this.#drawn(data.text));
    }
  }

  show(answer) {
    this.evidence = answer.evidence;
    this.citations = answer.sentences.flatMap((sentence) => inOrder(sentence));
    if (answer.refused) this.text.replaceChildren(refusal(answer));
    else if (this.received !== answer.text) this.text.replaceChildren(...this.#drawn(answer.text));
    const used = new Set(this.citations.map((one) => one.number)).size;
    const summary = answer.refused
      ? "Not answered"
      : `${counted(answer.sentences.length, "sentence")} from ${used} of ${counted(answer.evidence.length, "passage")}`;
    const said = [summary, answer.broke_off && "the reply was interrupted", BY[answer.by], spent(answer.usage)].filter(Boolean);
    this.#say(answer.refused ? "none" : "check", said.join(" · "));
    this.element.removeAttribute("aria-busy");
    this.more.replaceChildren(
      ...[
        answer.evidence.length > 0 && this.#shown(answer.evidence),
        answer.dropped.length > 0 &&
          folded(
            `${counted(answer.dropped.length, "sentence")} removed`,
            answer.dropped.map(({ text, reason }) => [
              h("q", { dir: "auto" }, text),
              h("span", { class: "muted" }, reason),
            ]),
          ),
        answer.steps.length > 0 &&
          folded(
            counted(answer.steps.length, "tool call"),
            answer.steps.map((step) => [h("code", {}, called(step)), h("span", { class: "muted" }, step.error ?? "")]),
          ),
      ].filter(Boolean),
    );
  }

  fail(error, again) {
    this.element.removeAttribute("aria-busy");
    this.#say("warn", "Not answered");
    this.text.replaceChildren(failure(error, again));
  }

  stopped() {
    this.element.removeAttribute("aria-busy");
    this.#say("close", "Stopped");
  }

  #say(name, text) {
    this.state.replaceChildren(icon(name), h("span", { title: text }, text));
  }

  /** A text in which each marker is replaced by a numbered button. */
  #drawn(text) {
    const parts = [];
    let rest = text;
    for (;;) {
      const next = first(rest, this.evidence);
      if (!next) return [...parts, rest];
      parts.push(rest.slice(0, next.at), this.#cite(next.one));
      rest = rest.slice(next.at + next.one.marker.length);
    }
  }

  #cite(item) {
    const button = h(
      "button",
      { type: "button", class: "cite", "aria-label": `Citation ${item.number}: ${placed(item)}`, title: placed(item) },
      String(item.number),
    );
    button.addEventListener("click", () => {
      const at = [...this.text.querySelectorAll(".cite")].indexOf(button);
      this.open(button, item, this.citations[at]?.spans ?? []);
    });
    return button;
  }

  #shown(evidence) {
    return h(
      "details",
      { class: "fold", open: evidence.length <= FEW },
      h("summary", {}, `${counted(evidence.length, "passage")} used, with similarity`),
      h(
        "ol",
        { class: "shown" },
        evidence.map((item) => {
          const button = h(
            "button",
            { type: "button", class: "quiet", "aria-label": `Passage ${item.number}: ${placed(item)}` },
            h("span", { class: "shown-number" }, item.number),
            h("span", { class: "shown-from", dir: "auto" }, item.label),
            h("span", { class: "shown-place" }, place(item.locator)),
            h("span", { class: "shown-score" }, item.score.toFixed(3)),
          );
          button.addEventListener("click", () => this.open(button, item, this.#taken(item)));
          return h("li", {}, button);
        }),
      ),
    );
  }

  /** All cited spans of a passage, merged and in order. */
  #taken({ number }) {
    const spans = this.citations.filter((one) => one.number === number).flatMap((one) => one.spans);
    const taken = [];
    for (const [start, end] of spans.sort((one, other) => one[0] - other[0])) {
      const last = taken.at(-1);
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else taken.push([start, end]);
    }
    return taken;
  }
}

/** The first marker in a text, and its evidence. */
function first(text, evidence) {
  let found = null;
  for (const one of evidence) {
    const at = text.indexOf(one.marker);
    if (at >= 0 && (!found || at < found.at)) found = { at, one };
  }
  return found;
}

/** The citations of a sentence, one for each marker in it. */
function inOrder({ text, citations }) {
  const found = [];
  let rest = text;
  for (;;) {
    const next = first(rest, citations);
    if (!next) return found;
    found.push(next.one);
    rest = rest.slice(next.at + next.one.marker.length);
  }
}

const refusal = ({ text, reason }) =>
  h(
    "div",
    { class: "refusal" },
    icon("none"),
    h("p", { class: "refusal-text" }, text),
    h("p", { class: "muted" }, reason),
  );

const folded = (summary, rows) =>
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

/** A tool call as text; the arguments of a model may be a plain string. */
function called({ tool, arguments: given }) {
  const values = typeof given === "string" ? [given] : Object.values(given ?? {}).map((one) => JSON.stringify(one));
  return `${tool}(${values.join(", ")})`;
}

const spent = ({ calls, total_tokens: tokens }) =>
  calls ? `${tokens ? `${counted(tokens, "token")} in ` : ""}${counted(calls, "call")}` : "";
