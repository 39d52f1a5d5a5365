// The input of cases: pasted, read from a file, or dropped. Its content survives a switch of tabs.

import { markInvalid } from "../core/controls.js";
import { h } from "../core/dom.js";
import { formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";

const EXAMPLE = '{"query": "where is my parcel", "gold": ["track_shipment"]}\n{"query": "play some jazz", "gold": []}';
const HIDDEN_CASES = "The cases of the file are not shown. Type here to replace them.";

// A longer text is not shown in the field, which would be slow.
const MAX_SHOWN_CHARACTERS = 50_000;

const stored = { text: "", from: "" };

export class CaseField {
  /** @param {{ send: () => void }} options `send` is called when the user starts an evaluation with the keyboard */
  constructor({ send }) {
    /** @type {HTMLTextAreaElement} */
    this.field = h("textarea", {
      id: "cases",
      class: "code",
      rows: 9,
      wrap: "off",
      spellcheck: "false",
      autocapitalize: "off",
      "aria-describedby": "cases-hint cases-wrong",
      oninput: () => this.#set(this.field.value),
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => {
        const dropped = event.dataTransfer?.files[0];
        if (!dropped) return;
        event.preventDefault();
        this.#read(dropped);
      },
      onkeydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
      },
    });
    this.count = h("span", { class: "muted", role: "status" });
    this.wrong = h("p", { class: "wrong-field", id: "cases-wrong", role: "alert" });
    const file = h("input", {
      type: "file",
      hidden: true,
      "aria-label": "File of cases",
      accept: ".jsonl,.ndjson,.json,.txt",
      onchange: () => {
        if (file.files?.length) this.#read(file.files[0]);
        file.value = "";
      },
    });
    this.elements = [
      h("label", { for: "cases" }, "Cases"),
      h(
        "p",
        { class: "hint", id: "cases-hint" },
        "JSON Lines: query, and gold, the ids of the expected documents; [] if no document applies.",
      ),
      this.field,
      h(
        "div",
        { class: "case-tools" },
        h("button", { type: "button", onclick: () => file.click() }, icon("file"), "Choose a file"),
        this.count,
      ),
      this.wrong,
      file,
    ];
    this.#show();
  }

  get text() {
    return stored.text;
  }

  focus() {
    this.field.focus();
  }

  /** @param {string} text */
  showError(text) {
    this.wrong.textContent = text;
    markInvalid(this.field, text);
  }

  /** @param {File} file */
  async #read(file) {
    this.#set(await file.text(), file.name);
    this.#show();
  }

  /**
   * @param {string} text
   * @param {string} [from] the name of its file
   */
  #set(text, from = "") {
    Object.assign(stored, { text, from });
    this.showError("");
    this.#describe();
  }

  #show() {
    this.field.value = stored.text.length > MAX_SHOWN_CHARACTERS ? "" : stored.text;
    this.#describe();
  }

  #describe() {
    const lines = stored.text.split("\n").filter((line) => line.trim()).length;
    this.count.textContent = lines ? formatCount(lines, "case") + (stored.from && ` from ${stored.from}`) : "";
    this.field.placeholder = lines && !this.field.value ? HIDDEN_CASES : EXAMPLE;
  }
}
