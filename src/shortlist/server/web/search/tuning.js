// The search controls. Which ones are shown depends on the view and the strategy.

import { TEMPERATURES, choice, segments, slider, toggle } from "../core/controls.js";
import { h } from "../core/dom.js";
import { filterControl, readFilters } from "./filters.js";

export const DEFAULTS = {
  look: "discover",
  mode: "auto",
  k: 10,
  strategy: "",
  rel: 0.9,
  max_k: 3,
  gap_ratio: 0.5,
  min_score: 0,
  temperature: 0.5,
  cutoff: 10,
  ignore_zero: true,
  filters: [],
};

// Cosines and blended scores end at 1; BM25 is unbounded, but rarely exceeds this.
const MOST_LEXICAL = 50;

const MODES = [
  ["auto", "Auto", "Keyword and semantic search, blended."],
  ["lexical", "Lexical", "Keyword search (BM25)."],
  ["dense", "Dense", "Semantic search (cosine of vectors)."],
  ["hybrid", "Hybrid", "Reciprocal rank fusion of both."],
];
const STRATEGIES = [
  ["", "Adaptive", "The best document, and others that are nearly as relevant: up to five."],
  ["conservative", "Conservative", "The best document and others close to it."],
  ["top_k", "Top k", "The first documents, whatever their scores."],
  ["rel_threshold", "Relative threshold", "Documents close to the best."],
  ["abs_threshold", "Absolute threshold", "Documents at or above the threshold."],
  ["score_gap", "Score gap", "Documents before the first large drop."],
  ["softmax", "Softmax", "Documents with a sufficient share."],
];
export const USES = {
  "": [],
  conservative: ["rel", "max_k"],
  top_k: ["max_k"],
  rel_threshold: ["rel", "max_k"],
  abs_threshold: ["max_k"],
  score_gap: ["gap_ratio", "max_k"],
  softmax: ["temperature", "cutoff", "max_k"],
};

const SLIDERS = {
  k: { label: "Candidates (k)", min: 1, max: 100, step: 1, hint: "Number of candidates." },
  rel: {
    label: "Relative threshold",
    min: 0,
    max: 1,
    step: 0.01,
    hint: "Smallest selected share of the best score.",
  },
  max_k: { label: "Maximum (max_k)", min: 1, max: 20, step: 1, hint: "Maximum number of selected documents." },
  gap_ratio: {
    label: "Gap ratio",
    min: 0,
    max: 1,
    step: 0.01,
    hint: "A drop below this share of the previous score ends the list.",
  },
  min_score: {
    label: "Threshold (min_score)",
    min: 0,
    max: 1,
    step: 0.01,
    hint: "Abstain if the top score is below this. 0: the calibrated or built-in threshold.",
  },
  temperature: {
    label: "Temperature",
    min: 0.1,
    max: 10,
    stops: TEMPERATURES,
    hint: "Lower favors the best document; higher evens out the shares.",
  },
  cutoff: { label: "Cutoff", min: 0, max: 100, step: 0.5, unit: "%", hint: "Smallest selected share." },
};

const KNOWN = {
  look: ["softmax", "discover"],
  mode: MODES.map(([value]) => value),
  strategy: STRATEGIES.map(([value]) => value),
  ignore_zero: ["true", "false"],
};

/** The valid values in the parameters of an address. */
export function read(params) {
  const values = {};
  for (const [name, text] of Object.entries(params)) {
    if (name === "filters") values.filters = readFilters(text);
    if (KNOWN[name]?.includes(text)) values[name] = name === "ignore_zero" ? text === "true" : text;
    const range = SLIDERS[name];
    const value = Number(text);
    if (range && value >= range.min && value <= (name === "min_score" ? MOST_LEXICAL : range.max)) values[name] = value;
  }
  return values;
}

/** All controls; `show(state, softmax)` shows those that apply to the state, `offer(candidates)` suggests filters. */
export function tuning({ change, reset }) {
  const controls = {
    look: segments({
      label: "View",
      options: [
        ["softmax", "Softmax"],
        ["discover", "Discover"],
      ],
      change: (look) => change({ look }),
    }),
    filters: filterControl({ change: (filters) => change({ filters }) }),
    mode: choice({ label: "Mode", options: MODES, change: (mode) => change({ mode }) }),
    k: ranged("k"),
    strategy: choice({ label: "Strategy", options: STRATEGIES, change: (strategy) => change({ strategy }) }),
    rel: ranged("rel"),
    max_k: ranged("max_k"),
    gap_ratio: ranged("gap_ratio"),
    temperature: ranged("temperature"),
    cutoff: ranged("cutoff"),
    ignore_zero: toggle({
      label: "Ignore zero scores",
      hint: "Leave out documents that share no word with the query.",
      change: (ignore_zero) => change({ ignore_zero }),
    }),
    min_score: ranged("min_score"),
  };

  function ranged(name) {
    return slider({ ...SLIDERS[name], value: DEFAULTS[name], change: (value) => change({ [name]: value }) });
  }

  function show(state, softmax) {
    const used =
      state.look === "softmax"
        ? ["temperature", "cutoff", "ignore_zero"]
        : ["filters", "mode", "k", "strategy", ...USES[state.strategy], "min_score"];
    element.hidden = false;
    controls.min_score.setRange(...(state.mode === "lexical" ? [MOST_LEXICAL, 0.5] : [1, 0.01]));
    for (const [name, control] of Object.entries(controls)) {
      control.set(state[name]);
      control.element.hidden = name === "look" ? !softmax : !used.includes(name);
    }
  }

  const element = h(
    "div",
    { class: "controls", hidden: true },
    Object.values(controls).map((control) => control.element),
    h("button", { type: "button", class: "quiet reset", onclick: reset }, "Reset to defaults"),
  );
  return { element, show, offer: controls.filters.offer };
}
