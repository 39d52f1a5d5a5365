// The side panel: one document or passage beside the list, or over it on a small screen.

import { h, put, visible } from "./dom.js";
import { icon } from "./icons.js";
import { empty, failure } from "./messages.js";

/**
 * @template Key what identifies the content, such as the id of a document
 * @template Content
 */
export class Panel {
  /**
   * @param {object} options
   * @param {string} options.name
   * @param {(content: Content) => Node[]} options.draw
   * @param {[title: string, text: string]} options.rest what an empty panel shows
   * @param {(key: Key | null) => void} options.onClose called when the user closes it
   */
  constructor({ name, draw, rest, onClose }) {
    this.name = name;
    this.draw = draw;
    this.rest = rest;
    this.onClose = onClose;
    /** @type {Key | null} */
    this.key = null;
    /** @type {unknown} */
    this.context = null;
    this.heading = h("h2", { tabindex: "-1", dir: "auto" }, name);
    this.body = h("div", { class: "panel-body" });
    const label = `Close the ${name.toLowerCase()}`;
    const close = () => this.close();
    this.element = h(
      "aside",
      {
        class: "panel",
        "aria-label": name,
        onkeydown: (event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          this.close();
        },
      },
      h(
        "div",
        { class: "panel-head" },
        this.heading,
        h("button", { type: "button", class: "quiet icon-button", "aria-label": label, onclick: close }, icon("close")),
      ),
      this.body,
    );
    this.reset();
  }

  get isOpen() {
    return this.element.classList.contains("open");
  }

  /** Empties the panel without calling `onClose`. */
  reset() {
    this.key = null;
    this.element.classList.remove("open");
    put(this.heading, this.name);
    this.body.replaceChildren(empty("documents", ...this.rest));
  }

  close() {
    const key = this.key;
    this.reset();
    this.onClose(key);
  }

  /**
   * Shows the result of `load()`, unless another key or context was opened in the meantime.
   *
   * @param {{ key: Key, title: string, focus: boolean, context?: unknown }} options
   * @param {() => Content | Promise<Content>} load
   */
  async open({ key, title, focus, context = null }, load) {
    const isCurrent = () => this.key === key && this.context === context;
    const isShown = isCurrent();
    Object.assign(this, { key, context });
    this.element.classList.add("open");
    put(this.heading, title);
    this.heading.title = title.length > 80 ? visible(title) : "";
    if (focus) this.heading.focus({ preventScroll: true });
    if (isShown) return;
    this.body.setAttribute("aria-busy", "true");
    try {
      const content = await load();
      if (isCurrent()) this.body.replaceChildren(...this.draw(content));
    } catch (error) {
      if (isCurrent()) this.body.replaceChildren(failure(error));
    } finally {
      this.body.removeAttribute("aria-busy");
    }
    this.body.scrollTop = 0;
  }
}
