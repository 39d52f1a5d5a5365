import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRetrieval } from "../../../src/shortlist/server/web/compat/softmax.js";

const document = (id, share, score) => ({ id, title: "", content: "", softmax_score: share, bm25_score: score });
const found = {
  success: true,
  message: "",
  documents: [document("a", 0.7, 9), document("b", 0.2, 5), document("c", 0.0001, 1)],
  total_retrieved: 3,
};

test("documents at or above the cutoff are selected", () => {
  const outcome = describeRetrieval(found, { q: "refund", cutoff: 20, temperature: 0.5 });
  assert.deepEqual(
    outcome.rows.map(({ id, isSelected }) => [id, isSelected]),
    [
      ["a", true],
      ["b", true],
      ["c", false],
    ],
  );
  assert.equal(outcome.reason, "Selected 2 of 3 candidates: each has at least 20 % of the softmax at temperature 0.5.");
  assert.deepEqual(outcome.gauges[0].lines, [{ at: 0.2, name: "cutoff 20 %" }]);
});

test("without a selected document the best one is named", () => {
  const { reason, selected } = describeRetrieval(found, { q: "refund", cutoff: 90, temperature: 1 });
  assert.equal(selected, 0);
  assert.equal(reason, "None of 3 candidates has 90 % of the softmax at temperature 1; the best, a, has 70.0 %.");
});

test("a small share is not shown as zero", () => {
  const { gauges } = describeRetrieval(found, { q: "", cutoff: 10, temperature: 1 });
  assert.deepEqual([0, 0.0001, 0.123, 0.9999].map(gauges[0].format), ["0.0 %", "< 0.1 %", "12.3 %", "100 %"]);
});

test("the scale fits the best share and the cutoff", () => {
  const scale = (cutoff) => describeRetrieval(found, { q: "", cutoff, temperature: 1 }).gauges[0].scale;
  assert.deepEqual(
    [scale(10), scale(80)].map((value) => value.toFixed(6)),
    ["0.800000", "1.000000"],
  );
});

test("words are marked as texts usually write them", () => {
  const { rows } = describeRetrieval(found, { q: "reFund a-b", cutoff: 10, temperature: 1 });
  assert.deepEqual(rows[0].matched, ["reFund", "refund", "Refund", "a", "a", "A", "b", "b", "B"]);
});

test("an answer that failed has the message of the service", () => {
  const outcome = describeRetrieval({ success: false, message: "No words." }, { q: "", cutoff: 10, temperature: 1 });
  assert.deepEqual([outcome.rows, outcome.reason], [[], "No words."]);
});
