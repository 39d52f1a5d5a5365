// The dialog that uploads files or a folder and indexes them, and what was skipped.

import { isAbort, ServiceError } from "../core/api.js";
import { h, put } from "../core/dom.js";
import { formatBytes, formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";
import { messageOf } from "../core/messages.js";
import { buildUploaded, uploadFile } from "../core/service.js";
import { readDropped, readInput, sortOut, suggestName } from "./files.js";

/** @import { BuildReport } from "../core/types.js" */
/** @import { ChosenFile, SkippedFile } from "./files.js" */

const AT_ONCE = 4;
const MAX_SHOWN = 200; // skipped files
const REFUSED = [413, 422]; // the statuses of a file that is not accepted; others are accepted all the same

/**
 * Opens the dialog.
 *
 * @param {object} options
 * @param {ChosenFile[]} [options.files] that were dropped
 * @param {string} options.corpus the corpus to add them to, if it takes files
 * @param {(corpus: string) => void} options.onDone called with the corpus that was built
 */
export function openUpload(options) {
  new UploadDialog(options).show();
}

/**
 * Opens the dialog when files are dropped on an element.
 *
 * @param {HTMLElement} element
 * @param {(files: ChosenFile[]) => void} open
 */
export function acceptDrops(element, open) {
  /** @param {DragEvent} event */
  const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files") ?? false;
  element.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    element.classList.add("dropping");
  });
  element.addEventListener("dragleave", (event) => {
    if (!element.contains(/** @type {Node | null} */ (event.relatedTarget))) element.classList.remove("dropping");
  });
  element.addEventListener("drop", async (event) => {
    element.classList.remove("dropping");
    if (!hasFiles(event) || !event.dataTransfer) return;
    event.preventDefault();
    open(await readDropped(event.dataTransfer));
  });
}

class UploadDialog {
  /** @type {ChosenFile[]} */
  #wanted = [];
  /** @type {SkippedFile[]} */
  #skipped = [];
  #request = new AbortController();

