// What went wrong, and why: which words matched and which did not, and what stood above.

import { h, icon } from "./dom.js";
import { counted } from "./outcome.js";

const AT_ONCE = 50;

/** What can become of a case, in the words of the page; the first two are as they should be. */
export const OUTCOMES = {
  hit_rank_1: ["Found first", "Something that should be found stands first."],
  abstention_ok: ["Rightly nothing", "Nothing applies, and nothing was returned."],
  surfaced_low_rank: ["Found, not first", "It stands among the first k, but not first."],
  retrieval_miss: ["Not found", "It does not stand among the first k."],
  false_abstention: ["Wrongly nothing", "It stands among the first k, but nothing was returned."],
  gold_missing: ["Not in the corpus", "The corpus does not have it."],
  false_action: ["Wrongly something", "Nothing applies, and something was returned."],
};
export const GOOD = new Set(["hit_rank_1", "abstention_ok"]);

/** The list, narrowed to one outcome at will. */
export function missed(misses) {
  const list = h("ol", { class: "misses" });
  const more = h("button", { type: "button", onclick: () => add() });
  const kinds = Object.keys(OUTCOMES).filter((name) => misses.some((one) => one.outcome === name));
  const narrow = h(
    "select",
    { "aria-label": "Which of them", onchange: () => show() },
    h("option", { value: "" }, `All ${misses.length.toLocaleString("en")}`),
    kinds.map((name) =>
      h("option", { value: name }, `${OUTCOMES[name][0]} (${misses.filter((one) => one.outcome === name).length})`),
    ),
  );
  let shown = misses;
  show();
  return h(
    "section",
    { class: "card flush", "aria-label": "What went wrong" },
    h("div", { class: "card-head" }, h("h2", {}, "What went wrong, and why"), narrow),
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

function why({ gold, selected, why: told }) {
  const words = [
    ["matched", told.matched, told.wanted ? "in it" : "in what was returned"],
    ["elsewhere", told.elsewhere, "only elsewhere"],
    ["nowhere", told.unknown, "nowhere"],
  ].filter(([, list]) => list.length);
  return h(
    "dl",
    { class: "facts why" },
    fact("Wanted", gold.length ? gold.map((id) => h("code", {}, id)) : "nothing"),
    !told.exists && fact("But", `The corpus has no document ${told.id}.`),
    selected.length > 0 &&
      fact(
        "Returned",
        selected.map((id) => h("code", {}, id)),
      ),
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
    told.above.length > 0 && fact("Above it", h("ol", { class: "above" }, told.above.map(rival))),
    told.cut && fact("Cut", told.cut),
  );
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

const rival = ({ rank: at, id, score, matched }) =>
  h(
    "li",
    {},
    h("span", { class: "muted" }, `${at}.`),
    h("code", {}, id),
    h("span", { class: "muted" }, `${score.toFixed(3)}, ${matched.length ? `holds ${matched.join(", ")}` : "no word"}`),
  );

/** How many cases came out how, as bars. */
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
