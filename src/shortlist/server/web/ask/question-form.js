// The field of the question.

import { toggle } from "../core/controls.js";
import { h } from "../core/dom.js";

/** @import { AskSession } from "./session.js" */

/**
 * @param {AskSession} session
 * @param {(question: string) => void} ask
 */
export function createQuestionForm(session, ask) {
  let isSubmitted = false; // a question waits until the corpora are loaded
  const field = h("textarea", {
    rows: 2,
    dir: "auto",
    placeholder: "Ask a question",
    "aria-label": "Question",
    "aria-describedby": "question-hint",
    enterkeyhint: "send",
    oninput: () => {
      isSubmitted = false;
    },
    onkeydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!session.store.state.request) submit(); // only the button stops an answer
    },
  });
  const send = h("button", { class: "primary" }, "Ask");
  const agent = createAgentToggle(session);
  const element = h(
    "form",
    {
      class: "question",
      onsubmit: (event) => {
        event.preventDefault();
        if (session.store.state.request) session.stop();
        else submit();
      },
    },
    field,
    h(
      "div",
      { class: "question-foot" },
      h("p", { class: "hint", id: "question-hint" }, "Checks can miss errors: read the citations."),
      agent,
      send,
    ),
  );
  session.store.subscribe(["request"], ({ request }) => {
    send.textContent = request ? "Stop" : "Ask";
  });
  session.store.subscribe(["corpora"], () => {
    if (isSubmitted) submit();
  });
  return { element, field };

  function submit() {
    const question = field.value.trim();
    if (!question) {
      field.focus();
      return;
    }
    isSubmitted = !session.store.state.corpora.length;
    if (isSubmitted) return;
    field.value = "";
    ask(question);
  }
}

/** @param {AskSession} session */
function createAgentToggle(session) {
  const { element } = toggle({
    label: "Agent",
    change: (isOn) => {
      session.asAgent = isOn;
    },
  });
  element.title = "The model may search with tools before it answers.";
  session.store.subscribe(["hasModel"], ({ hasModel }) => {
    element.hidden = !hasModel;
  });
  return element;
}
