// The Ask tab: the answer as it arrives, and for every claim the passage that it cites.

import { corpusOptions } from "../core/corpora.js";
import { h, isInField, isShortcut } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { Panel } from "../core/panel.js";
import { Conversation } from "./conversation.js";
import { formatSource, passage } from "./passage.js";
import { createQuestionForm } from "./question-form.js";
import { AskSession } from "./session.js";

/** @import { Params } from "../core/route.js" */
/** @import { Evidence, Span } from "../core/types.js" */
/** @import { CitedPassage } from "./passage.js" */

/**
 * @param {HTMLElement} root
 * @param {Params} params
 */
export function mount(root, params) {
  const session = new AskSession(params);
  const panel = createPassagePanel();
  const conversation = new Conversation(session, (...cited) => openPassage(panel, ...cited));
  const form = createQuestionForm(session, (question) => conversation.ask(question, () => form.field.focus()));
  const tools = createTools(session, () => form.field.focus());
  root.append(
    h("div", { class: "head" }, h("h1", {}, "Ask"), tools),
    conversation.element,
    form.element,
    conversation.live,
    panel.element,
  );
  session.store.subscribe(["conversation"], () => panel.reset());
  /** @param {KeyboardEvent} event */
  const onShortcut = (event) => {
    if (!isShortcut(event)) return;
    if (event.key === "/" && !isInField(event)) {
      event.preventDefault();
      form.field.focus();
    }
    if (event.key === "Escape") {
      if (panel.isOpen) panel.close();
      else form.field.focus();
    }
  };
  addEventListener("keydown", onShortcut);
  if (!matchMedia("(pointer: coarse)").matches) form.field.focus();
  session.load();
  return () => {
    removeEventListener("keydown", onShortcut);
    conversation.leave();
    session.close();
  };
}

/**
 * The corpus, and the button for a new conversation.
 *
 * @param {AskSession} session
 * @param {() => void} onRestart
 */
function createTools(session, onRestart) {
  /** @type {HTMLSelectElement} */
  const corpus = h("select", { "aria-label": "Corpus", onchange: () => session.selectCorpus(corpus.value) });
  const restart = h(
    "button",
    {
      type: "button",
      onclick: () => {
        session.restart();
        onRestart();
      },
    },
    icon("reload"),
    "New conversation",
  );
  session.store.subscribe(["corpora"], (state) => {
    corpus.replaceChildren(...corpusOptions(state.corpora));
    corpus.value = state.corpus;
  });
  session.store.subscribe(["isEmpty"], ({ isEmpty }) => {
    restart.disabled = isEmpty;
  });
  return h("div", { class: "head-tools" }, corpus, restart);
}

/** @returns {Panel<HTMLElement, CitedPassage>} whose keys are the buttons that opened it */
const createPassagePanel = () =>
  new Panel({
    name: "Passage",
    draw: passage,
    rest: ["No passage selected", "Select a number in an answer to read the cited passage."],
    onClose: (opener) => {
      opener?.removeAttribute("aria-current");
      opener?.focus();
    },
  });

/**
 * @param {Panel<HTMLElement, CitedPassage>} panel
 * @param {HTMLElement} button
 * @param {Evidence} item
 * @param {Span[]} spans
 * @param {string} [checked]
 */
async function openPassage(panel, button, item, spans, checked) {
  panel.key?.removeAttribute("aria-current");
  button.setAttribute("aria-current", "true");
  panel.reset();
  await panel.open({ key: button, title: formatSource(item), focus: true }, () => ({ item, spans, checked }));
  const first = panel.body.querySelector("mark");
  const height = panel.body.clientHeight;
  if (first && first.offsetTop > height) panel.body.scrollTop = first.offsetTop - height / 3;
}
