// How to search: the controls beside the results. Which ones there are depends on the look and the strategy.

import { TEMPERATURES, choice, segments, slider, toggle } from "./controls.js";
import { h } from "./dom.js";

export const DEFAULTS = {
  look: "discover",
  mode: "auto",
  k: 10,
  strategy: "conservative",
  rel: 0.9,
  max_k: 3,
  gap_ratio: 0.5,
  min_score: 0,
  temperature: 0.5,
  cutoff: 10,
  ignore_zero: true,
};

// Cosines and blends end at 1; BM25 has no end, but rarely comes here.
const MOST_LEXICAL = 50;

const MODES = [
  ["auto", "Auto", "Words and meaning, blended as measured best."],
  ["lexical", "Lexical", "Words alone: BM25."],
  ["dense", "Dense", "Meaning alone: the cosine of vectors."],
  ["hybrid", "Hybrid", "Reciprocal ranks of words and meaning."],
];
const STRATEGIES = [
  ["conservative", "Conservative", "The best and what comes near it, a few at most."],
  ["top_k", "Top k", "The first few, whatever their scores."],
  ["rel_threshold", "Relative threshold", "All that come near the best."],
  ["abs_threshold", "Absolute threshold", "All from the floor on."],
  ["score_gap", "Score gap", "All before the first large drop."],
  ["softmax", "Softmax", "All that hold enough of the whole."],
];
const USES = {
  conservative: ["rel", "max_k"],
  top_k: ["max_k"],
  rel_threshold: ["rel"],
  abs_threshold: [],
  score_gap: ["gap_ratio"],
  softmax: ["temperature", "cutoff"],
};

const SLIDERS = {
  k: { label: "Candidates (k)", min: 1, max: 100, step: 1, hint: "How many are looked at." },
  rel: {
    label: "Relative threshold",
    min: 0,
    max: 1,
    step: 0.01,
    hint: "Kept from this share of the best score on.",
  },
  max_k: { label: "At most", min: 1, max: 20, step: 1, hint: "The most that an agent is shown." },
  gap_ratio: {
    label: "Gap ratio",
    min: 0,
    max: 1,
    step: 0.01,
    hint: "A drop below this share of the score before ends the list.",
  },
  min_score: {
    label: "Floor (min_score)",
    min: 0,
    max: 1,
    step: 0.01,
    hint: "Nothing fits if the best score is below it. 0: no floor.",
  },
  temperature: {
    label: "Temperature",
    min: 0.1,
    max: 10,
    stops: TEMPERATURES,
    hint: "Lower: the best takes all. Higher: shares even out.",
  },
  cutoff: { label: "Cutoff", min: 0, max: 100, step: 0.5, unit: "%", hint: "The least share that is kept." },
};

const KNOWN = {
  look: ["softmax", "discover"],
  mode: MODES.map(([value]) => value),
  strategy: STRATEGIES.map(([value]) => value),
  ignore_zero: ["true", "false"],
};

/** Of what stands in an address, the values that mean something. */
export function read(params) {
  const values = {};
  for (const [name, text] of Object.entries(params)) {
    if (KNOWN[name]?.includes(text)) values[name] = name === "ignore_zero" ? text === "true" : text;
    const range = SLIDERS[name];
    const value = Number(text);
    if (range && value >= range.min && value <= (name === "min_score" ? MOST_LEXICAL : range.max)) values[name] = value;
  }
  return values;
}

/** All controls, made once; `show(state, softmax)` brings out those that mean something now. */
export function tuning({ change, reset }) {
  const controls = {
    look: segments({
      label: "Look",
      options: [
        ["softmax", "Softmax"],
        ["discover", "Discover"],
      ],
      change: (look) => change({ look }),
    }),
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
      hint: "Leave out what shares no word with the query.",
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
        : ["mode", "k", "strategy", ...USES[state.strategy], "min_score"];
    element.hidden = false;
    controls.min_score.reach(...(state.mode === "lexical" ? [MOST_LEXICAL, 0.5] : [1, 0.01]));
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
  return { element, show };
}
