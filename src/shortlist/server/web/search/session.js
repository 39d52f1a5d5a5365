// One visit of the Search tab: its state, and what changes it. The regions of the tab draw it.

import { isAbort } from "../core/api.js";
import { preferCorpus } from "../core/corpora.js";
import { debounce } from "../core/dom.js";
import { loadCompat } from "../core/extensions.js";
import { messageOf, showError } from "../core/messages.js";
import { remember } from "../core/route.js";
import * as service from "../core/service.js";
import { createStore } from "../core/store.js";
import { discoverView } from "./discover.js";
import { DEFAULTS, queryParams, readQuery } from "./query.js";
import { rememberQuery } from "./recent.js";

/** @import { Params } from "../core/route.js" */
/** @import { Corpus } from "../core/types.js" */
/** @import { Outcome, Query, Row, SearchAnswer, SearchState, Shown, View } from "./types.js" */

const PAUSE_MILLISECONDS = 120;
const SETTLED_MILLISECONDS = 1_500; // after which a query is not typed any more
const MAX_REPORTED_IDS = 50; // in one feedback
const FEEDBACK_RESULTS = { on: "Learned", log: "Stored", off: "Learning is off" };

export class SearchSession {
  #feedbackSession = Math.random().toString(36).slice(2); // so that only this page takes back what it reported
  /** @type {AbortController | null} */
  #request = null;
  #isClosed = false;
  #defaults = { ...DEFAULTS };

