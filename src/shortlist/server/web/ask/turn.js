// One question and its answer, shown while it arrives. Its status is above the text, so nothing moves as the text grows.

import { CHECKED, FEW as FEW_REMOVED, SUSPICIOUS, drawAnswer, drawRemoved, drawText } from "./answer.js";
import { failure, h, icon, put, visible } from "../core/dom.js";
import { counted } from "../search/outcome.js";
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
  /** `open(button, evidence, spans, checked)` is called to show a passage. */
  constructor(question, { open }) {
    this.open = open;
    this.evidence = [];
    this.citations = [];
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
      this.#draw((cite) => drawText(this.received, this.evidence, cite));
    }
  }

  show(answer) {
    this.evidence = answer.evidence;
    this.citations = answer.sentences.flatMap((sentence) => sentence.citations);
    this.#draw((cite) => [answer.refused ? refusal(answer) : [], drawAnswer(answer, cite)].flat());
    const used = new Set(this.citations.map((one) => one.number).filter(Boolean)).size;
    const summary = answer.refused
      ? "Not answered"
      : `${counted(answer.sentences.length, "sentence")} from ${used} of ${counted(answer.evidence.length, "passage")}`;
    const removed = answer.dropped.length && `${counted(answer.dropped.length, "sentence")} removed`;
    const broken = answer.broke_off && "the reply was interrupted";
    const said = [summary, removed, broken, BY[answer.by], spent(answer.usage)].filter(Boolean);
    this.#say(answer.refused ? "none" : "documents", said.join(" · "));
    this.element.removeAttribute("aria-busy");
    this.more.replaceChildren(
      ...[
        answer.evidence.length > 0 && this.#shown(answer.evidence),
        answer.dropped.length > FEW_REMOVED &&
          folded(
            removed,
            answer.dropped.map((one) =>
              drawRemoved(one, answer.evidence, (cited) => this.#cite(this.buttons.length, cited)),
            ),
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

  /** Replaces the text. The buttons of citations stay, and the focus on one of them. */
  #draw(draw) {
    const focused = document.activeElement;
    let count = 0;
    this.text.replaceChildren(...draw((one, claim) => this.#cite(count++, one, claim)));
    if (this.text.contains(focused)) focused.focus({ preventScroll: true });
  }

  #cite(at, { number, marker, spans = [] }, claim) {
    const item = this.evidence[number - 1];
    if (!item) return document.createTextNode(marker); // a list of sources, not a passage
    const button = (this.buttons[at] ??= h("button", { type: "button", class: "cite" }));
    const name = label(item);
    put(button, String(number));
    button.title = visible(name);
    button.ariaLabel = visible(`Citation ${number}: ${name}`);
    button.onclick = () => this.open(button, item, spans, CHECKED[claim?.support]);
    return button;
  }

  #shown(evidence) {
    return h(
      "details",
      { class: "fold", open: evidence.length <= FEW },
      h("summary", {}, `${counted(evidence.length, "passage")} found, with similarity`),
      h(
        "ol",
        { class: "shown" },
        evidence.map((item) => {
          const button = h(
            "button",
            { type: "button", class: "quiet", "aria-label": `Passage ${item.number}: ${label(item)}` },
            h("span", { class: "shown-number" }, item.number),
            h("span", { class: "shown-from", dir: "auto" }, item.label),
            h("span", { class: "shown-place" }, place(item.locator)),
            item.warning && h("span", { class: "flag", title: item.warning }, icon("warn"), SUSPICIOUS),
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

const label = (item) => `${placed(item)}${item.warning ? ` (${SUSPICIOUS})` : ""}`;

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
