// Markdown as a tree of elements. Text of documents becomes text alone: HTML stays text, images become links, and
// nothing loads. No DOM access, except in `drawTrees`.

import { h } from "../core/dom.js";

/** @import { Attributes, Child } from "../core/dom.js" */
/** @import { Span } from "../core/types.js" */
/** @typedef {Branch | Child | Tree[]} Tree an element that is not created yet, or what it contains */

/**
 * What is inserted into a text: `ranges` become elements, and `nodes` replace the character at their position.
 * @typedef {{ nodes?: Map<number, Child>, ranges?: [start: number, end: number, tag: keyof HTMLElementTagNameMap][] }} Inserts
 */

/** @typedef {(start: number, end: number) => Tree[]} Splitter */

// Stands for an element if `nodes` has one for its position. Documents may contain this character, too.
export const NODE = "\ue000";

const MAX_MARKERS = 20; // that are open; the first of more stays text
const MAX_LIST_DEPTH = 6;
const FENCE = /^\s{0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^\s{0,3}#{1,6}\s+(?=\S)/;
const ITEM = /^(\s*)(?:[-*+•]|(\d{1,3})[.)])(?:\s+|$)/;
const FIRST_ITEM = /^\s*(?:[-*+•]|0?1[.)])\s/;
const ROW = /^\s*\|.*\|/;
const ROW_RULE = /^[\s|:]*-[\s|:-]*$/;
const RULE = /^([-*_])(\s*\1){2,}$/;
const TOKEN = /\\[!-/:-@[-`{-~]|`+|\*+|_+|~~|!?\[|\]/g;
const TARGET = /\(([^\s()<>\ue000]{1,2000})\)/y;
/** @type {Record<string, (keyof HTMLElementTagNameMap)[]>} */
const TAGS = { "*": ["em"], "**": ["strong"], "***": ["em", "strong"], _: ["em"], __: ["strong"], "~~": ["del"] };
const SCHEMES = ["http:", "https:", "mailto:"];

/** An element that is not created yet. */
export class Branch {
  /**
   * @param {keyof HTMLElementTagNameMap} tag
   * @param {Attributes} attributes
   * @param {Tree[]} children
   */
  constructor(tag, attributes, children) {
    this.tag = tag;
    this.attributes = attributes;
    this.children = children;
  }
}

/**
 * @param {keyof HTMLElementTagNameMap} tag
 * @param {Attributes} attributes
 * @param {...Tree} children
 */
const branch = (tag, attributes, ...children) => new Branch(tag, attributes, children);

/**
 * Creates the elements of trees.
 *
 * @param {Tree} tree
 * @returns {Child}
 */
export function drawTrees(tree) {
  if (Array.isArray(tree)) return tree.map(drawTrees);
  return tree instanceof Branch ? h(tree.tag, tree.attributes, drawTrees(tree.children)) : tree;
}

/**
 * Creates the elements of a text.
 *
 * @param {string} text
 * @param {Inserts} [inserts] whose positions are those in the text with its Markdown
 * @returns {HTMLElement[]}
 */
export const markdown = (text, inserts) => /** @type {HTMLElement[]} */ (parseMarkdown(text, inserts).map(drawTrees));

/**
 * Parses a text.
 *
 * @param {string} text
 * @param {Inserts} [inserts]
 * @returns {Branch[]}
 */
export const parseMarkdown = (text, inserts) => new Parser(text, inserts).parse();

/**
 * Returns a function for the parts of a text between two positions.
 *
 * @param {string} text
 * @param {Inserts} [inserts]
 * @returns {Splitter}
 */
export function createSplitter(text, { nodes = new Map(), ranges = [] } = {}) {
  const bounds = [
    0,
    ...ranges.flatMap((range) => range.slice(0, 2).map(Number)),
    ...[...nodes.keys()].flatMap((at) => [at, at + 1]),
  ];
  const cuts = [...new Set(bounds)].sort((cut, other) => cut - other);
  const tags = cuts.map((at) => ranges.filter(([start, end]) => start <= at && at < end).map(([, , tag]) => tag));
  let cut = 0; // of the last part, which is mostly close to the next one
  return (start, end) => {
    /** @type {Tree[]} */
    const parts = [];
    for (let at = start; at < end; ) {
      while (cuts[cut] > at) cut -= 1;
      while (cuts[cut + 1] <= at) cut += 1;
      const next = Math.min(end, cuts[cut + 1] ?? end);
      parts.push(wrap(tags[cut], nodes.get(at) ?? text.slice(at, next)));
      at = next;
    }
    return parts;
  };
}

/**
 * @param {(keyof HTMLElementTagNameMap)[]} tags the outermost first
 * @param {Tree} content
 * @returns {Tree}
 */
const wrap = (tags, content) => tags.reduceRight((inner, tag) => branch(tag, {}, inner), content);

/** @param {string} line */
const interrupts = (line) =>
  [FENCE, HEADING, ROW, FIRST_ITEM].some((block) => block.test(line)) || RULE.test(line.trim());

class Parser {
  /**
   * @param {string} text
   * @param {Inserts} [inserts]
   */
  constructor(text, inserts) {
    this.text = text;
    this.split = createSplitter(text, inserts);
  }

  parse() {
    const lines = [...this.text.matchAll(/[^\n]+|(?<=\n)(?=\n)/g)];
    return this.#parseBlocks(
      lines.map(({ 0: line, index }) => [index, index + line.length - (line.endsWith("\r") ? 1 : 0)]),
      0,
    );
  }

  /**
   * @param {Span[]} lines the start and end of each
   * @param {number} depth of the list around them
   * @returns {Branch[]}
   */
  #parseBlocks(lines, depth) {
    /** @type {Branch[]} */
    const blocks = [];
    for (let at = 0; at < lines.length; ) at = this.#parseBlock(lines, at, depth, blocks);
    return blocks;
  }

  /**
   * Adds the block that begins at a line, and returns the line after it.
   *
   * @param {Span[]} lines
   * @param {number} at
   * @param {number} depth
   * @param {Branch[]} blocks
   */
  #parseBlock(lines, at, depth, blocks) {
    const [start, end] = lines[at];
    const line = this.text.slice(start, end);
    const fence = FENCE.exec(line);
    if (fence) return this.#parseCode(lines, at, fence, blocks);
    const heading = HEADING.exec(line);
    const item = depth < MAX_LIST_DEPTH ? ITEM.exec(line) : null;
    if (RULE.test(line.trim())) blocks.push(branch("hr", {}));
    else if (heading) {
      const title = this.#parseInline(start + heading[0].length, end);
      blocks.push(branch("p", {}, branch("strong", {}, title)));
    } else if (ROW.test(line)) {
      const next = this.#findLine(lines, at + 1, (other) => !ROW.test(other));
      blocks.push(this.#parseTable(lines.slice(at, next)));
      return next;
    } else if (item) return this.#parseItem(lines, at, item, depth, blocks);
    else if (line.trim()) {
      const next = this.#findLine(lines, at + 1, (other) => !other.trim() || interrupts(other));
      blocks.push(branch("p", {}, this.#parseInline(start, lines[next - 1][1])));
      return next;
    }
    return at + 1;
  }

  /**
   * The first line from this one on that ends a block.
   *
   * @param {Span[]} lines
   * @param {number} at
   * @param {(line: string) => boolean} isEnd
   */
  #findLine(lines, at, isEnd) {
    let next = at;
    while (next < lines.length && !isEnd(this.text.slice(...lines[next]))) next += 1;
    return next;
  }

  /**
   * @param {Span[]} lines
   * @param {number} at
   * @param {RegExpExecArray} fence
   * @param {Branch[]} blocks
   */
  #parseCode(lines, at, [, marker, info], blocks) {
    const [, end] = lines[at];
    const next = this.#findLine(
      lines,
      at + 1,
      (line) => line.trim().startsWith(marker) && FENCE.exec(line)?.[2].trim() === "",
    );
    const code = lines.slice(at + 1, next).flatMap((range) => [...this.split(...range), "\n"]);
    const language = info.trim() && branch("span", {}, this.split(end - info.length, end), "\n");
    blocks.push(branch("pre", {}, language, branch("code", {}, code)));
    return next + 1;
  }

  /**
   * Adds an item to the list before it, or to a new one.
   *
   * @param {Span[]} lines
   * @param {number} at
   * @param {RegExpExecArray} item
   * @param {number} depth
   * @param {Branch[]} blocks
   */
  #parseItem(lines, at, [marker, indent, number], depth, blocks) {
    const [start, end] = lines[at];
    /** @type {Span[]} */
    const own = [[start + marker.length, end]];
    let next = at + 1;
    for (let isLazy = true; next < lines.length; next += 1) {
      const line = this.text.slice(...lines[next]);
      const spaces = line.search(/\S|$/);
      const isEmpty = !line.trim();
      const isInside = isEmpty || spaces >= indent.length + 2;
      if (!isInside && (!isLazy || interrupts(line) || ITEM.test(line))) break;
      isLazy = !isEmpty;
      own.push([lines[next][0] + Math.min(spaces, marker.length), lines[next][1]]);
    }
    const tag = number ? "ol" : "ul";
    if (blocks.at(-1)?.tag !== tag) blocks.push(branch(tag, {}));
    blocks.at(-1)?.children.push(branch("li", { value: number }, this.#parseBlocks(own, depth + 1)));
    return next;
  }

  /** @param {Span[]} rows */
  #parseTable(rows) {
    const isRule = (/** @type {Span} */ row) => ROW_RULE.test(this.text.slice(...row));
    const hasHead = rows.length > 1 && isRule(rows[1]);
    const filled = rows
      .filter((row) => !isRule(row))
      .map((row, at) => {
        const tag = hasHead && at === 0 ? "th" : "td";
        return branch("tr", {}, ...this.#parseCells(row).map((content) => branch(tag, {}, content)));
      });
    const region = { class: "wide", tabindex: "0", role: "region", "aria-label": "Table" };
    return branch("div", region, branch("table", {}, filled));
  }

  /**
   * The cells of a row. Elements after its last bar belong to its last cell.
   *
   * @param {Span} row
   * @returns {Tree[][]}
   */
  #parseCells([start, end]) {
    const found = [...this.text.slice(start, end).matchAll(/\\.|\|/g)].filter(([bar]) => bar === "|");
    const bars = found.map(({ index }) => start + index);
    const cells = bars.slice(1).map((bar, at) => this.#parseInline(bars[at] + 1, bar));
    const rest = this.text.slice((bars.at(-1) ?? start - 1) + 1, end);
    const last = cells.at(-1);
    if (last && !rest.replaceAll(NODE, "").trim()) last.push(...this.split(end - rest.length, end));
    else cells.push(this.#parseInline(end - rest.length, end));
    return cells;
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  #parseInline(start, end) {
    return new InlineParser(this.text, this.split, start, end).parse();
  }
}

/** @typedef {{ mark: string, at: number, parts: Tree[], size: number }} Marker */

/** The parts of a text with emphasis, code and links. A marker without its counterpart stays text. */
class InlineParser {
  /**
   * @param {string} text
   * @param {Splitter} split
   * @param {number} start
   * @param {number} end
   */
  constructor(text, split, start, end) {
    this.text = text;
    this.split = split;
    this.start = start;
    this.end = end;
    // Markers without a counterpart so far, each with the parts that follow it. The first has no marker.
    /** @type {Marker[]} */
    this.open = [{ mark: "", at: start, size: 0, parts: [] }];
    // Where runs of backticks of each length begin, the last first.
    /** @type {Map<number, number[]>} */
    this.backticks = new Map();
    for (const { 0: run, index } of [...text.slice(start, end).matchAll(/`+/g)].reverse()) {
      const places = this.backticks.get(run.length);
      if (places) places.push(start + index);
      else this.backticks.set(run.length, [start + index]);
    }
  }

  parse() {
    const { text, start, end, open } = this;
    let last = start;
    TOKEN.lastIndex = start;
    for (let token = TOKEN.exec(text); token && token.index < end; token = TOKEN.exec(text)) {
      const at = token.index;
      const mark = token[0].slice(0, end - at);
      this.#put(last, at);
      last = this.#parseMark(mark, at);
      TOKEN.lastIndex = last;
    }
    this.#put(last, end);
    while (open.length > 1) this.#keepAsText(/** @type {Marker} */ (open.pop()), this.#top);
    return open[0].parts;
  }

  get #top() {
    return this.open[this.open.length - 1];
  }

  /**
   * Adds a marker or what it stands for, and returns the position after it.
   *
   * @param {string} mark
   * @param {number} at
   */
  #parseMark(mark, at) {
    const after = at + mark.length;
    if (mark[0] === "\\") this.#put(after - 1, after);
    else if (mark[0] === "`") return this.#parseCode(mark, at);
    else if (mark.endsWith("[")) this.#begin(mark, at);
    else if (mark === "]") return this.#parseLinkEnd(at);
    else this.#parseEmphasis(mark, at);
    return after;
  }

  /**
   * @param {string} mark
   * @param {number} at
   */
  #parseCode(mark, at) {
    const after = at + mark.length;
    const runs = this.backticks.get(mark.length) ?? [];
    while (runs.length && runs[runs.length - 1] <= at) runs.pop();
    const to = runs.at(-1);
    if (to === undefined) {
      this.#put(at, after);
      return after;
    }
    this.#top.parts.push(branch("code", {}, this.split(after, to)));
    return to + mark.length;
  }

  /** @param {number} at */
  #parseLinkEnd(at) {
    const after = at + 1;
    const index = this.open.findLastIndex(({ mark }) => mark.endsWith("["));
    TARGET.lastIndex = after;
    const target = index > 0 ? TARGET.exec(this.text) : null;
    const url = target && TARGET.lastIndex <= this.end ? parseUrl(target[1]) : null;
    const next = url ? TARGET.lastIndex : after;
    if (url) this.#close(index, (parts) => drawLink(url, parts));
    else this.#put(at, after);
    for (const marker of this.open.slice(url ? 0 : index)) if (marker.mark.endsWith("[")) marker.mark = ""; // no link in a link
    return next;
  }

  /**
   * @param {string} mark
   * @param {number} at
   */
  #parseEmphasis(mark, at) {
    const after = at + mark.length;
    const before = at > this.start ? this.text[at - 1] : " ";
    const behind = after < this.end ? this.text[after] : " ";
    const canClose = /\S/.test(before) && /[\W_]/.test(behind);
    const index = canClose ? this.open.findLastIndex((marker) => marker.mark === mark) : -1;
    if (index > 0) this.#close(index, (parts) => wrap(TAGS[mark], parts));
    else if (TAGS[mark] && /[\W_]/.test(before) && /\S/.test(behind)) this.#begin(mark, at);
    else this.#put(at, after);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #put(from, to) {
    this.#top.parts.push(this.split(from, to));
  }

  /**
   * Adds a marker without a counterpart, and what follows it, to the one below it.
   *
   * @param {Marker} marker
   * @param {Marker} below
   */
  #keepAsText({ at, size, parts }, below) {
    below.parts.push(this.split(at, at + size), parts);
  }

  /**
   * @param {string} mark
   * @param {number} at
   */
  #begin(mark, at) {
    const { open } = this;
    open.push({ mark, at, size: mark.length, parts: [] });
    if (open.length > MAX_MARKERS) this.#keepAsText(open.splice(1, 1)[0], open[0]);
  }

  /**
   * Replaces an open marker and what follows it.
   *
   * @param {number} index
   * @param {(parts: Tree[]) => Tree} draw
   */
  #close(index, draw) {
    const { open } = this;
    while (open.length > index + 1) this.#keepAsText(/** @type {Marker} */ (open.pop()), this.#top);
    const { parts } = /** @type {Marker} */ (open.pop());
    this.#top.parts.push(draw(parts));
  }
}

/** @param {string} target */
function parseUrl(target) {
  const url = URL.canParse(target) ? new URL(target) : null;
  return url && SCHEMES.includes(url.protocol) ? url : null;
}

/**
 * A link with the host that it leads to, whatever its text says.
 *
 * @param {URL} url
 * @param {Tree[]} parts
 * @returns {Tree}
 */
const drawLink = ({ href, hostname, pathname }, parts) => [
  branch(
    "a",
    { href, title: href, target: "_blank", rel: "noopener noreferrer nofollow" },
    isEmpty(parts) ? "link" : parts,
  ),
  branch("span", { class: "host" }, ` (${hostname || pathname})`),
];

/** @param {Tree[]} parts */
const isEmpty = (parts) => /** @type {unknown[]} */ (parts).flat(Number.POSITIVE_INFINITY).length === 0;
