// The Ask tab: the answer as it arrives, and for every claim the passage that it cites.

import { toggle } from "../core/controls.js";
import { empty, failure, h, icon, loading } from "../core/dom.js";
import { counted } from "../search/outcome.js";
import { Panel } from "../core/panel.js";
import { passage, placed } from "./passage.js";
import { remember } from "../core/route.js";
import * as service from "../core/service.js";
import { Turn } from "./turn.js";

// The number of turns that the service uses.
const REMEMBERED = 5;

// The conversation survives a switch of tabs.
const conversation = { corpus: "", turns: [] };

export function mount(root, params) {
  let known = [];
  let agent = false;
  let underWay = null;
  let isSubmitted = false; // a question waits until the corpora are loaded
  let opener = null;
  let follows = false;
  const current = () => known.find((one) => one.name === conversation.corpus);

  const corpus = h("select", { "aria-label": "Corpus", onchange: () => selectCorpus(corpus.value) });
  const restart = h(
    "button",
    { type: "button", disabled: true, onclick: () => clear({ focus: true }) },
    icon("reload"),
    "New conversation",
  );
  const field = h("textarea", {
    rows: 2,
    placeholder: "Ask a question",
    "aria-label": "Question",
    "aria-describedby": "question-hint",
    enterkeyhint: "send",
    oninput: () => {
      isSubmitted = false;
    },
    onkeydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        if (!underWay) submit(); // only the button stops an answer
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
  byAgent.element.title = "The model may search with tools before it answers.";
  const talk = h("section", { class: "talk", "aria-label": "Conversation" }, loading());
  const live = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
  const panel = new Panel({
    name: "Passage",
    draw: passage,
    rest: ["No passage selected", "Select a number in an answer to read the cited passage."],
    closed: () => {
      opener?.removeAttribute("aria-current");
      opener?.focus();
    },
  });

  root.append(
    h("div", { class: "head" }, h("h1", {}, "Ask"), h("div", { class: "head-tools" }, corpus, restart)),
    talk,
    h(
      "form",
      {
        class: "question",
        onsubmit: (event) => {
          event.preventDefault();
          submit();
        },
      },
      field,
      h(
        "div",
        { class: "question-foot" },
        h("p", { class: "hint", id: "question-hint" }, "Checks can miss errors: read the citations."),
        byAgent.element,
        send,
      ),
    ),
    live,
    panel.element,
  );

  const stopFollowing = () => {
    follows = false;
  };
  addEventListener("keydown", shortcuts);
  for (const kind of ["wheel", "touchmove"]) addEventListener(kind, stopFollowing, { passive: true });
  if (!matchMedia("(pointer: coarse)").matches) field.focus();
  begin();
  return () => {
    removeEventListener("keydown", shortcuts);
    for (const kind of ["wheel", "touchmove"]) removeEventListener(kind, stopFollowing);
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
      const turn = addTurn(question);
      turn.show(answer);
    }
    showPlaceholder();
    return isSubmitted ? submit() : undefined;
  }

  function selectCorpus(name) {
    conversation.corpus = name;
    remember("ask", { corpus: current().served ? "" : name });
    clear();
  }

  function clear({ focus = false } = {}) {
    underWay?.abort();
    conversation.turns = [];
    talk.replaceChildren();
    panel.reset();
    showPlaceholder();
    if (focus) field.focus();
  }

  /** Shows a placeholder while there is no question. */
  function showPlaceholder() {
    restart.disabled = talk.children.length === 0;
    if (talk.children.length) return;
    const one = current();
    talk.append(
      one.documents
        ? empty(
            "ask",
            `Ask ${counted(one.documents, "document")}`,
            "Every sentence cites a passage. Its quotations, names, numbers, negation and wording are compared with it.",
            "Sentences that fail are struck through, with the reason. A question may refer to the one before it.",
          )
        : empty("documents", "This corpus is empty", "Add documents to ask about them."),
    );
  }

  function addTurn(question) {
    if (!talk.querySelector(".turn")) talk.replaceChildren();
    const turn = new Turn(question, { open: read });
    talk.append(turn.element);
    restart.disabled = false;
    return turn;
  }

  function submit() {
    if (underWay) return underWay.abort();
    const question = field.value.trim();
    if (!question) return field.focus();
    isSubmitted = !known.length;
    if (isSubmitted) return undefined;
    field.value = "";
    return ask(question);
  }

  async function ask(question) {
    const turn = addTurn(question);
    const mine = (underWay = new AbortController());
    send.textContent = "Stop";
    follows = true;
    keepInView(turn);
    const history = conversation.turns
      .slice(-REMEMBERED)
      .map((one) => ({ question: one.question, answer: one.answer.text }));
    const onEvent = (name, data) => {
      turn.update(name, data);
      keepInView(turn);
    };
    try {
      const answer = await service.ask(conversation.corpus, { question, agent, history }, onEvent, mine.signal);
      conversation.turns.push({ question, answer });
      turn.show(answer);
      live.textContent = turn.text.innerText;
    } catch (error) {
      if (error.name === "AbortError") turn.stopped();
      else turn.fail(error, () => retry(turn, question));
    } finally {
      if (mine === underWay) {
        underWay = null;
        send.textContent = "Ask";
        keepInView(turn);
      }
    }
  }

  function retry(turn, question) {
    if (underWay) return;
    turn.element.remove();
    ask(question);
    field.focus();
  }

  /** Scrolls to the start of the turn, unless the user has scrolled. */
  function keepInView(turn) {
    if (follows) turn.element.scrollIntoView({ block: "start" });
  }

  async function read(button, item, spans, checked) {
    opener?.removeAttribute("aria-current");
    opener = button;
    button.setAttribute("aria-current", "true");
    panel.reset();
    await panel.open({ id: button, title: placed(item) }, () => ({ item, spans, checked }), { focus: true });
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
