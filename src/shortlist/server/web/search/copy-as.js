// Copies the request of the results as a curl command, a Python program or an MCP tool call.

import { h, put } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { copyText } from "../core/messages.js";
import { readToken } from "../core/token.js";
import { formatRequest } from "./request.js";

/** @import { RequestForm } from "./request.js" */
/** @import { SearchSession } from "./session.js" */

/** @type {RequestForm[]} */
const FORMS = ["curl", "Python", "MCP"];

/**
 * The buttons, and the request that was copied last.
 *
 * @param {SearchSession} session
 * @returns {HTMLElement[]}
 */
export function createCopyAs({ store }) {
  const code = h("div", { class: "copied", hidden: true });
  const buttons = FORMS.map((form) => h("button", { type: "button", class: "quiet" }, form));
  const bar = h(
    "div",
    { class: "copy-as", role: "group", "aria-labelledby": "copy-as" },
    h("span", { id: "copy-as" }, "Copy as"),
    buttons,
  );
  for (const [at, button] of buttons.entries()) button.addEventListener("click", () => copy(FORMS[at], button));
  store.subscribe(["shown"], ({ shown }) => {
    code.hidden = true;
    bar.classList.toggle("ready", shown.kind === "answer");
  });
  return [bar, code];

  /**
   * @param {RequestForm} form
   * @param {HTMLElement} button
   */
  function copy(form, button) {
    const { shown } = store.state;
    if (shown.kind !== "answer") return;
    const { view, query } = shown.answer;
    const { path, body } = view.request(query);
    const { text, hint } = formatRequest({ url: location.origin + path, body, hasToken: readToken() !== null })[form];
    const label = `The request as ${form}`;
    const shownText = h("pre", { class: "text", tabindex: "0", role: "region", "aria-label": label }, text);
    const close = () => {
      code.hidden = true;
      button.focus();
    };
    put(
      code,
      shownText,
      h(
        "button",
        { type: "button", class: "quiet icon-button", "aria-label": "Close the request", onclick: close },
        icon("close"),
      ),
      hint && h("p", { class: "hint" }, hint),
    );
    code.hidden = false;
    copyText(text, shownText, `${form} request`);
  }
}
