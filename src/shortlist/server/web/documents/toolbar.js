// The corpus, the filter, and the button to add a document.

import { corpusOptions } from "../core/corpora.js";
import { debounce, h } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { SORTS } from "./session.js";

/** @import { DocumentsSession, DocumentsState, SortName } from "./session.js" */

const PAUSE_MILLISECONDS = 150;

/**
 * @param {DocumentsSession} session
 * @param {object} listener
 * @param {(partial: Partial<DocumentsState>) => void} listener.onSelect called with another corpus or filter
 * @param {() => void} listener.onAdd
 * @param {() => void} listener.onUpload
 */
export function createToolbar(session, { onSelect, onAdd, onUpload }) {
  const loadSoon = debounce(() => session.load(), PAUSE_MILLISECONDS);
  const corpus = h("select", {
    "aria-label": "Corpus",
    onchange: () => {
      onSelect({ corpus: corpus.value, page: 1 });
      session.load();
      session.loadUsage();
    },
  });
  const filter = h("input", {
    type: "search",
    dir: "auto",
    placeholder: "Filter by words",
    "aria-label": "Filter",
    autocomplete: "off",
    spellcheck: "false",
    value: session.store.state.q,
    oninput: () => {
      onSelect({ q: filter.value, page: 1 });
      loadSoon();
    },
  });
  const add = h("button", { type: "button", class: "primary", onclick: onAdd }, icon("plus"), "Add document");
  const upload = h("button", { type: "button", onclick: onUpload }, icon("upload"), "Add files");
  const sort = h(
    "select",
    {
      "aria-label": "Order",
      onchange: () => {
        onSelect({ sort: /** @type {SortName} */ (sort.value), page: 1 });
        session.load();
      },
    },
    Object.entries(SORTS).map(([name, [text]]) => h("option", { value: name }, text)),
  );
  sort.value = session.store.state.sort;
  const readOnly = h(
    "p",
    { class: "muted fixed", hidden: true },
    "Read-only: this corpus follows its source. Change the source and build the corpus again.",
  );
  session.store.subscribe(["corpora"], (state) => {
    corpus.replaceChildren(...corpusOptions(state.corpora));
    corpus.value = state.corpus;
    add.disabled = !state.corpora.length;
  });
  session.store.subscribe(["corpora", "corpus"], () => {
    if (!session.corpus) return;
    add.hidden = !session.corpus.served;
    readOnly.hidden = session.canDelete;
  });
  const element = h(
    "div",
    { class: "head" },
    h("h1", {}, "Documents"),
    h("div", { class: "head-tools" }, corpus, filter, sort, upload, add),
  );
  return { element, readOnly, corpus, filter, add };
}
