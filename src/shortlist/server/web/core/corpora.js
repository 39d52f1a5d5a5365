// The select box of a corpus.

import { h } from "./dom.js";

/** @import { Corpus } from "./types.js" */

/**
 * The options of the select box; a corpus that was never built is disabled.
 *
 * @param {Corpus[]} corpora
 */
export function corpusOptions(corpora) {
  return corpora.map(({ name, documents }) =>
    h(
      "option",
      { value: name, disabled: documents === null },
      `${name} (${documents === null ? "not built" : documents.toLocaleString("en")})`,
    ),
  );
}

/**
 * Chooses the corpus with this name, or else the catalog.
 *
 * @param {Corpus[]} corpora
 * @param {string} [name]
 * @returns {Corpus}
 */
export function preferCorpus(corpora, name) {
  const named = corpora.find((corpus) => corpus.name === name && corpus.documents !== null);
  return named ?? corpora.find((corpus) => corpus.served) ?? corpora[0];
}
