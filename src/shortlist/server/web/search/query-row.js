// The query and the corpus.

import { corpusOptions } from "../core/corpora.js";
import { h } from "../core/dom.js";
import { icon } from "../core/icons.js";

/** @import { SearchSession } from "./session.js" */

/**
 * @param {SearchSession} session
 * @param {{ onKey: (event: KeyboardEvent) => void, onCorpus: () => void }} options
 */
export function createQueryRow(session, { onKey, onCorpus }) {
  /** @type {HTMLInputElement} */
  const field = h("input", {
    id: "query",
    type: "search",
    dir: "auto",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    placeholder: "Search",
    value: session.store.state.query.q,
    "aria-label": "Query",
    "aria-controls": "found",
    oninput: () => session.change({ q: field.value }),
    onkeydown: onKey,
  });
  const corpus = h("select", {
    id: "corpus",
    "aria-label": "Corpus",
    onchange: () => {
      session.change({ corpus: corpus.value, filters: [] });
      onCorpus();
    },
  });
  session.store.subscribe(["corpora"], ({ corpora, query }) => {
    corpus.replaceChildren(...corpusOptions(corpora));
    corpus.value = query.corpus;
  });
  const element = h(
    "div",
    { class: "query-row" },
    h("div", { class: "query" }, icon("search"), field, h("kbd", { "aria-hidden": "true" }, "/")),
    corpus,
  );
  return { element, field };
}
