// Ask the documents: the answer as it comes, and for every claim the passage that it was taken from.

import { toggle } from "./controls.js";
import { empty, failure, h, icon, loading } from "./dom.js";
import { counted } from "./outcome.js";
import { Panel } from "./panel.js";
import { passage, placed } from "./passage.js";
import { remember } from "./route.js";
import * as service from "./service.js";
import { Turn } from "./turn.js";

// As many turns as the service remembers.
const REMEMBERED = 5;

// What was said survives a look at another tab.
const conversation = { corpus: "", turns: [] };

export function mount(root, params) {
  let known = [];
  let agent = false;
  let underWay = null;
  let isSubmitted = false; // a question waits until the corpora are known
  let opener = null;
  let follows = false;
  const current = () => known.find((one) => one.name === conversation.corpus);

  const corpus = h("select", { "aria-label": "Corpus", onchange: () => chosen(corpus.value) });
  const anew = h(
    "button",
    { type: "button", disabled: true, onclick: () => forget({ focus: true }) },
    icon("reload"),
    "New conversation",
  );
  const field = h("textarea", {
    rows: 2,
    maxlength: 4000,
    placeholder: "What do you want to know?",
    "aria-label": "Question",
    "aria-describedby": "question-hint",
    enterkeyhint: "send",
    oninput: () => {
      isSubmitted = false;
    },
    onkeydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        if (!underWay) sent(); // only the button stops an answer
      }
    },
  });
  const send = h("button", { class: "primary" }, "Ask");
  const byAgent = toggle({
    label: "Agent",
    change: (on) => {
      agent = on;
    },
  });
  byAgent.element.hidden = true;
  byAgent.element.title = "The model may look further with tools before it answers.";
  const talk = h("section", { class: "talk", "aria-label": "Conversation" }, loading());
  const live = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
  const panel = new Panel({
    name: "Passage",
    draw: passage,
    rest: ["Nothing is open", "Choose a number in an answer to read the passage that it was taken from."],
    closed: () => {
      opener?.removeAttribute("aria-current");
      opener?.focus();
    },
  });

  root.append(
    h("div", { class: "head" }, h("h1", {}, "Ask"), h("div", { class: "head-tools" }, corpus, anew)),
    talk,
    h(
      "form",
      {
        class: "question",
        onsubmit: (event) => {
          event.preventDefault();
          sent();
        },
      },
      field,
      h(
        "div",
        { class: "question-foot" },
        h("p", { class: "hint", id: "question-hint" }, "Answered from the documents alone, or not at all."),
        byAgent.element,
        send,
      ),
    ),
    live,
    panel.element,
  );

  const letGo = () => {
    follows = false;
  };
  addEventListener("keydown", shortcuts);
  for (const kind of ["wheel", "touchmove"]) addEventListener(kind, letGo, { passive: true });
  if (!matchMedia("(pointer: coarse)").matches) field.focus();
  begin();
  return () => {
    removeEventListener("keydown", shortcuts);
    for (const kind of ["wheel", "touchmove"]) removeEventListener(kind, letGo);
    underWay?.abort();
  };

  async function begin() {
    talk.replaceChildren(loading());
    let model;
    try {
      [known, model] = await Promise.all([service.corpora(), service.languageModel()]);
    } catch (error) {
      return talk.replaceChildren(failure(error, begin));
    }
    if (!root.isConnected) return undefined;
    corpus.replaceChildren(...service.choices(known));
    const first = service.preferred(known, params.corpus ?? conversation.corpus).name;
    if (first !== conversation.corpus) Object.assign(conversation, { corpus: first, turns: [] });
    corpus.value = first;
    byAgent.element.hidden = !model;
    talk.replaceChildren();
    for (const { question, answer } of conversation.turns) {
      const turn = begun(question);
      turn.show(answer);
    }
    rest();
    return isSubmitted ? sent() : undefined;
  }

  function chosen(name) {
    conversation.corpus = name;
    remember("ask", { corpus: current().served ? "" : name });
    forget();
  }

  function forget({ focus = false } = {}) {
    underWay?.abort();
    conversation.turns = [];
    talk.replaceChildren();
    panel.reset();
    rest();
    if (focus) field.focus();
  }

  /** What stands there while nothing was asked. */
  function rest() {
    anew.disabled = talk.children.length === 0;
    if (talk.children.length) return;
    const one = current();
    talk.append(
      one.documents
        ? empty(
            "ask",
            `Ask ${counted(one.documents, "document")}`,
            "Every sentence of an answer is cited, and every citation is verified.",
            "A question may refer to the one before.",
          )
        : empty("documents", "This corpus is empty", "There is nothing to ask in it yet."),
    );
  }

  function begun(question) {
    if (!talk.querySelector(".turn")) talk.replaceChildren();
    const turn = new Turn(question, { open: read });
    talk.append(turn.element);
    anew.disabled = false;
    return turn;
  }

  function sent() {
    if (underWay) return underWay.abort();
    const question = field.value.trim();
    if (!question) return field.focus();
    isSubmitted = !known.length;
    if (isSubmitted) return undefined;
    field.value = "";
    return ask(question);
  }

  async function ask(question) {
    const turn = begun(question);
    const mine = (underWay = new AbortController());
    send.textContent = "Stop";
    follows = true;
    keepInView(turn);
    const history = conversation.turns
      .slice(-REMEMBERED)
      .map((one) => ({ question: one.question, answer: one.answer.text }));
    const heard = (name, data) => {
      turn.hear(name, data);
      keepInView(turn);
    };
    try {
      const answer = await service.ask(conversation.corpus, { question, agent, history }, heard, mine.signal);
      conversation.turns.push({ question, answer });
      turn.show(answer);
      live.textContent = answer.text;
    } catch (error) {
      if (error.name === "AbortError") turn.stopped();
      else turn.fail(error, () => again(turn, question));
    } finally {
      if (mine === underWay) {
        underWay = null;
        send.textContent = "Ask";
        keepInView(turn);
      }
    }
  }

  function again(turn, question) {
    if (underWay) return;
    turn.element.remove();
    ask(question);
    field.focus();
  }

  /** The turn is read from its beginning, unless the reader has gone elsewhere. */
  function keepInView(turn) {
    if (follows) turn.element.scrollIntoView({ block: "start" });
  }

  async function read(button, item, spans) {
    opener?.removeAttribute("aria-current");
    opener = button;
    button.setAttribute("aria-current", "true");
    panel.reset();
    await panel.open({ id: button, title: placed(item) }, () => ({ item, spans }), { focus: true });
    const first = panel.body.querySelector("mark");
    const height = panel.body.clientHeight;
    if (first?.offsetTop > height) panel.body.scrollTop = first.offsetTop - height / 3;
  }

  function shortcuts(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "/" && !event.target.closest("input, textarea, select")) {
      event.preventDefault();
      field.focus();
    }
    if (event.key === "Escape") {
      if (panel.isOpen) panel.close();
      else field.focus();
    }
  }
}
