// The token of the service: stored for this browser tab only, and entered in a dialog.

import { h } from "./dom.js";

const KEY = "shortlist-token";

/** @returns {string | null} */
export const readToken = () => sessionStorage.getItem(KEY);

/**
 * Asks for a token and stores it. The answer is whether one was entered.
 *
 * @param {boolean} wasWrong whether an earlier token was not accepted
 * @returns {Promise<boolean>}
 */
export function askForToken(wasWrong) {
  return new Promise((resolve) => {
    const input = h("input", {
      id: "token",
      name: "token",
      type: "password",
      autocomplete: "off",
      required: true,
      spellcheck: "false",
    });
    /** @type {HTMLDialogElement} */
    const dialog = h(
      "dialog",
      {
        class: "dialog small",
        "aria-labelledby": "token-title",
        onclose: () => {
          dialog.remove();
          resolve(false); // unless a token was entered
        },
      },
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            sessionStorage.setItem(KEY, input.value.trim());
            resolve(true);
            dialog.close();
          },
        },
        h("h2", { id: "token-title" }, "This service requires a token"),
        h(
          "p",
          { class: "muted" },
          wasWrong
            ? "The token was not accepted. Try another one."
            : "Enter the token that the service was started with. It is stored until you close this browser tab.",
        ),
        h("label", { for: "token" }, "Token"),
        input,
        h(
          "div",
          { class: "actions" },
          h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
          h("button", { class: "primary" }, "Continue"),
        ),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
