// The misses of an evaluation and their causes: which words matched, and which documents ranked above.

import { h, icon } from "../core/dom.js";
import { counted } from "../search/outcome.js";

const AT_ONCE = 50;

/** The outcomes of a case: a label and its meaning. The first two are correct. */
export const OUTCOMES = {
  hit_rank_1: ["Found first", "An expected document ranks first."],
  abstention_ok: ["Correct abstention", "No document applies, and none was returned."],
  surfaced_low_rank: ["Found, not first", "An expected document is in the top k, but not first."],
  retrieval_miss: ["Not found", "No expected document is in the top k."],
  false_abstention: ["False abstention", "An expected document is in the top k, but nothing was returned."],
  gold_missing: ["Not in the corpus", "The corpus does not contain the expected document."],
  false_action: ["False positive", "No document applies, but something was returned."],
};
export const GOOD = new Set(["hit_rank_1", "abstention_ok"]);

/** The list of misses, optionally of one outcome. */
export function missed(misses) {
  const list = h("ol", { class: "misses" });
  const more = h("button", { type: "button", onclick: () => add() });
  const kinds = Object.keys(OUTCOMES).filter((name) => misses.some((one) => one.outcome === name));
  const narrow = h(
    "select",
    { "aria-label": "Outcome", onchange: () => show() },
    h("option", { value: "" }, `All ${misses.length.toLocaleString("en")}`),
    kinds.map((name) =>
      h("option", { value: name }, `${OUTCOMES[name][0]} (${misses.filter((one) => one.outcome === name).length})`),
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
    shown = narrow.value ? misses.filter((one) => one.outcome === narrow.value) : misses;
    list.replaceChildren();
    add();
  }

  function add() {
    const from = list.children.length;
    list.append(...shown.slice(from, from + AT_ONCE).map((one) => h("li", {}, miss(one))));
    const left = shown.length - list.children.length;
    more.hidden = !left;
    more.textContent = `Show ${Math.min(left, AT_ONCE)} of ${left.toLocaleString("en")} more`;
  }
}

function miss(one) {
  const [label] = OUTCOMES[one.outcome];
  const element = h(
    "details",
    {
      ontoggle: () => {
        if (element.open && element.children.length === 1) element.append(why(one));
      },
    },
    h(
      "summary",
      {},
      h("span", { class: `outcome ${one.outcome}` }, label),
      h("span", { class: "miss-query", dir: "auto" }, one.query || "(no words)"),
      h("span", { class: "miss-rank" }, rank(one)),
    ),
  );
  return element;
}

const rank = ({ rank: at, gold }) => (at ? `rank ${at.toLocaleString("en")}` : gold.length ? "no rank" : "");

function why({ gold, selected, why: cause }) {
  return h(
    "dl",
    { class: "facts why" },
    fact("Expected", gold.length ? gold.map((id) => h("code", {}, id)) : "nothing"),
    !cause.exists && fact("Problem", `The corpus has no document ${cause.id}.`),
    selected.length > 0 &&
      fact(
        "Returned",
        selected.map((id) => h("code", {}, id)),
      ),
    causes(cause),
  );
}

/** What explains the rank of a document: the words of the query, what ranks above, and what the selection did. */
export function causes(cause) {
  const words = [
    ["matched", cause.matched, cause.wanted ? "in the document" : "in the returned document"],
    ["elsewhere", cause.elsewhere, "only in other documents"],
    ["nowhere", cause.unknown, "in no document"],
  ].filter(([, list]) => list.length);
  return [
    words.length > 0 &&
      fact(
        "Words",
        words.map(([kind, list, where]) =>
          h(
            "span",
            { class: `words ${kind}` },
            list.map((word) => h("span", { class: "word", dir: "auto" }, word)),
            h("span", { class: "muted" }, where),
          ),
        ),
      ),
    cause.above.length > 0 && fact("Ranked above", h("ol", { class: "above" }, cause.above.map(rival))),
    cause.cut && fact("Cut", cause.cut),
  ];
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

const rival = ({ rank: at, id, score, matched }) =>
  h(
    "li",
    {},
    h("span", { class: "muted" }, `${at}.`),
    h("code", {}, id),
    h("span", { class: "muted" }, `${score.toFixed(3)}, ${matched.length ? `matches ${matched.join(", ")}` : "no matching word"}`),
  );

/** The number of cases by outcome, as bars. */
export function taxonomy(counts, all) {
  return h(
    "ul",
    { class: "taxonomy" },
    Object.entries(OUTCOMES)
      .filter(([name]) => counts[name])
      .map(([name, [label, meaning]]) =>
        h(
          "li",
          { class: name, "--share": counts[name] / all, title: meaning },
          h("span", {}, GOOD.has(name) ? icon("check") : icon("close"), label),
          h("span", { class: "amount", "aria-hidden": "true" }),
          h("span", {}, counted(counts[name], "case")),
        ),
      ),
  );
}
