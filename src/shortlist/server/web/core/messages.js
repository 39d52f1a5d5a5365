// Messages to the user: notes, questions, errors and placeholders.

import { h } from "./dom.js";
import { icon } from "./icons.js";

/** @import { Child } from "./dom.js" */
/** @import { IconName } from "./icons.js" */

/**
 * Copies a text that `element` shows; selects it there if the browser does not allow copying.
 *
 * @param {string} text
 * @param {Node} element
 * @param {string} name what the text is called
 */
export async function copyText(text, element, name) {
  try {
    await navigator.clipboard.writeText(text);
    showNote(`${name} copied.`);
  } catch {
    getSelection()?.selectAllChildren(element);
    showNote("The browser does not allow copying. The text is selected: copy it with Ctrl+C or ⌘C.");
  }
}

/**
 * Shows a message for a moment, with an optional action.
 *
 * @param {string} text
 * @param {{ action?: { label: string, act: () => void } | null, isError?: boolean }} [options]
 */
export function showNote(text, { action = null, isError = false } = {}) {
  const close = () => element.remove();
  const act = () => {
    close();
    action?.act();
  };
  /** @type {HTMLElement} */
  const element = h(
    "div",
    { class: isError ? "note wrong" : "note" },
    h("p", {}, text),
    action && h("button", { type: "button", class: "quiet", onclick: act }, action.label),
    h("button", { type: "button", class: "quiet icon-button", "aria-label": "Dismiss", onclick: close }, icon("close")),
  );
  document.getElementById("notes")?.replaceChildren(element);
  setTimeout(close, action ? 12_000 : 6_000);
}

/**
 * Shows the message of an error for a moment.
 *
 * @param {unknown} error
 */
export const showError = (error) => showNote(messageOf(error), { isError: true });

/**
 * Asks before something that cannot be undone. The answer is whether to do it.
 *
 * @param {string} title
 * @param {string} text
 * @param {string} label of the button that does it
 * @returns {Promise<boolean>}
 */
export function confirmAction(title, text, label) {
  return new Promise((resolve) => {
    /** @param {string} value */
    const close = (value) => () => dialog.close(value);
    /** @type {HTMLDialogElement} */
    const dialog = h(
      "dialog",
      {
        class: "dialog small",
        "aria-labelledby": "ask-first",
        onclose: () => {
          dialog.remove();
          resolve(dialog.returnValue === "yes");
        },
      },
      h("h2", { id: "ask-first" }, title),
      h("p", { class: "muted" }, text),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", onclick: close("") }, "Cancel"),
        h("button", { type: "button", class: "danger", onclick: close("yes") }, label),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * A placeholder for missing content: an icon, a title and more text.
 *
 * @param {IconName} name
 * @param {string} title
 * @param {...Child} more
 */
export function empty(name, title, ...more) {
  return h(
    "div",
    { class: "empty" },
    icon(name),
    h("p", { class: "empty-title" }, title),
    more.map((text) => (typeof text === "string" ? h("p", {}, text) : text)),
  );
}

/** A placeholder for content that is loading. */
export const loading = () => h("p", { class: "loading" }, "Loading…");

/**
 * An error message, with a button to try again and other ones.
 *
 * @param {unknown} error
 * @param {(() => unknown) | null} [retry]
 * @param {...Child} others
 */
export function failure(error, retry = null, ...others) {
  return h(
    "div",
    { class: "empty wrong", role: "alert" },
    icon("warn"),
    h("p", { class: "empty-title" }, titleOf(error) || "Something went wrong."),
    h("p", {}, messageOf(error)),
    h("div", { class: "actions" }, retry && retryButton(retry), others),
  );
}

/** @param {() => unknown} retry */
export const retryButton = (retry) =>
  h("button", { type: "button", onclick: () => retry() }, icon("reload"), "Try again");

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** @param {unknown} error */
export const titleOf = (error) => (error instanceof Error && "title" in error ? String(error.title) : "");