  /** @param {Params} params */
  constructor(params) {
    this.params = params;
    /** @type {SearchState} */
    const state = {
      corpora: [],
      views: [discoverView],
      query: { ...DEFAULTS, q: params.q ?? "" },
      shown: { kind: "loading" },
      isBusy: false,
      automatic: null,
      feedback: new Map(),
      announcement: "",
    };
    this.store = createStore(state);
    this.opensFirst = false; // Enter was pressed before the answer arrived
    this.searchSoon = debounce(() => this.search(), PAUSE_MILLISECONDS);
    this.rememberSoon = debounce(() => this.#rememberQuery(), SETTLED_MILLISECONDS);
  }

  /** @returns {Corpus | undefined} undefined while the corpora are loading */
  get corpus() {
    const { corpora, query } = this.store.state;
    return corpora.find(({ name }) => name === query.corpus);
  }

  /** @returns {View} */
  get view() {
    const { views, query } = this.store.state;
    return views.find(({ id }) => id === query.view) ?? discoverView;
  }

  /** @returns {View[]} those that can search the current corpus */
  get views() {
    const { corpus } = this;
    return corpus ? this.store.state.views.filter((view) => view.canSearch(corpus)) : [];
  }

  /** Whether the answer to the current query is shown. */
  get isAnswered() {
    const { shown, query } = this.store.state;
    return shown.kind === "answer" && shown.answer.source === query;
  }

  async load() {
    this.#show({ kind: "loading" });
    try {
      const adding = this.#addLegacyView().catch(() => {}); // the page works without it
      const corpora = await service.listCorpora();
      if (this.params.look || this.params.ignore_zero) await adding;
      if (this.#isClosed) return;
      this.#begin(corpora, this.store.state.views);
      await adding;
    } catch (error) {
      this.#show({ kind: "failed", error, retry: () => this.load() });
    }
  }

  /** Adds the view of an extension; the page can be used before it is loaded. */
  async #addLegacyView() {
    const view = await (await loadCompat())?.loadSoftmaxView();
    if (!view || this.#isClosed) return;
    const { query, corpora } = this.store.state;
    const others = Object.entries(view.defaults).filter(
      ([name, value]) => value !== /** @type {any} */ (query)[name] && name in DEFAULTS && !(name in this.params),
    );
    Object.assign(this.#defaults, view.defaults);
    this.store.set({ views: [discoverView, view] });
    if (!others.length || !corpora.length) return;
    this.store.set({ query: { ...query, ...Object.fromEntries(others) } });
    this.search();
  }

  /**
   * @param {Corpus[]} corpora
   * @param {View[]} views
   */
  #begin(corpora, views) {
    const { params } = this;
    const { q } = this.store.state.query; // may have been typed in the meantime
    const corpus = preferCorpus(corpora, params.corpus);
    const query = { ...this.#defaults, ...readQuery(params, views), corpus: corpus.name, q };
    this.store.set({ corpora, views, query: fitView(query, { corpora, views }) });
    if (q !== (params.q ?? "")) this.#remember();
    this.search();
  }

  close() {
    this.#isClosed = true;
    this.#request?.abort();
  }

  /**
   * Changes the query and searches soon.
   *
   * @param {Partial<Query>} partial
   */
  change(partial) {
    const { store } = this;
    this.opensFirst = false;
    store.set({ query: fitView({ ...store.state.query, ...partial }, store.state) });
    if (!this.corpus) return;
    const { shown, query } = store.state;
    if (shown.kind === "answer" && shown.answer.view.id === query.view)
      if (shown.answer.view.localValues.some((name) => name in partial)) this.#showAnswer(shown.answer);
    this.#remember();
    this.searchSoon();
  }

  reset() {
    const { corpus, q, view } = this.store.state.query;
    this.change({ ...this.#defaults, corpus, q, view });
  }

  #remember() {
    remember("search", queryParams(this.store.state.query, this.#defaults, this.corpus?.served ?? false));
  }

  /** Searches for the current query; a request for an older one is aborted. */
  async search() {
    const { corpus, view } = this;
    if (!corpus) return;
    this.#request?.abort();
    const source = this.store.state.query;
    const query = { ...source, q: source.q.trim() };
    if (!query.q) return this.#show({ kind: "rest" });
    const request = new AbortController();
    this.#request = request;
    const start = performance.now();
    this.store.set({ isBusy: true });
    try {
      const found = await view.search(query, corpus, request.signal);
      if (request === this.#request)
        this.#showAnswer({ view, source, query, found, milliseconds: performance.now() - start });
    } catch (error) {
      if (isAbort(error) || request !== this.#request) return;
      this.#show({ kind: "failed", error, retry: () => this.search() });
    } finally {
      if (request === this.#request) this.store.set({ isBusy: false });
    }
  }

  /** @param {SearchAnswer} answer */
  #showAnswer(answer) {
    const { shown, query, feedback } = this.store.state;
    const isSame = shown.kind === "answer" && isSameSearch(shown.answer.query, answer.query);
    this.store.set({ feedback: isSame ? feedback : new Map() });
    const threshold = answer.found.signals?.min_relevance;
    if (!answer.query.min_relevance) this.store.set({ automatic: typeof threshold === "number" ? threshold : null });
    this.rememberSoon();
    this.#show({ kind: "answer", answer, outcome: answer.view.describe(answer.found, answer.query, query) });
  }

  #rememberQuery() {
    const { shown } = this.store.state;
    if (!this.#isClosed && shown.kind === "answer") rememberQuery(shown.answer.query.q);
  }

  /** @param {Shown} shown */
  #show(shown) {
    this.store.set({ shown, announcement: describeShown(shown) });
  }

  /**
   * Reports that a row is right or wrong for the query, or takes that back if it was reported.
   *
   * @param {Row} row
   * @param {"called" | "wrong"} outcome
   * @param {string[]} ids of all rows
   */
  async report({ id, title }, outcome, ids) {
    const { shown, feedback } = this.store.state;
    const reported = feedback.get(id);
    if (shown.kind !== "answer" || (reported && !reported.canUndo)) return;
    const { corpus, q } = shown.answer.query;
    try {
      const body = { query: q, id, outcome, shown: ids.slice(0, MAX_REPORTED_IDS), session: this.#feedbackSession };
      const { learning } = await service.sendFeedback(corpus, reported ? { ...body, undo: true } : body);
      const result = reported ? "Undone" : FEEDBACK_RESULTS[learning];
      const { shown: current, feedback: known } = this.store.state;
      if (current.kind !== "answer" || !isSameSearch(current.answer.query, shown.answer.query)) return;
      const changed = new Map(known);
      if (reported) changed.delete(id);
      else changed.set(id, { outcome, result, canUndo: learning !== "off" });
      this.store.set({ feedback: changed, announcement: `${result}: ${title}.` });
    } catch (error) {
      showError(error);
    }
  }
}

/**
 * @param {Query} query
 * @param {Query} other
 */
const isSameSearch = (query, other) => query.q === other.q && query.corpus === other.corpus;

/** @param {Outcome} outcome */
export const titleWithoutSelection = ({ isUnknown }) =>
  isUnknown ? "Nothing is known about this query" : "Nothing fits";

/**
 * What is shown, for screen readers.
 *
 * @param {Shown} shown
 */
function describeShown(shown) {
  if (shown.kind === "failed") return messageOf(shown.error);
  if (shown.kind !== "answer") return "";
  const { selected, candidates, reason, doubt } = shown.outcome;
  const text = selected
    ? `${selected} of ${candidates} selected.`
    : `${titleWithoutSelection(shown.outcome)}. ${reason}`;
  return doubt ? `${text} Not sure: ${doubt}` : text;
}

/**
 * Replaces a view that cannot search the corpus.
 *
 * @param {Query} query
 * @param {{ corpora: Corpus[], views: View[] }} known
 * @returns {Query}
 */
function fitView(query, { corpora, views }) {
  const corpus = corpora.find(({ name }) => name === query.corpus);
  const view = views.find(({ id }) => id === query.view);
  return corpus && view && !view.canSearch(corpus) ? { ...query, view: discoverView.id } : query;
}
