import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFields } from "../../../src/shortlist/server/web/documents/editor.js";

const TEXTS = { id: " a ", title: " A ", content: " text\n", keywords: "x, y ,,", metadata: "" };

test("fields become a document", () => {
  const document = { id: "a", title: "A", content: " text\n", keywords: ["x", "y"], metadata: {} };
  assert.deepEqual(parseFields(TEXTS), { document, errors: {} });
  assert.deepEqual(parseFields({ ...TEXTS, metadata: '{"a": [1]}' }).document.metadata, { a: [1] });
});

test("each field that is wrong has an error", () => {
  const wrong = (partial) => Object.keys(parseFields({ ...TEXTS, ...partial }).errors);
  assert.deepEqual(wrong({ id: " " }), ["id"]);
  assert.deepEqual(wrong({ id: ".." }), ["id"]);
  assert.deepEqual(wrong({ title: "", content: " " }), ["content"]);
  assert.deepEqual(wrong({ title: "" }), []);
  for (const metadata of ["{", "[1]", "null", '"a"', "1"])
    assert.deepEqual(wrong({ metadata }), ["metadata"], metadata);
});
