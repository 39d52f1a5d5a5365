// The select box of a corpus, and what is shown if it is empty.

import { h } from "./dom.js";
import { empty } from "./messages.js";

/** @import { Corpus } from "./types.js" */

/**
 * The names of corpora as they are shown: of one that was built from a path, the last part, unless two are then alike.
 *
 * @param {string[]} names
 */
export function shortenNames(names) {
  const short = names.map((name) => name.replace(/^\w+:.*[\\/](?=[^\\/])/, ""));
  return names.map((name, at) => (short.indexOf(short[at]) === short.lastIndexOf(short[at]) ? short[at] : name));
}

/**
 * The options of the select box; a corpus that was never built is disabled.
 *
 * @param {Corpus[]} corpora
 */
export function corpusOptions(corpora) {
  const shown = shortenNames(corpora.map(({ name }) => name));
  return corpora.map(({ name, documents }, at) =>
    h(
      "option",
      { value: name, title: name, disabled: documents === null },
      `${shown[at]} (${documents === null ? "not built" : documents.toLocaleString("en")})`,
    ),
  );
}

/**
 * Chooses the corpus with this name, or else the catalog, or one that has documents if the catalog has none.
 *
 * @param {Corpus[]} corpora
 * @param {string} [name]
 * @returns {Corpus}
 */
export function preferCorpus(corpora, name) {
  const named = corpora.find((corpus) => corpus.name === name && corpus.documents !== null);
  const catalog = corpora.find((corpus) => corpus.served);
  return named ?? (catalog?.documents ? catalog : corpora.find((corpus) => corpus.documents)) ?? catalog ?? corpora[0];
}

/**
 * The placeholder for an empty corpus, with the way to fill it.
 *
 * @param {Corpus} corpus
 * @param {...import("./dom.js").Child} more
 */
export const emptyCorpus = ({ name, served }, ...more) =>
  served
    ? empty("documents", "This corpus is empty", "Add documents in the Documents tab, or drop files there.", ...more)
    : empty(
        "documents",
        "This corpus is empty",
        h("p", {}, "Build it: ", h("code", {}, `shortlist build ${name}`)),
        ...more,
      );
