import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAnswer } from "../../../src/shortlist/server/web/ask/copy.js";
import { formatSource } from "../../../src/shortlist/server/web/ask/passage.js";

const passage = (number, label, locator) => ({ number, label, locator, marker: `[${label}]` });
const cited = (number, marker) => ({ number, marker, source: "", spans: [], places: [] });

test("an answer is copied with numbers, and with its cited sources", () => {
  const evidence = [passage(1, "a.md", "whole"), passage(2, "b.pdf", "page=3"), passage(3, "c.md", "whole")];
  const sentences = [{ citations: [cited(2, "[b.pdf]")] }, { citations: [cited(1, "[a.md]"), cited(2, "[b.pdf]")] }];
  const text = "It sails. [b.pdf] It sinks. [a.md][b.pdf]";
  assert.equal(
    formatAnswer({ text, sentences, evidence }),
    "It sails. [2] It sinks. [1][2]\n\n[1] a.md\n[2] b.pdf · page 3",
  );
});

test("a source has the place in words, or else the locator", () => {
  assert.equal(
    formatSource({ ...passage(1, "a.md", "offset=4817"), place: "Returns, line 12" }),
    "a.md · Returns, line 12",
  );
  assert.equal(formatSource(passage(1, "a.md", "row=2")), "a.md · row 2");
});
