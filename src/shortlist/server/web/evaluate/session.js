// One visit of the Eval tab: what is evaluated, and the evaluation that is under way. The regions of the tab draw it.

import { preferCorpus } from "../core/corpora.js";
import { isMode } from "../core/modes.js";
import { remember } from "../core/route.js";
import * as service from "../core/service.js";
import { createStore } from "../core/store.js";
import { saveRun } from "./runs.js";

/** @import { EventListener } from "../core/api.js" */
/** @import { Params } from "../core/route.js" */
/** @import { Corpus, Evaluation, Findings } from "../core/types.js" */

/**
 * @typedef {object} EvaluateOptions
 * @property {"cases" | "lint"} by
 * @property {string} mode
 * @property {string} against empty to compare with nothing
 * @property {number} k
 * @property {boolean} hasCurve
 */

/**
 * @typedef {object} Run
 * @property {Corpus[]} corpora
 * @property {Stored} stored
 * @property {{ error: unknown, retry?: () => unknown } | null} failure
 * @property {AbortController | null} request
 * @property {{ step: string, share: number } | null} progress
 * @property {boolean} isStopped whether the user has stopped the last evaluation
 * @property {number} finished the number of evaluations that have ended with results or an error
 */

/** @typedef {EvaluateOptions & Run} EvaluateState */

/** @typedef {{ corpus: string, evaluation: Evaluation | null, findings: Findings | null }} Stored */

// The results survive a switch of tabs.
/** @type {Stored} */
let lastStored = { corpus: "", evaluation: null, findings: null };

/**
 * Reads the valid options of an address.
 *
 * @param {Params} params
 * @returns {EvaluateOptions}
 */
export function readOptions({ show, mode = "", against = "", k, curve }) {
  const cutoff = Number(k);
  return {
    by: show === "lint" ? "lint" : "cases",
    mode: isMode(mode) ? mode : "auto",
    against: isMode(against) ? against : "",
    k: Number.isInteger(cutoff) && cutoff >= 1 && cutoff <= 100 ? cutoff : 10,
    hasCurve: curve === "yes",
  };
}

export class EvaluateSession {
  #isClosed = false;

  /** @param {Params} params */
  constructor(params) {
    this.params = params;
    this.isSubmitted = false; // an evaluation waits until the corpora are loaded
    /** @type {EvaluateState} */
    const state = {
      corpora: [],
      ...readOptions(params),
      stored: lastStored,
      failure: null,
      request: null,
      progress: null,
      isStopped: false,
      finished: 0,
    };
    this.store = createStore(state);
  }

  get isLint() {
    return this.store.state.by === "lint";
  }

  async load() {
    this.store.set({ failure: null });
    try {
      const corpora = await service.listCorpora();
      if (this.#isClosed) return;
      const corpus = preferCorpus(corpora, this.params.corpus ?? lastStored.corpus).name;
      if (corpus !== lastStored.corpus) this.#keep({ corpus, evaluation: null, findings: null });
      this.store.set({ corpora });
    } catch (error) {
      this.store.set({ failure: { error, retry: () => this.load() } });
    }
  }

  close() {
    this.#isClosed = true;
    this.stop();
  }

  /** Ends the evaluation that is under way. */
  stop() {
    this.store.state.request?.abort();
    this.isSubmitted = false;
    this.store.set({ request: null, progress: null });
  }

  /** Ends the evaluation as the user asks for it. */
  cancel() {
    this.stop();
    this.store.set({ failure: null, isStopped: true });
  }

  /** @param {string} corpus */
  selectCorpus(corpus) {
    this.stop();
    this.#keep({ corpus, evaluation: null, findings: null });
    this.#remember();
  }

  /** @param {Partial<EvaluateOptions>} partial */
  change(partial) {
    if (partial.by) {
      this.stop();
      this.store.set({ failure: null, isStopped: false });
    }
    this.store.set(partial);
    this.#remember();
  }

  /** Writes all values that are not defaults to the address. */
  #remember() {
    const { corpora, stored, by, mode, against, k, hasCurve } = this.store.state;
    const corpus = corpora.find(({ name }) => name === stored.corpus);
    remember("eval", {
      corpus: corpus ? (corpus.served ? "" : corpus.name) : this.params.corpus,
      show: by === "lint" ? "lint" : "",
      mode: mode === "auto" ? "" : mode,
      against,
      k: k === 10 ? "" : k,
      curve: hasCurve ? "yes" : "",
    });
  }

  /**
   * Checks the corpus, or evaluates it by cases.
   *
   * @param {string} cases
   * @param {"refuse" | "count"} unknown what to do with expected documents that the corpus does not have
   */
  async run(cases, unknown = "refuse") {
    const { store, isLint } = this;
    const { corpus } = store.state.stored;
    const request = new AbortController();
    const isCurrent = () => store.state.request === request;
    /** @type {EventListener} */
    const onEvent = (_, progress) => {
      if (isCurrent()) store.set({ progress });
    };
    store.set({ request, isStopped: false });
    try {
      const found = isLint
        ? { findings: await service.lint(corpus, onEvent, request.signal) }
        : { evaluation: await service.evaluate(corpus, this.#body(cases, unknown), onEvent, request.signal) };
      if (!isCurrent()) return;
      store.set({ request: null, progress: null });
      if (found.evaluation) saveRun(found.evaluation, cases);
      this.#keep({ ...store.state.stored, ...found });
    } catch (error) {
      if (!isCurrent()) return;
      store.set({ request: null, progress: null, failure: { error, retry: () => this.run(cases) } });
    }
    store.set({ finished: store.state.finished + 1 });
  }

  /**
   * @param {string} cases
   * @param {"refuse" | "count"} unknown
   */
  #body(cases, unknown) {
    const { mode, k, hasCurve, against } = this.store.state;
    return { cases, mode, k, curve: hasCurve, html: true, unknown, ...(against && { against }) };
  }

  /** @param {Stored} stored */
  #keep(stored) {
    lastStored = stored;
    this.store.set({ stored, failure: null, isStopped: false });
  }
}