  /** @param {{ files?: ChosenFile[], corpus: string, onDone: (corpus: string) => void }} options */
  constructor({ files, corpus, onDone }) {
    this.corpus = corpus;
    this.onDone = onDone;
    this.name = h("input", { id: "upload-name", autocomplete: "off", spellcheck: "false", value: corpus });
    this.chosen = h("p", { class: "muted", role: "status" });
    this.error = h("p", { class: "wrong-field", role: "alert" });
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Progress", hidden: true });
    this.report = h("div", {});
    this.start = h("button", { class: "primary" }, "Upload and index");
    this.close = h("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel");
    this.choose = h(
      "div",
      { class: "upload-choose" },
      this.#chooser("Choose files", false),
      this.#chooser("Choose a folder", true),
    );
    this.inputs = h(
      "div",
      { class: "field" },
      this.choose,
      h("label", { for: "upload-name" }, "Corpus"),
      this.name,
      h("p", { class: "hint" }, "A new name creates a corpus. The files are stored in the data folder of the service."),
    );
    /** @type {HTMLDialogElement} */
    this.dialog = h(
      "dialog",
      {
        class: "dialog",
        "aria-labelledby": "upload-title",
        onclose: () => {
          this.#request.abort();
          this.dialog.remove();
        },
      },
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            this.#run();
          },
        },
        h("h2", { id: "upload-title" }, "Add files"),
        this.chosen,
        this.inputs,
        this.error,
        this.bar,
        this.report,
        h("div", { class: "actions" }, this.close, this.start),
      ),
    );
    acceptDrops(this.dialog, (dropped) => this.#take(dropped));
    this.#take(files ?? []);
  }

  show() {
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  /**
   * @param {string} text
   * @param {boolean} isFolder
   */
  #chooser(text, isFolder) {
    /** @type {HTMLInputElement} */
    const input = h("input", {
      type: "file",
      hidden: true,
      multiple: true,
      webkitdirectory: isFolder,
      "aria-label": text,
      onchange: () => this.#take(readInput(input.files)),
    });
    return h(
      "div",
      {},
      h("button", { type: "button", onclick: () => input.click() }, icon(isFolder ? "documents" : "file"), text),
      input,
    );
  }

  /** @param {ChosenFile[]} files */
  #take(files) {
    const { wanted, skipped } = sortOut(files);
    this.#wanted = wanted;
    this.#skipped = skipped;
    const size = wanted.reduce((sum, { file }) => sum + file.size, 0);
    const left = skipped.length ? `, ${formatCount(skipped.length, "file")} skipped` : "";
    put(
      this.chosen,
      files.length
        ? `${formatCount(wanted.length, "file")}, ${formatBytes(size)}${left}`
        : "Drop files here, or choose them.",
    );
    if (!this.corpus && files.length) this.name.value = suggestName(files);
    this.start.disabled = !wanted.length;
  }

  async #run() {
    const corpus = this.name.value.trim();
    this.error.textContent = corpus ? "" : "Enter a name for the corpus.";
    if (!corpus) return;
    for (const control of [this.start, this.name, ...this.choose.querySelectorAll("button")]) control.disabled = true;
    this.bar.hidden = false;
    try {
      await this.#upload(corpus);
      const report = await buildUploaded(corpus, this.#onEvent, this.#request.signal);
      this.#showReport(corpus, report);
      this.onDone(corpus);
    } catch (error) {
      if (isAbort(error)) return;
      this.error.textContent = messageOf(error);
      for (const control of [this.start, this.name, ...this.choose.querySelectorAll("button")])
        control.disabled = false;
    }
    this.bar.hidden = true;
  }

  /** @param {string} corpus */
  async #upload(corpus) {
    const files = this.#wanted.values(); // shared by all that upload
    let done = 0;
    const upload = async () => {
      for (const { path, file } of files) {
        try {
          await uploadFile(corpus, path, file, this.#request.signal);
        } catch (error) {
          const isRefused = error instanceof ServiceError && REFUSED.includes(error.status);
          if (!isRefused || this.#wanted.length === 1) throw error;
          this.#skipped.push({ id: path, reason: messageOf(error) });
        }
        done += 1;
        this.bar.value = done / this.#wanted.length;
        put(this.chosen, `Uploaded ${done.toLocaleString("en")} of ${formatCount(this.#wanted.length, "file")}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, upload));
    put(this.chosen, "Indexing…");
    this.bar.removeAttribute("value");
  }

  #onEvent = (/** @type {string} */ _, /** @type {{ step: string, share: number }} */ { step, share }) => {
    this.bar.value = share;
    put(this.chosen, `${step}: ${Math.round(100 * share)} %`);
  };

  /**
   * @param {string} corpus
   * @param {BuildReport} report
   */
  #showReport(corpus, { count, added, changed, skipped: notIndexed }) {
    const skipped = [...this.#skipped, ...notIndexed];
    const news = added || changed ? `${added} added, ${changed} changed` : "nothing changed";
    put(this.chosen, `${corpus} has ${formatCount(count, "document")}: ${news}.`);
    this.inputs.hidden = true;
    const left = skipped.length - MAX_SHOWN;
    put(
      this.report,
      skipped.length > 0 && [
        h("h3", {}, `${formatCount(skipped.length, "file")} skipped`),
        h(
          "div",
          { class: "upload-skipped", tabindex: "0", role: "region", "aria-label": "Skipped files" },
          h(
            "ul",
            { class: "left-out" },
            skipped
              .slice(0, MAX_SHOWN)
              .map(({ id, reason }) => h("li", {}, h("code", {}, id), h("span", { class: "muted" }, reason))),
            left > 0 && h("li", { class: "muted" }, `${left.toLocaleString("en")} more`),
          ),
        ),
      ],
    );
    this.start.hidden = true;
    put(this.close, "Close");
    this.close.focus();
  }
}
