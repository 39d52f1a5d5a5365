import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, readAddress } from "../../../src/shortlist/server/web/core/route.js";

test("an address has a tab and its parameters", () => {
  assert.deepEqual(readAddress("#/search?q=refund+a%26b&k=7"), { tab: "search", params: { q: "refund a&b", k: "7" } });
  assert.deepEqual(readAddress("#/ask"), { tab: "ask", params: {} });
});

test("what is not an address has no tab", () => {
  for (const hash of ["", "#main", "#/Search", "#/a/b"]) assert.deepEqual(readAddress(hash), { tab: "", params: {} });
});

test("empty parameters are left out, and zero and false are not", () => {
  const params = { q: "", k: 0, on: false, none: null, missing: undefined };
  assert.equal(formatAddress("search", params), "#/search?k=0&on=false");
  assert.equal(formatAddress("ask"), "#/ask");
});

test("an address is read as it was written", () => {
  const params = { q: "a b+c&d=é 🚢", filters: '[["a","b"]]' };
  assert.deepEqual(readAddress(formatAddress("search", params)).params, params);
});
