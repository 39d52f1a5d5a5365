import assert from "node:assert/strict";
import { test } from "node:test";
import { findMarkers, findMissing } from "../../../src/shortlist/server/web/ask/answer.js";
import { Branch, NODE, parseMarkdown } from "../../../src/shortlist/server/web/ask/markdown.js";
import { formatPlace, isMarkdown, toUnits } from "../../../src/shortlist/server/web/ask/passage.js";
import { formatCall, mergeSpans } from "../../../src/shortlist/server/web/ask/turn.js";

/** A tree as text: <tag>content</tag>. */
function show(tree) {
  if (Array.isArray(tree)) return tree.map(show).join("");
  if (!(tree instanceof Branch)) return String(tree ?? "");
  return `<${tree.tag}>${show(tree.children)}</${tree.tag}>`;
}

const parse = (text, inserts) => show(parseMarkdown(text, inserts));

for (const [name, text, expected] of [
  ["a paragraph of two lines", "a\nb", "<p>a\nb</p>"],
  [
    "emphasis",
    "*a* **b** ***c*** ~~d~~ _e_",
    "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <del>d</del> <em>e</em></p>",
  ],
  ["an identifier", "a snake_case_name", "<p>a snake_case_name</p>"],
  ["a marker without a counterpart", "2 * 3 and *open", "<p>2 * 3 and *open</p>"],
  ["code", "`a*b*` ``c`d``", "<p><code>a*b*</code> <code>c`d</code></p>"],
  ["an escape", "\\*a\\*", "<p>*a*</p>"],
  ["a heading", "# Title", "<p><strong>Title</strong></p>"],
  ["a rule", "a\n\n---", "<p>a</p><hr></hr>"],
  ["nested lists", "1. a\n   - b\n2. c", "<ol><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ol>"],
  ["a code block", "```js\nx < y\n```\nz", "<pre><span>js\n</span><code>x < y\n</code></pre><p>z</p>"],
  [
    "a table",
    "|A|B|\n|-|-|\n|c|*d*|",
    "<div><table><tr><th>A</th><th>B</th></tr><tr><td>c</td><td><em>d</em></td></tr></table></div>",
  ],
  ["a link", "[a](https://x.org/b)", "<p><a>a</a><span> (x.org)</span></p>"],
  [
    "a link in a link",
    "[a [b](https://x.org) c](https://y.org)",
    "<p>[a <a>b</a><span> (x.org)</span> c](https://y.org)</p>",
  ],
  ["an image", "![a](https://x.org/b.png)", "<p><a>a</a><span> (x.org)</span></p>"],
  ["HTML", "<b>a</b> &lt; <script>", "<p><b>a</b> &lt; <script></p>"],
])
  test(`Markdown: ${name}`, () => assert.equal(parse(text), expected));

test("a link leads only to the web or to an address", () => {
  for (const target of ["javascript:alert(1)", "data:text/html,x", "file:///etc", "x.html", "//x.org"])
    assert.equal(parse(`[a](${target})`), `<p>[a](${target})</p>`);
  assert.equal(parse("[a](mailto:a@b.c)"), "<p><a>a</a><span> (a@b.c)</span></p>");
});

test("a link opens elsewhere and shows where it leads", () => {
  const [paragraph] = parseMarkdown("[a](https://x.org/b)");
  const link = paragraph.children.flat(Number.POSITIVE_INFINITY).find((part) => part instanceof Branch);
  assert.deepEqual(link.attributes, {
    href: "https://x.org/b",
    title: "https://x.org/b",
    target: "_blank",
    rel: "noopener noreferrer nofollow",
  });
});

test("ranges become elements, also across Markdown, and nodes replace a character", () => {
  assert.equal(parse("a *b* c", { ranges: [[0, 4, "mark"]] }), "<p><mark>a </mark><em><mark>b</mark></em> c</p>");
  assert.equal(parse(`a${NODE}b${NODE}`, { nodes: new Map([[1, "[1]"]]) }), `<p>a[1]b${NODE}</p>`);
});

test("spans of code points become units of JavaScript", () => {
  assert.deepEqual(
    toUnits("🚢⚓ a", [
      [0, 1],
      [1, 2],
      [3, 4],
    ]),
    [
      [0, 2],
      [2, 3],
      [4, 5],
    ],
  );
  assert.deepEqual(
    toUnits("ab", [
      [1, 1],
      [1, 9],
    ]),
    [],
  );
});

test("a locator is shown as a place", () => {
  assert.equal(formatPlace("page=3;offset=680"), "page 3, from character 680");
  assert.deepEqual(["whole", "row=2;offset=0", "x=1"].map(formatPlace), ["", "row 2", "x=1"]);
});

test("sources that are or were converted to Markdown are known by their names", () => {
  assert.deepEqual(["a.md", "B.DOCX", "c.html"].map(isMarkdown), [true, true, true]);
  assert.deepEqual(["a.txt", "md", "a.md.csv"].map(isMarkdown), [false, false, false]);
});

test("the longest marker at a place is found", () => {
  const known = [
    { marker: "[a]", number: 1 },
    { marker: "[a][b]", number: 2 },
  ];
  assert.deepEqual(
    findMarkers("x [a][b] [a]", known).map(({ start, end, cited }) => [start, end, cited.number]),
    [
      [2, 8, 2],
      [9, 12, 1],
    ],
  );
  assert.deepEqual(findMarkers("x", []), []);
});

test("a missing part is found as a whole, or else each of its parts", () => {
  assert.deepEqual(findMissing("Four masts, four sails", "four"), [
    [0, 4],
    [12, 16],
  ]);
  assert.deepEqual(findMissing("Two or ten", "two, ten"), [
    [0, 3],
    [7, 10],
  ]);
  assert.deepEqual(findMissing("fourteen", "four"), []);
  assert.deepEqual(findMissing("x", ""), []);
});

test("spans that overlap are merged", () => {
  assert.deepEqual(
    mergeSpans([
      [5, 8],
      [0, 2],
      [1, 3],
      [3, 4],
    ]),
    [
      [0, 4],
      [5, 8],
    ],
  );
});

test("a tool call shows its arguments, which may be a plain string", () => {
  assert.equal(formatCall({ tool: "search", arguments: { query: "a", k: 2 } }), 'search("a", 2)');
  assert.equal(formatCall({ tool: "search", arguments: "{bad" }), "search({bad)");
  assert.equal(formatCall({ tool: "list" }), "list()");
});
