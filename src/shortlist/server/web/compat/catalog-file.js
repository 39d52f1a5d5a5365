// The card of the catalog: its document file, and the others in its folder.

import { h } from "../core/dom.js";
import { formatBytes, formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";
import { failure, showError, showNote } from "../core/messages.js";
import { listFiles, reloadFile, switchFile } from "./routes.js";

/** @import { CatalogFiles, ChangeReport } from "./routes.js" */

/** @returns {Promise<HTMLElement>} once it is drawn */
export async function createCatalogCard() {
  const card = h("section", { class: "card", "aria-label": "Document file" });
  await draw(card);
  return card;
}

/** @param {HTMLElement} card */
async function draw(card) {
  let found;
  try {
    found = await listFiles();
  } catch (error) {
    card.replaceChildren(failure(error, () => draw(card)));
    return;
  }
  const reload = h("button", { type: "button" }, icon("reload"), "Reload the file");
  reload.addEventListener("click", () => change(card, reload, reloadFile, formatReport));
  card.replaceChildren(
    h("h2", {}, "Document file"),
    h("p", { class: "muted" }, "The catalog is read from this file. Changes made over HTTP survive a reload."),
    h(
      "dl",
      { class: "facts" },
      h("div", {}, h("dt", {}, "Current file"), h("dd", {}, h("code", {}, found.current))),
      h("div", {}, h("dt", {}, "Folder"), h("dd", {}, h("code", {}, found.folder))),
    ),
    h("div", {}, reload),
    h("h3", {}, "Files in the folder"),
    found.files.length
      ? h(
          "ul",
          { class: "choose-file" },
          found.files.map((file) => fileRow(card, file)),
        )
      : h("p", { class: "muted" }, "The folder has no YAML or JSON files."),
  );
}

/**
 * @param {HTMLElement} card
 * @param {CatalogFiles["files"][number]} file
 */
function fileRow(card, { file, bytes, current }) {
  const use = h("button", { type: "button", "aria-label": `Use ${file}` }, "Use");
  use.addEventListener("click", () =>
    change(
      card,
      use,
      () => switchFile(file),
      (report) => `Serving ${file}. ${formatReport(report)}`,
    ),
  );
  return h(
    "li",
    {},
    icon("file"),
    h("span", {}, h("code", {}, file), h("span", { class: "muted" }, formatBytes(bytes))),
    current ? h("span", { class: "badge" }, "In use") : use,
  );
}

/**
 * Changes the catalog, draws the card again and shows what was done.
 *
 * @param {HTMLElement} card
 * @param {HTMLButtonElement} button
 * @param {() => Promise<ChangeReport>} act
 * @param {(report: ChangeReport) => string} format
 */
async function change(card, button, act, format) {
  button.disabled = true;
  try {
    const report = await act();
    await draw(card);
    showNote(format(report));
  } catch (error) {
    await draw(card);
    showError(error);
  }
}

/** @param {ChangeReport} report */
const formatReport = ({ message, count }) =>
  `${message} There ${count === 1 ? "is" : "are"} ${formatCount(count, "document")} now.`;
