// The Search tab: shows what an agent would get for a query, as you type.

import { createDocumentPanel } from "../core/document-panel.js";
import { h, isInField, isShortcut } from "../core/dom.js";
import * as service from "../core/service.js";
import { createCopyAs } from "./copy-as.js";
import { createHints } from "./hints.js";
import { createQueryRow } from "./query-row.js";
import { Results } from "./results.js";
import { SearchSession } from "./session.js";
import { createTuning } from "./tuning.js";
import { createAnnouncement, createDoubt, createVerdict } from "./verdict.js";

/** @import { Params } from "../core/route.js" */
/** @import { Row, Shown } from "./types.js" */

/**
 * @param {HTMLElement} root
 * @param {Params} params
 */
export function mount(root, params) {
  const tab = new SearchTab(root, params);
  return () => tab.leave();
}

class SearchTab {
  /**
   * @param {HTMLElement} root
   * @param {Params} params
   */
  constructor(root, params) {
    const session = new SearchSession(params);
    const { store } = session;
    this.session = session;
    this.panel = createDocumentPanel((id) => this.#onClose(id));
    this.results = new Results({
      onOpen: (row, focus) => this.#open(row, focus),
      onLeave: () => this.field.focus(),
      onReport: (row, outcome) => session.report(row, outcome, [...this.results.rows.keys()]),
    });
    const row = createQueryRow(session, { onKey: (event) => this.#onKey(event), onCorpus: () => this.#clear() });
    this.field = row.field;
    const found = h(
      "section",
      { class: "found", id: "found", "aria-label": "Results" },
      createAnnouncement(session),
      createVerdict(session),
      createDoubt(session),
      createCopyAs(session),
      createHints(session, (query) => this.#use(query)),
      this.results.element,
    );
    root.append(h("h1", { class: "unseen" }, "Search"), row.element, createTuning(session), found, this.panel.element);
    store.subscribe(["shown"], ({ shown }) => this.#show(shown));
    store.subscribe(["shown", "feedback"], ({ feedback }) => this.results.showFeedback(feedback));
    store.subscribe(["isBusy"], ({ isBusy }) => {
      if (isBusy) found.setAttribute("aria-busy", "true");
      else found.removeAttribute("aria-busy");
    });
    addEventListener("keydown", this.#onShortcut);
    if (!matchMedia("(pointer: coarse)").matches) this.field.focus();
    session.load();
  }

  leave() {
    removeEventListener("keydown", this.#onShortcut);
    this.session.close();
  }

  /** @param {Shown} shown */
  #show(shown) {
    const { results, panel } = this;
    if (shown.kind === "loading") return;
    if (shown.kind !== "answer") {
      results.clear();
      if (shown.kind === "rest") panel.reset();
      return;
    }
    const { rows } = shown.outcome;
    results.show(shown.outcome);
    const opened = rows.find(({ id }) => id === panel.key);
    if (opened) this.#open(opened, false);
    else panel.reset();
    results.mark(panel.key);
    if (this.session.opensFirst) this.#openFirst();
  }

  /**
   * Shows the document of a row; without `focus`, only in a panel that is open.
   *
   * @param {Row} row
   * @param {boolean} focus
   */
  #open({ id, title }, focus) {
    const { shown } = this.session.store.state;
    if (shown.kind !== "answer" || (!focus && !this.panel.isOpen)) return;
    const { query, view } = shown.answer;
    this.results.mark(id);
    this.panel.open({ key: id, title, focus, context: query }, async () => {
      const [document, why] = await Promise.all([
        service.disclose(query.corpus, id),
        service.explain(query.corpus, view.explainBody(id, query)),
      ]);
      return { ...document, why };
    });
  }

  /** Opens the best result once it is known. */
  #openFirst() {
    const { session } = this;
    session.opensFirst = !session.isAnswered;
    if (session.isAnswered) this.results.openFirst();
  }

  /** @param {string | null} id */
  #onClose(id) {
    this.results.mark(null);
    if (id !== null) this.results.focus(id);
  }

  #clear() {
    this.panel.reset();
    this.results.clear();
  }

  /** @param {string} query */
  #use(query) {
    this.field.value = query;
    this.field.focus();
    this.session.change({ q: query });
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") {
      event.preventDefault();
      this.results.focusFirst();
    }
    if (event.key === "Enter") this.#openFirst();
    if (event.key === "Escape" && this.panel.isOpen) {
      event.preventDefault();
      this.panel.reset();
      this.results.mark(null);
    }
  }

  #onShortcut = (/** @type {KeyboardEvent} */ event) => {
    if (!isShortcut(event)) return;
    if (event.key === "/" && !isInField(event)) {
      event.preventDefault();
      this.field.focus();
      this.field.select();
    }
    if (event.key === "Escape" && event.target !== this.field) {
      if (this.panel.isOpen) this.panel.close();
      else this.field.focus();
    }
  };
}
