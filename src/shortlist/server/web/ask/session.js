// One visit of the Ask tab: the conversation, and the answer that is under way. The regions of the tab draw it.

import { isAbort } from "../core/api.js";
import { preferCorpus } from "../core/corpora.js";
import { remember } from "../core/route.js";
import * as service from "../core/service.js";
import { createStore } from "../core/store.js";

/** @import { EventListener } from "../core/api.js" */
/** @import { Params } from "../core/route.js" */
/** @import { Answer, Corpus } from "../core/types.js" */

/**
 * @typedef {object} AskState
 * @property {Corpus[]} corpora
 * @property {boolean} hasModel whether a language model can search as an agent
 * @property {string} corpus
 * @property {unknown} error that the corpora could not be loaded with
 * @property {AbortController | null} request
 * @property {boolean} isEmpty whether there is no question yet
 * @property {number} conversation counts the conversations: a new one clears the tab
 */

/**
 * What is called while a question is answered.
 * @typedef {object} AnswerListener
 * @property {EventListener} update
 * @property {(answer: Answer) => void} show
 * @property {() => void} stop
 * @property {(error: unknown) => void} fail
 */

// The number of turns that the service uses.
const HISTORY_TURNS = 5;

// The conversation survives a switch of tabs.
/** @type {{ corpus: string, turns: { question: string, answer: Answer }[] }} */
const conversation = { corpus: "", turns: [] };

export class AskSession {
  #isClosed = false;

  /** @param {Params} params */
  constructor(params) {
    this.params = params;
    this.asAgent = false;
    /** @type {AskState} */
    const state = {
      corpora: [],
      hasModel: false,
      corpus: "",
      error: null,
      request: null,
      isEmpty: true,
      conversation: 0,
    };
    this.store = createStore(state);
  }

  get turns() {
    return conversation.turns;
  }

  /** @returns {Corpus | undefined} */
  get corpus() {
    const { corpora, corpus } = this.store.state;
    return corpora.find(({ name }) => name === corpus);
  }

  async load() {
    this.store.set({ error: null });
    try {
      const [corpora, { llm }] = await Promise.all([service.listCorpora(), service.readStatus()]);
      if (this.#isClosed) return;
      const corpus = preferCorpus(corpora, this.params.corpus ?? conversation.corpus).name;
      if (corpus !== conversation.corpus) Object.assign(conversation, { corpus, turns: [] });
      this.store.set({ corpora, corpus, hasModel: Boolean(llm), isEmpty: !conversation.turns.length });
    } catch (error) {
      this.store.set({ error });
    }
  }

  close() {
    this.#isClosed = true;
    this.stop();
  }

  stop() {
    this.store.state.request?.abort();
  }

  /** @param {string} corpus */
  selectCorpus(corpus) {
    conversation.corpus = corpus;
    this.store.set({ corpus });
    remember("ask", { corpus: this.corpus?.served ? "" : corpus });
    this.restart();
  }

  restart() {
    this.stop();
    conversation.turns = [];
    this.store.set({ isEmpty: true, conversation: this.store.state.conversation + 1 });
  }

  /**
   * @param {string} question
   * @param {AnswerListener} listener
   * @param {{ isExtractive?: boolean }} [options] whether to answer without the language model
   */
  async ask(question, listener, { isExtractive = false } = {}) {
    const request = new AbortController();
    this.store.set({ request, isEmpty: false });
    const { turns, corpus } = conversation;
    const history = turns.slice(-HISTORY_TURNS).map((turn) => ({ question: turn.question, answer: turn.answer.text }));
    const body = { question, agent: this.asAgent && !isExtractive, history, ...(isExtractive && { extractive: true }) };
    try {
      const answer = await service.ask(corpus, body, listener.update, request.signal);
      conversation.turns.push({ question, answer });
      listener.show(answer);
    } catch (error) {
      if (isAbort(error)) listener.stop();
      else listener.fail(error);
    } finally {
      if (request === this.store.state.request) this.store.set({ request: null });
    }
  }
}
