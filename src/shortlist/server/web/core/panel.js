// The side panel for one document: its body, metadata and bundled files.

import { empty, failure, h, icon, put, visible } from "./dom.js";
import { causes } from "../evaluate/misses.js";
import { counted } from "../search/outcome.js";

const REST = ["No document selected", "Select a result to read it as an agent would."];

/** A panel beside the results, or over them on a small screen. */
export class Panel {
  /** `closed` is called when the user closes it; `draw` creates its content; `rest` is shown while it is empty. */
  constructor({ closed, name = "Document", draw = parts, rest = REST }) {
    this.asked = null;
    this.closed = closed;
    this.name = name;
    this.draw = draw;
    this.rest = rest;
    this.heading = h("h2", { tabindex: "-1", dir: "auto" }, name);
    this.body = h("div", { class: "panel-body" });
    this.element = h(
      "aside",
      {
        class: "panel",
        "aria-label": name,
        onkeydown: (event) => {
          if (event.key === "Escape") {
            event.stopPropagation();
            this.close();
          }
        },
      },
      h(
        "div",
        { class: "panel-head" },
        this.heading,
        h(
          "button",
          {
            type: "button",
            class: "quiet icon-button",
            "aria-label": `Close the ${name.toLowerCase()}`,
            onclick: () => this.close(),
          },
          icon("close"),
        ),
      ),
      this.body,
    );
    this.reset();
  }

  get isOpen() {
    return this.element.classList.contains("open");
  }

  /** Empties the panel without calling `closed`. */
  reset() {
    this.asked = null;
    this.element.classList.remove("open");
    put(this.heading, this.name);
    this.body.replaceChildren(empty("documents", ...this.rest));
  }

  close() {
    const was = this.asked;
    this.reset();
    this.closed(was);
  }

  /** Shows the result of `load()`, unless another document was opened, or for another `reason`, in the meantime. */
  async open({ id, title }, load, { focus, reason = null }) {
    const again = this.asked === id && this.reason === reason;
    const isAsked = () => this.asked === id && this.reason === reason;
    Object.assign(this, { asked: id, reason });
    this.element.classList.add("open");
    put(this.heading, title);
    this.heading.title = title.length > 80 ? visible(title) : "";
    if (focus) this.heading.focus({ preventScroll: true });
    if (again) return;
    this.body.setAttribute("aria-busy", "true");
    try {
      const found = await load();
      if (isAsked()) this.body.replaceChildren(...this.draw(found));
    } catch (error) {
      if (isAsked()) this.body.replaceChildren(failure(error));
    } finally {
      this.body.removeAttribute("aria-busy");
    }
    this.body.scrollTop = 0;
  }
}

/** The content of the panel for a disclosed document. */
function parts({ id, kind, source, locator, body, metadata, files, note, origin, warning, corpus, why }) {
  const place = [source, locator && locator !== "whole" ? locator : ""].filter(Boolean).join(" · ");
  return [
    h(
      "dl",
      { class: "facts" },
      fact("Id", h("code", {}, id)),
      fact("Corpus", corpus),
      fact("Kind", kind),
      fact("From", place),
    ),
    note && h("p", { class: "notice" }, icon("warn"), note),
    origin && h("p", { class: "notice" }, icon("warn"), `From ${origin}. ${warning}`),
    why && [h("h3", {}, "Why this rank"), h("dl", { class: "facts why" }, explained(why))],
    h("h3", {}, "Body"),
    h("pre", { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": "Body" }, body || "(empty)"),
    Object.keys(metadata).length > 0 && [h("h3", {}, "Metadata"), tree(metadata)],
    files.length > 0 && [
      h("h3", {}, `Bundled files (${files.length})`),
      h(
        "ul",
        { class: "files" },
        files.map((file) => h("li", {}, icon("file"), h("code", {}, file))),
      ),
    ],
  ]
    .flat()
    .filter(Boolean);
}

function explained(why) {
  const place = why.rank ? `${why.rank} of ${counted(why.looked_at, "candidate")}` : `not in the top ${why.looked_at}`;
  const { learned = 0, ...others } = why.signals;
  const signals = Object.entries(others).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const change = `${learned < 0 ? "−" : "+"}${Math.abs(learned).toFixed(2)}`;
  return [
    fact("Rank", place),
    fact("Score", why.score !== null && `${why.score.toFixed(3)} (${signals.join(", ")})`),
    fact("Learned", !change.endsWith("0.00") && `from earlier use: ${change}`),
    causes(why),
  ];
}

export const fact = (name, value) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value));

/** Metadata as nested lists. */
function tree(value) {
  if (value === null || typeof value !== "object") return h("span", {}, String(value));
  if (Array.isArray(value) && value.every((one) => one === null || typeof one !== "object"))
    return h("span", {}, value.join(", "));
  return h(
    "dl",
    { class: "tree" },
    Object.entries(value).map(([name, inner]) => h("div", {}, h("dt", {}, name), h("dd", {}, tree(inner)))),
  );
}
