// The panel of a document: why it has its rank, its body, metadata and bundled files.

import { fact, h } from "./dom.js";
import { rankFacts } from "./explanation.js";
import { icon } from "./icons.js";
import { Panel } from "./panel.js";

/** @import { Disclosure, Explanation } from "./types.js" */
/** @typedef {Disclosure & { why?: Explanation }} ShownDocument */

/**
 * @param {(id: string | null) => void} onClose
 * @returns {Panel<string, ShownDocument>}
 */
export const createDocumentPanel = (onClose) =>
  new Panel({
    name: "Document",
    draw: drawDocument,
    rest: ["No document selected", "Select a result to read it as an agent would."],
    onClose,
  });

/**
 * @param {ShownDocument} document
 * @returns {Node[]}
 */
function drawDocument({ id, kind, source, locator, body, metadata, files, note, origin, warning, corpus, why }) {
  const place = [source, locator && locator !== "whole" ? locator : ""].filter(Boolean).join(" · ");
  const parts = [
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
    why && [h("h3", {}, "Why this rank"), h("dl", { class: "facts why" }, rankFacts(why))],
    h("h3", {}, "Body"),
    h("pre", { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": "Body" }, body || "(empty)"),
    Object.keys(metadata).length > 0 && [h("h3", {}, "Metadata"), metadataTree(metadata)],
    files.length > 0 && [
      h("h3", {}, `Bundled files (${files.length})`),
      h(
        "ul",
        { class: "files" },
        files.map((file) => h("li", {}, icon("file"), h("code", {}, file))),
      ),
    ],
  ];
  return parts.flat().filter((part) => part instanceof Node);
}

/**
 * Metadata as nested lists.
 *
 * @param {unknown} value
 * @returns {HTMLElement}
 */
function metadataTree(value) {
  if (value === null || typeof value !== "object") return h("span", {}, String(value));
  if (Array.isArray(value) && value.every((item) => item === null || typeof item !== "object"))
    return h("span", {}, value.join(", "));
  return h(
    "dl",
    { class: "tree" },
    Object.entries(value).map(([name, inner]) => h("div", {}, h("dt", {}, name), h("dd", {}, metadataTree(inner)))),
  );
}
