// The Eval tab: measure retrieval with cases, or check a corpus for documents that cannot be found or distinguished.

import { CaseField } from "./case-field.js";
import { choice, segments, slider, toggle } from "../core/controls.js";
import { empty, failure, h, icon, loading } from "../core/dom.js";
import { linted } from "./findings.js";
import { measured } from "./report.js";
import { counted, number } from "../search/outcome.js";
import { remember } from "../core/route.js";
import * as service from "../core/service.js";

const MODES = [
  ["auto", "auto", "Keyword and semantic search, blended."],
  ["lexical", "lexical", "Keyword search (BM25)."],
  ["dense", "dense", "Semantic search (cosine of vectors)."],
  ["hybrid", "hybrid", "Reciprocal rank fusion of both."],
];
const UNKNOWN = "urn:shortlist:unknown-ids";
const CASES = { title: "These cases cannot be evaluated" };

// The results survive a switch of tabs.
const stored = { corpus: "", found: null, findings: null };

export function mount(root, params) {
  const asked = {
    show: params.show === "lint" ? "lint" : "cases",
    mode: known(params.mode) ? params.mode : "auto",
    against: known(params.against) ? params.against : "",
    k: Number.isInteger(Number(params.k)) && params.k >= 1 && params.k <= 100 ? Number(params.k) : 10,
    curve: params.curve === "yes",
  };
  let rows = [];
  let underWay = null;
  let isSubmitted = false; // an evaluation waits until the corpora are loaded

  const corpus = h("select", { "aria-label": "Corpus", onchange: () => selectCorpus(corpus.value) });
  const cases = new CaseField({ send: () => underWay || run() });
  const view = segments({
    label: "Evaluate by",
    options: [
      ["cases", "Cases"],
      ["lint", "Lint"],
    ],
    change: (value) => {
      asked.show = value;
      stop();
      saveState();
      showResults();
    },
  });
  const mode = choice({ label: "Mode", options: MODES, change: (value) => set("mode", value) });
  const against = choice({
    label: "Compare with",
    options: [["", "nothing", "Evaluate one mode."], ...MODES],
    change: (value) => set("against", value),
  });
  const k = slider({
    label: "Rank cutoff (k)",
    min: 1,
    max: 100,
    step: 1,
    value: asked.k,
    change: (value) => set("k", value),
  });
  const curve = toggle({
    label: "Distractor curve",
    hint: "Repeat the search in catalogs of growing size. Takes longer.",
    change: (on) => set("curve", on),
  });
  const start = h("button", { class: "primary" }, "Evaluate");
  const byCases = h(
    "div",
    { class: "by-cases" },
    cases.elements,
    h("div", { class: "pair" }, mode.element, against.element),
    k.element,
    curve.element,
  );
  const byItself = h(
    "p",
    { class: "hint" },
    "Searches for every document by its description and by its name. Lists documents that are not found, are too " +
      "similar to others, are empty, or contain instructions to the model, with advice. Needs no cases.",
  );
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
  const step = h("p", { class: "step" });
  const download = h(
    "button",
    { type: "button", hidden: true, onclick: () => save() },
    icon("download"),
    "HTML report",
  );
  const strip = h("div", { class: "strip" }, step, bar, download);
  const live = h("p", { class: "unseen", role: "status" });
  const results = h("section", { class: "evaluated", "aria-label": "Results" }, loading());

  root.append(
    h("div", { class: "head" }, h("h1", {}, "Eval"), h("div", { class: "head-tools" }, corpus)),
    h(
      "form",
      {
        class: "card evaluate",
        "aria-label": "Evaluation",
        onsubmit: (event) => {
          event.preventDefault();
          run();
        },
      },
      view.element,
      byCases,
      byItself,
      start,
    ),
    h("div", { class: "evaluation" }, strip, live, results),
  );
  view.set(asked.show);
  mode.set(asked.mode);
  against.set(asked.against);
  curve.set(asked.curve);
  form();
  addEventListener("keydown", shortcuts);
  begin();
  return () => {
    removeEventListener("keydown", shortcuts);
    stop();
  };

  async function begin() {
    results.replaceChildren(loading());
    try {
      rows = await service.corpora();
    } catch (error) {
      return results.replaceChildren(failure(error, begin));
    }
    if (!root.isConnected) return undefined;
    corpus.replaceChildren(...service.choices(rows));
    const first = service.preferred(rows, params.corpus ?? stored.corpus).name;
    if (first !== stored.corpus) Object.assign(stored, { corpus: first, found: null, findings: null });
    corpus.value = first;
    showResults();
    return isSubmitted ? run() : undefined;
  }

  function selectCorpus(name) {
    stop();
    Object.assign(stored, { corpus: name, found: null, findings: null });
    saveState();
    showResults();
  }

  function set(name, value) {
    asked[name] = value;
    saveState();
  }

  /** Writes all values that are not defaults to the address. */
  function saveState() {
    const one = rows.find((row) => row.name === stored.corpus);
    remember("eval", {
      corpus: one ? (one.served ? "" : one.name) : params.corpus,
      show: asked.show === "lint" ? "lint" : "",
      mode: asked.mode === "auto" ? "" : asked.mode,
      against: asked.against,
      k: asked.k === 10 ? "" : asked.k,
      curve: asked.curve ? "yes" : "",
    });
  }

  function form() {
    const isLint = asked.show === "lint";
    byCases.hidden = isLint;
    byItself.hidden = !isLint;
    start.textContent = isLint ? "Check the corpus" : "Evaluate";
    bar.hidden = true;
  }

  /** Shows the stored results, or a placeholder. */
  function showResults() {
    const isLint = asked.show === "lint";
    form();
    results.removeAttribute("aria-busy");
    download.hidden = isLint || !stored.found;
    const found = isLint ? stored.findings : stored.found;
    announce(found ? summary(found) : "");
    results.replaceChildren(...(found ? (isLint ? linted(found) : measured(found)) : [nothing(isLint)]));
  }

  /** Shows a message, and announces it to screen readers; progress changes too often to be announced. */
  function announce(words) {
    step.textContent = live.textContent = words;
  }

  function nothing(isLint) {
    return isLint
      ? empty("search", "Not checked yet", "Check the corpus to list what to fix.")
      : empty(
          "eval",
          "No evaluation yet",
          "Paste cases or choose a file. The service does not store them.",
          "A language model can write cases: shortlist eval-gen.",
        );
  }

  function summary(found) {
    if (asked.show === "lint") {
      const wrong = `${counted(found.errors, "error")}, ${counted(found.warnings, "warning")}`;
      return `${found.corpus}, ${counted(found.documents, "document")}: ${wrong}`;
    }
    const outside = found.out_of_scope ? `, ${number(found.out_of_scope)} without a match` : "";
    return `${found.corpus}, ${found.mode}: ${counted(found.in_scope, "case")} with expected documents${outside}`;
  }

  function stop() {
    underWay?.abort();
    underWay = null;
    isSubmitted = false;
  }

  function run({ unknown = "refuse" } = {}) {
    if (underWay) {
      stop();
      showResults();
      announce("Stopped");
      return;
    }
    const isLint = asked.show === "lint";
    if (!isLint && !cases.text.trim()) {
      cases.showError("Paste cases or choose a file.");
      cases.focus();
      return;
    }
    isSubmitted = !rows.length;
    if (isSubmitted) return;
    if (isLint) evaluate("findings", (onEvent, signal) => service.lint(stored.corpus, onEvent, signal));
    else {
      const body = { cases: cases.text, mode: asked.mode, k: asked.k, curve: asked.curve, html: true, unknown };
      if (asked.against) body.against = asked.against;
      evaluate("found", (onEvent, signal) => service.evaluate(stored.corpus, body, onEvent, signal));
    }
  }

  async function evaluate(name, ask) {
    const mine = (underWay = new AbortController());
    start.textContent = "Cancel";
    bar.hidden = false;
    bar.value = 0;
    download.hidden = true;
    announce("Waiting for another evaluation…");
    results.setAttribute("aria-busy", "true");
    const onEvent = (_, { step: words, share }) => {
      if (mine !== underWay) return;
      bar.value = share;
      step.textContent = `${words}: ${number(share * 100, 0)} %`;
    };
    try {
      const found = await ask(onEvent, mine.signal);
      if (mine !== underWay) return;
      underWay = null;
      stored[name] = found;
      showResults();
    } catch (error) {
      if (mine !== underWay) return;
      underWay = null;
      showResults();
      fail(error);
    }
    const { top } = strip.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) strip.scrollIntoView(); // below the form on a small screen
  }

  function fail(error) {
    announce(asked.show === "lint" ? "Not checked" : "Not evaluated");
    download.hidden = true;
    if (error.type === UNKNOWN) results.replaceChildren(unknown(Object.values(error.fields)));
    else if (error.status === 422) results.replaceChildren(failure({ ...CASES, message: error.message }));
    else results.replaceChildren(failure(error, () => run()));
  }

  function unknown(messages) {
    return h(
      "section",
      { class: "card finding", role: "alert" },
      h("h2", {}, icon("warn"), "The corpus does not contain all expected documents"),
      h(
        "ul",
        { class: "left-out" },
        messages.map((message) => h("li", {}, message)),
      ),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", onclick: () => run({ unknown: "count" }) }, "Count them as not found"),
      ),
    );
  }

  /** Downloads the report that `shortlist eval --html` writes. */
  function save() {
    const place = URL.createObjectURL(new Blob([stored.found.html], { type: "text/html" }));
    h("a", { href: place, download: `eval-${stored.corpus.replaceAll(/[^\w.-]+/g, "-")}.html` }).click();
    setTimeout(() => URL.revokeObjectURL(place), 60_000);
  }

  function shortcuts(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "/" && !event.target.closest("input, textarea, select") && !byCases.hidden) {
      event.preventDefault();
      cases.focus();
    }
  }
}

const known = (mode) => MODES.some(([name]) => name === mode);
