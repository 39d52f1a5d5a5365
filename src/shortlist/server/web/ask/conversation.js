// The questions and answers of a conversation, or a placeholder while there are none.

import { emptyCorpus } from "../core/corpora.js";
import { h } from "../core/dom.js";
import { formatCount } from "../core/format.js";
import { empty, failure, loading } from "../core/messages.js";
import { Turn } from "./turn.js";

/** @import { Corpus } from "../core/types.js" */
/** @import { AskSession } from "./session.js" */
/** @import { OpenPassage } from "./turn.js" */

export class Conversation {
  #follows = false; // until the user scrolls

  /**
   * @param {AskSession} session
   * @param {OpenPassage} open
   */
  constructor(session, open) {
    this.session = session;
    this.open = open;
    this.element = h("section", { class: "talk", "aria-label": "Conversation" });
    this.live = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
    session.store.subscribe(["corpora", "error", "conversation"], ({ corpora, error }) => {
      if (error) this.element.replaceChildren(failure(error, () => session.load()));
      else if (!corpora.length) this.element.replaceChildren(loading());
      else this.#showStored();
    });
    for (const kind of ["wheel", "touchmove"]) addEventListener(kind, this.#stopFollowing, { passive: true });
  }

  leave() {
    for (const kind of ["wheel", "touchmove"]) removeEventListener(kind, this.#stopFollowing);
  }

  #stopFollowing = () => {
    this.#follows = false;
  };

  #showStored() {
    this.element.replaceChildren();
    for (const { question, answer } of this.session.turns) this.#addTurn(question).show(answer);
    const { corpus } = this.session;
    if (corpus && !this.element.children.length) this.element.append(placeholder(corpus));
  }

  /** @param {string} question */
  #addTurn(question) {
    if (!this.element.querySelector(".turn")) this.element.replaceChildren();
    const turn = new Turn(question, { open: this.open });
    this.element.append(turn.element);
    return turn;
  }

  /**
   * Asks a question and shows its answer as it arrives.
   *
   * @param {string} question
   * @param {() => void} onRetry called when a question that failed is asked again
   * @param {{ isExtractive?: boolean }} [options]
   */
  async ask(question, onRetry, options) {
    const turn = this.#addTurn(question);
    this.#follows = true;
    this.#keepInView(turn);
    await this.session.ask(
      question,
      {
        update: (name, data) => {
          turn.update(name, data);
          this.#keepInView(turn);
        },
        show: (answer) => {
          turn.show(answer);
          // biome-ignore lint/performance/useDomNodeTextContent: without what is not visible
          this.live.textContent = turn.text.innerText;
        },
        stop: () => turn.stop(),
        fail: (error) =>
          turn.fail(error, (/** @type {{ isExtractive?: boolean }} */ retried) => {
            if (this.session.store.state.request) return;
            turn.element.remove();
            this.ask(question, onRetry, retried);
            onRetry();
          }),
      },
      options,
    );
    if (turn.element.isConnected && !this.session.store.state.request) this.#keepInView(turn);
  }

  /**
   * Scrolls to the start of the turn, unless the user has scrolled.
   *
   * @param {Turn} turn
   */
  #keepInView(turn) {
    if (this.#follows) turn.element.scrollIntoView({ block: "start" });
  }
}

/** @param {Corpus} corpus */
const placeholder = (corpus) =>
  corpus.documents
    ? empty(
        "ask",
        `Ask ${formatCount(corpus.documents, "document")}`,
        "Every sentence cites a passage. Its quotations, names, numbers, negation and wording are compared with it.",
        "Sentences that fail are struck through, with the reason. A question may refer to the one before it.",
      )
    : emptyCorpus(corpus);
