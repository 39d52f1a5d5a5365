// The misses of an evaluation and their causes: which words matched, and which documents ranked above.

import { fact, h } from "../core/dom.js";
import { causeFacts } from "../core/explanation.js";
import { formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";

/** @import { Miss } from "../core/types.js" */

const PAGE_SIZE = 50;

/**
 * The outcomes of a case: a label and its meaning.
 * @type {Record<string, [label: string, meaning: string]>}
 */
const OUTCOMES = {
  hit_rank_1: ["Found first", "An expected document ranks first."],
  abstention_ok: ["Correct abstention", "No document applies, and none was returned."],
  surfaced_low_rank: ["Found, not first", "An expected document is in the top k, but not first."],
  retrieval_miss: ["Not found", "No expected document is in the top k."],
  false_abstention: ["False abstention", "An expected document is in the top k, but nothing was returned."],
  gold_missing: ["Not in the corpus", "The corpus does not contain the expected document."],
  false_action: ["False positive", "No document applies, but something was returned."],
};
const CORRECT_OUTCOMES = new Set(["hit_rank_1", "abstention_ok"]);

/**
 * The list of misses, optionally of one outcome.
 *
 * @param {Miss[]} misses
 */
export function drawMisses(misses) {
  const list = h("ol", { class: "misses" });
  const more = h("button", { type: "button", onclick: () => add() });
  const kinds = Object.keys(OUTCOMES).filter((name) => misses.some(({ outcome }) => outcome === name));
  const narrow = h(
    "select",
    { "aria-label": "Outcome", onchange: () => show() },
    h("option", { value: "" }, `All ${misses.length.toLocaleString("en")}`),
    kinds.map((name) =>
      h("option", { value: name }, `${OUTCOMES[name][0]} (${misses.filter(({ outcome }) => outcome === name).length})`),
    ),
  );
  let shown = misses;
  show();
  return h(
    "section",
    { class: "card flush", "aria-label": "Misses" },
    h("div", { class: "card-head" }, h("h2", {}, "Misses and their causes"), narrow),
    list,
    more,
  );

  function show() {
    shown = narrow.value ? misses.filter(({ outcome }) => outcome === narrow.value) : misses;
    list.replaceChildren();
    add();
  }

  function add() {
    const from = list.children.length;
    list.append(...shown.slice(from, from + PAGE_SIZE).map((miss) => h("li", {}, drawMiss(miss))));
    const left = shown.length - list.children.length;
    more.hidden = !left;
    more.textContent = `Show ${Math.min(left, PAGE_SIZE)} of ${left.toLocaleString("en")} more`;
  }
}

/** @param {Miss} miss */
function drawMiss(miss) {
  const [label] = OUTCOMES[miss.outcome];
  const element = h(
    "details",
    {
      ontoggle: () => {
        if (element.open && element.children.length === 1) element.append(drawCauses(miss));
      },
    },
    h(
      "summary",
      {},
      h("span", { class: `outcome ${miss.outcome}` }, label),
      h("span", { class: "miss-query", dir: "auto" }, miss.query || "(no words)"),
      h("span", { class: "miss-rank" }, formatRank(miss)),
    ),
  );
  return element;
}

/** @param {Miss} miss */
function formatRank({ rank, gold }) {
  if (rank) return `rank ${rank.toLocaleString("en")}`;
  return gold.length ? "no rank" : "";
}

/** @param {Miss} miss */
function drawCauses({ gold, selected, why }) {
  return h(
    "dl",
    { class: "facts why" },
    fact("Expected", gold.length ? gold.map((id) => h("code", {}, id)) : "nothing"),
    !why.exists && fact("Problem", `The corpus has no document ${why.id}.`),
    selected.length > 0 &&
      fact(
        "Returned",
        selected.map((id) => h("code", {}, id)),
      ),
    causeFacts(why),
  );
}

/**
 * The number of cases by outcome, as bars.
 *
 * @param {Record<string, number>} counts
 * @param {number} all
 */
export function drawOutcomes(counts, all) {
  return h(
    "ul",
    { class: "taxonomy" },
    Object.entries(OUTCOMES)
      .filter(([name]) => counts[name])
      .map(([name, [label, meaning]]) =>
        h(
          "li",
          { class: name, "--share": counts[name] / all, title: meaning },
          h("span", {}, CORRECT_OUTCOMES.has(name) ? icon("check") : icon("close"), label),
          h("span", { class: "amount", "aria-hidden": "true" }),
          h("span", {}, formatCount(counts[name], "case")),
        ),
      ),
  );
}
