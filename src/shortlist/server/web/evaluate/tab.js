// The Eval tab: measure retrieval with cases, or check a corpus for documents that cannot be found or distinguished.

import { corpusOptions } from "../core/corpora.js";
import { h, isInField, isShortcut } from "../core/dom.js";
import { createForm } from "./form.js";
import { createProgress } from "./progress.js";
import { createResults } from "./results.js";
import { EvaluateSession } from "./session.js";

/** @import { Params } from "../core/route.js" */

/**
 * @param {HTMLElement} root
 * @param {Params} params
 */
export function mount(root, params) {
  const session = new EvaluateSession(params);
  const form = createForm(session);
  const progress = createProgress(session);
  const results = createResults(session, () => session.run(form.cases.text, "count"));
  root.append(
    h("div", { class: "head" }, h("h1", {}, "Eval"), h("div", { class: "head-tools" }, createCorpusSelect(session))),
    form.element,
    h("div", { class: "evaluation" }, progress.element, progress.live, results),
  );
  session.store.subscribe(["finished"], ({ finished }) => {
    if (finished) showLine(progress.element);
  });
  /** @param {KeyboardEvent} event */
  const onShortcut = (event) => {
    if (!isShortcut(event) || event.key !== "/" || isInField(event) || session.isLint) return;
    event.preventDefault();
    form.cases.focus();
  };
  addEventListener("keydown", onShortcut);
  session.load();
  return () => {
    removeEventListener("keydown", onShortcut);
    session.close();
  };
}

/** @param {EvaluateSession} session */
function createCorpusSelect(session) {
  /** @type {HTMLSelectElement} */
  const corpus = h("select", { "aria-label": "Corpus", onchange: () => session.selectCorpus(corpus.value) });
  session.store.subscribe(["corpora"], ({ corpora, stored }) => {
    corpus.replaceChildren(...corpusOptions(corpora));
    corpus.value = stored.corpus;
  });
  return corpus;
}

/**
 * Scrolls to the line above the results, which is below the form on a small screen.
 *
 * @param {HTMLElement} line
 */
function showLine(line) {
  const { top } = line.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) line.scrollIntoView();
}
