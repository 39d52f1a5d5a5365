// How much a corpus has learned from use, if anything, and a button to forget it.

import { h, put } from "../core/dom.js";
import { formatCount } from "../core/format.js";
import { confirmAction, showError, showNote } from "../core/messages.js";
import { forgetUsage } from "../core/service.js";

/** @import { DocumentsSession } from "./session.js" */

/**
 * @param {DocumentsSession} session
 * @param {() => void} onForget
 */
export function createUsage(session, onForget) {
  const element = h("div", { class: "learned" });
  session.store.subscribe(["uses"], ({ uses }) => {
    element.hidden = !uses;
    put(
      element,
      h("p", { class: "muted" }, `Learned from ${formatCount(uses, "use")}`),
      h("button", { type: "button", class: "quiet danger", onclick: () => forget(session, onForget) }, "Forget"),
    );
  });
  return element;
}

/**
 * @param {DocumentsSession} session
 * @param {() => void} onForget
 */
async function forget(session, onForget) {
  const { corpus } = session.store.state;
  const text = "Everything that was learned from its use is deleted. This cannot be undone.";
  if (!(await confirmAction(`Forget the use of ${corpus}?`, text, "Forget"))) return;
  try {
    await forgetUsage(corpus);
    showNote(`Forgot the use of ${corpus}.`);
    onForget();
  } catch (error) {
    showError(error);
  }
  await session.loadUsage();
}
