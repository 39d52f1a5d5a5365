// Judge a corpus: by cases, how well the right things are found; by itself, what cannot be found or told apart.

import { CaseField } from "./casefield.js";
import { choice, segments, slider, toggle } from "./controls.js";
import { empty, failure, h, icon, loading } from "./dom.js";
import { linted } from "./lint.js";
import { measured } from "./measured.js";
import { counted, number } from "./outcome.js";
import { remember } from "./route.js";
import * as service from "./service.js";

const MODES = [
  ["auto", "auto", "What measures best."],
  ["lexical", "lexical", "BM25: words."],
  ["dense", "dense", "Cosine of vectors: meaning."],
  ["hybrid", "hybrid", "Both rankings, by reciprocal rank."],
];
const UNKNOWN = "urn:shortlist:unknown-ids";
const CASES = { title: "These cases cannot be evaluated" };

// What came of it survives a look at another tab.
const kept = { corpus: "", found: null, findings: null };

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
  let isSubmitted = false; // an evaluation waits until the corpora are known

  const corpus = h("select", { "aria-label": "Corpus", onchange: () => chosen(corpus.value) });
  const cases = new CaseField({ send: () => underWay || run() });
  const view = segments({
    label: "What to judge by",
    options: [
      ["cases", "Cases"],
      ["lint", "Lint"],
    ],
    change: (value) => {
      asked.show = value;
      stop();
      noted();
      rest();
    },
  });
  const mode = choice({ label: "Mode", options: MODES, change: (value) => set("mode", value) });
  const against = choice({
    label: "Compare with",
    options: [["", "nothing", "One mode alone."], ...MODES],
    change: (value) => set("against", value),
  });
  const k = slider({
    label: "Hits looked at, k",
    min: 1,
    max: 100,
    step: 1,
    value: asked.k,
    change: (value) => set("k", value),
  });
  const curve = toggle({
    label: "Distractor curve",
    hint: "The same questions to ever larger catalogs. Takes longer.",
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
    "Every document is asked for by its own description and by its name. What is not found, cannot be told from " +
      "others, is empty or speaks to the model is listed with advice. No cases are needed.",
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
  const results = h("section", { class: "judged", "aria-label": "Results" }, loading());

  root.append(
    h("div", { class: "head" }, h("h1", {}, "Eval"), h("div", { class: "head-tools" }, corpus)),
    h(
      "form",
      {
        class: "card judge",
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
    h("div", { class: "judgement" }, strip, live, results),
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
    const first = service.preferred(rows, params.corpus ?? kept.corpus).name;
    if (first !== kept.corpus) Object.assign(kept, { corpus: first, found: null, findings: null });
    corpus.value = first;
    rest();
    return isSubmitted ? run() : undefined;
  }

  function chosen(name) {
    stop();
    Object.assign(kept, { corpus: name, found: null, findings: null });
    noted();
    rest();
  }

  function set(name, value) {
    asked[name] = value;
    noted();
  }

  /** The address tells what is not as usual. */
  function noted() {
    const one = rows.find((row) => row.name === kept.corpus);
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
    start.textContent = isLint ? "Look at the corpus" : "Evaluate";
    bar.hidden = true;
  }

  /** What stands there while nothing is under way. */
  function rest() {
    const isLint = asked.show === "lint";
    form();
    results.removeAttribute("aria-busy");
    download.hidden = isLint || !kept.found;
    const found = isLint ? kept.findings : kept.found;
    tell(found ? summary(found) : "");
    results.replaceChildren(...(found ? (isLint ? linted(found) : measured(found)) : [nothing(isLint)]));
  }

  /** Says it to those who see, and to those who do not; how far it is changes too often for them. */
  function tell(words) {
    step.textContent = live.textContent = words;
  }

  function nothing(isLint) {
    return isLint
      ? empty("search", "Nothing was looked at yet", "Look at the corpus, and what is to be mended stands here.")
      : empty(
          "eval",
          "No evaluation yet",
          "Paste cases or choose a file. Nothing of them is kept by the service.",
          "A language model can write some: shortlist eval-gen.",
        );
  }

  function summary(found) {
    if (asked.show === "lint") {
      const wrong = `${counted(found.errors, "error")}, ${counted(found.warnings, "warning")}`;
      return `${found.corpus}, ${counted(found.documents, "document")}: ${wrong}`;
    }
    const outside = found.out_of_scope ? `, ${number(found.out_of_scope)} to which nothing applies` : "";
    return `${found.corpus}, ${found.mode}: ${counted(found.in_scope, "case")} with gold${outside}`;
  }

  function stop() {
    underWay?.abort();
    underWay = null;
    isSubmitted = false;
  }

  function run({ unknown = "refuse" } = {}) {
    if (underWay) {
      stop();
      rest();
      tell("Stopped");
      return;
    }
    const isLint = asked.show === "lint";
    if (!isLint && !cases.text.trim()) {
      cases.say("Paste cases, or choose a file of them.");
      cases.focus();
      return;
    }
    isSubmitted = !rows.length;
    if (isSubmitted) return;
    if (isLint) judge("findings", (heard, signal) => service.lint(kept.corpus, heard, signal));
    else {
      const body = { cases: cases.text, mode: asked.mode, k: asked.k, curve: asked.curve, html: true, unknown };
      if (asked.against) body.against = asked.against;
      judge("found", (heard, signal) => service.evaluate(kept.corpus, body, heard, signal));
    }
  }

  async function judge(name, ask) {
    const mine = (underWay = new AbortController());
    start.textContent = "Cancel";
    bar.hidden = false;
    bar.value = 0;
    download.hidden = true;
    tell("Waiting for a turn…");
    results.setAttribute("aria-busy", "true");
    const heard = (_, { step: words, share }) => {
      if (mine !== underWay) return;
      bar.value = share;
      step.textContent = `${words}: ${number(share * 100, 0)} %`;
    };
    try {
      const found = await ask(heard, mine.signal);
      if (mine !== underWay) return;
      underWay = null;
      kept[name] = found;
      rest();
    } catch (error) {
      if (mine !== underWay) return;
      underWay = null;
      rest();
      fail(error);
    }
  }

  function fail(error) {
    tell(asked.show === "lint" ? "Not looked at" : "Not evaluated");
    download.hidden = true;
    if (error.type === UNKNOWN) results.replaceChildren(unknown(Object.values(error.fields)));
    else if (error.status === 422) results.replaceChildren(failure({ ...CASES, message: error.message }));
    else results.replaceChildren(failure(error, () => run()));
  }

  function unknown(messages) {
    return h(
      "section",
      { class: "card finding", role: "alert" },
      h("h2", {}, icon("warn"), "The corpus does not have all that these cases want"),
      h(
        "ul",
        { class: "left-out" },
        messages.map((message) => h("li", {}, message)),
      ),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", onclick: () => run({ unknown: "count" }) }, "Count it as not found"),
      ),
    );
  }

  /** The page that `shortlist eval --html` writes, as a file. */
  function save() {
    const place = URL.createObjectURL(new Blob([kept.found.html], { type: "text/html" }));
    h("a", { href: place, download: `eval-${kept.corpus.replaceAll(/[^\w.-]+/g, "-")}.html` }).click();
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
