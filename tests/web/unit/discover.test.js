import assert from "node:assert/strict";
import { test } from "node:test";
import { describeDiscovery, discoverView } from "../../../src/shortlist/server/web/search/discover.js";
import { DEFAULTS } from "../../../src/shortlist/server/web/search/query.js";
import { cutExcerpt } from "../../../src/shortlist/server/web/search/results.js";
import { sampleQuery } from "../../../src/shortlist/server/web/search/samples.js";

const hit = (id, score, selected) => ({
  id,
  name: id,
  text: "",
  matched: [],
  selected,
  relevance: score,
  score,
  signals: { covered: 0.5, dense: score },
});
const found = {
  candidates: [hit("a", 0.8, true), hit("b", 0.3, false)],
  abstained: false,
  reason: "Selected 1 of 2.",
  mode: "auto",
  line: null,
  signals: { min_relevance: 0.26, top_score: 0.8, unknown_words: [], try: [] },
};

test("relevance has a fixed scale, and scores are shown only where they decide", () => {
  const { gauges, rows, selected } = describeDiscovery(found, DEFAULTS);
  assert.deepEqual(
    gauges.map(({ key, scale }) => [key, scale]),
    [
      ["relevance", 1],
      ["keyword", 1],
      ["semantic", 1],
    ],
  );
  assert.deepEqual(gauges[0].lines, [{ at: 0.26, name: "threshold 0.26", isThreshold: true }]);
  assert.deepEqual([rows.length, selected], [2, 1]);
});

test("a discovery with low confidence says why it is not sure", () => {
  const low = { ...found, confidence: "low", confidence_reason: "a may fit: its relevance is 0.34." };
  assert.equal(describeDiscovery(low, DEFAULTS).doubt, "a may fit: its relevance is 0.34.");
  const high = { ...low, confidence: "high", confidence_reason: "The relevance of a is 0.80." };
  assert.equal(describeDiscovery(high, DEFAULTS).doubt, "");
});

test("a strategy draws a line through the scores, with its name", () => {
  const line = 0.9 * 0.8;
  const { gauges } = describeDiscovery({ ...found, line }, { ...DEFAULTS, strategy: "conservative" });
  assert.deepEqual(gauges[1].lines, [{ at: line, name: "90 % of best" }]);
  assert.equal(gauges[1].scale, 1); // a blend of two scores ends at 1
  const unnamed = describeDiscovery({ ...found, line: 0.4 }, DEFAULTS);
  assert.equal(unnamed.gauges[1].lines[0].name, "50 % of best");
});

test("scores of BM25 have a scale that ends at a round number", () => {
  const lexical = {
    ...found,
    mode: "lexical",
    candidates: [hit("a", 7.2, true)],
    line: 5,
    signals: { ...found.signals, top_score: 7.2 },
  };
  assert.equal(describeDiscovery(lexical, DEFAULTS).gauges[1].scale, 8);
});

test("a query is unknown if the service abstained before it compared a score", () => {
  const { top_score: _, ...signals } = found.signals;
  const abstained = {
    ...found,
    abstained: true,
    signals: { ...signals, unknown_words: ["xyzzy"], try: ["Try different terms."] },
  };
  const outcome = describeDiscovery(abstained, DEFAULTS);
  assert.equal(outcome.isUnknown, true);
  assert.equal(outcome.reason, "Selected 1 of 2. Try different terms.");
  assert.equal(describeDiscovery({ ...found, abstained: true }, DEFAULTS).isUnknown, false);
});

test("the controls are those that the strategy takes", () => {
  const controls = discoverView.listControls({ ...DEFAULTS, strategy: "top_k" });
  assert.deepEqual(controls, ["filters", "mode", "k", "strategy", "max_k", "min_relevance"]);
});

test("an excerpt starts shortly before the first matched word", () => {
  const text = `${"word ".repeat(60)}refund_payment of a customer`;
  assert.match(cutExcerpt(text, ["refund"]), /^… (word )+refund_payment of a customer$/);
  assert.equal(cutExcerpt(text, ["nothing"]), text);
  assert.equal(cutExcerpt("refund it", ["refund"]), "refund it");
});

test("a sample query is a task that a tool does, or what a text is about", () => {
  const tools = [
    { kind: "tool", title: "x", content: "Short." },
    { kind: "tool", title: "y", content: "Fetch one customer's record by customer id or e-mail address." },
  ];
  assert.equal(sampleQuery(tools), "I need to fetch one customer's record");
  assert.equal(sampleQuery([{ kind: "tool", title: "refund_a_payment", content: "The refund." }]), "refund a payment");
  assert.equal(
    sampleQuery([{ kind: "file", title: "travel-policy.md", content: "Send money home." }]),
    "travel policy",
  );
  assert.equal(sampleQuery([]), "");
});
