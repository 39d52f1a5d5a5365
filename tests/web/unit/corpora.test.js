import assert from "node:assert/strict";
import { test } from "node:test";
import { preferCorpus, shortenNames } from "../../../src/shortlist/server/web/core/corpora.js";

/**
 * @param {string} name
 * @param {number | null} documents
 * @returns {any}
 */
const corpus = (name, documents) => ({ name, documents, served: name === "catalog" });

test("the catalog is preferred unless it is empty and another corpus is not", () => {
  const [full, empty, notes, unbuilt] = [
    corpus("catalog", 3),
    corpus("catalog", 0),
    corpus("notes", 2),
    corpus("x", null),
  ];
  assert.equal(preferCorpus([notes, full]), full);
  assert.equal(preferCorpus([empty, unbuilt, notes]), notes);
  assert.equal(preferCorpus([unbuilt, empty]), empty);
  assert.equal(preferCorpus([notes, empty], "catalog"), empty);
  assert.equal(preferCorpus([full, unbuilt, notes], "x"), full);
});

test("a corpus from a path is shown by the last part of the path, if only one has it", () => {
  const names = ["shop", "docs:/home/ana/docs", "tools:C:\\work\\tools.yaml", "docs:/a/notes", "docs:/b/notes"];
  assert.deepEqual(shortenNames(names), ["shop", "docs", "tools.yaml", "docs:/a/notes", "docs:/b/notes"]);
});
