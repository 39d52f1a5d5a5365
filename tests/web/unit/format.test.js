import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration, formatLanguages } from "../../../src/shortlist/server/web/admin/status.js";
import { visible } from "../../../src/shortlist/server/web/core/dom.js";
import { formatBytes, formatCount, formatNumber, roundUp } from "../../../src/shortlist/server/web/core/format.js";

test("a count has the singular only for one", () => {
  const counts = [0, 1, 2, 12_345].map((count) => formatCount(count, "document"));
  assert.deepEqual(counts, ["0 documents", "1 document", "2 documents", "12,345 documents"]);
});

test("numbers have at most the given decimals", () => {
  assert.equal(formatNumber(1 / 3), "0.33");
  assert.equal(formatNumber(1 / 3, 0), "0");
  assert.equal(formatNumber(2), "2");
});

test("bytes have the unit of their size", () => {
  assert.deepEqual([1023, 1024, 1536, 1024 ** 2 * 2.5].map(formatBytes), ["1023 B", "1 KB", "1.5 KB", "2.5 MB"]);
});

test("a scale ends at the next round number", () => {
  assert.deepEqual(
    [0.07, 0.1, 1, 1.01, 7, 99, 101].map((value) => roundUp(value)),
    [0.08, 0.1, 1, 1.5, 8, 100, 150],
  );
  assert.deepEqual(
    [0, -1, Number.NaN].map((value) => roundUp(value)),
    [1, 1, 1],
  );
});

test("a duration has its two largest units", () => {
  const seconds = [0.4, 59, 61, 3_600, 90_061];
  assert.deepEqual(seconds.map(formatDuration), ["0 s", "59 s", "1 min 1 s", "1 h 0 min", "1 d 1 h"]);
});

test("invisible characters are shown as codes, and joiners of other scripts stay", () => {
  assert.equal(visible("a\u202eb\u200bc"), "a[U+202E]b[U+200B]c");
  assert.equal(visible("a\u200db"), "a[U+200D]b");
  assert.equal(visible("👩\u200d🚀 می\u200cخواهم\n\tx"), "👩\u200d🚀 می\u200cخواهم\n\tx");
});

test("languages have names and shares, and rare ones are counted", () => {
  assert.equal(formatLanguages({}), "–");
  assert.equal(formatLanguages({ de: 3 }), "German");
  assert.equal(formatLanguages({ he: 300, en: 100, zh: 1 }), "Hebrew 75 %, English 25 %, Chinese <1 %");
  assert.equal(
    formatLanguages({ de: 1, en: 1, fr: 1, ru: 1, xx: 1 }),
    "German 20 %, English 20 %, French 20 %, 2 more",
  );
});
