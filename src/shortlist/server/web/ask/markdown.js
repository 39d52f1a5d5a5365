// Markdown as elements. Text of documents becomes text nodes alone: HTML stays text, images become links, nothing loads.

import { h } from "../core/dom.js";

// Stands for an element if `nodes` has one for its position. Documents may contain this character, too.
export const NODE = "\ue000";

const DEEPEST = 20; // open markers; the first of more stays text
const DEEPEST_LIST = 6;
const FENCE = /^\s{0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^\s{0,3}#{1,6}\s+(?=\S)/;
const ITEM = /^(\s*)(?:[-*+•]|(\d{1,3})[.)])(?:\s+|$)/;
const FIRST_ITEM = /^\s*(?:[-*+•]|0?1[.)])\s/;
const ROW = /^\s*\|.*\|/;
const ROW_RULE = /^[\s|:]*-[\s|:-]*$/;
const RULE = /^([-*_])(\s*\1){2,}$/;
const TOKEN = /\\[!-/:-@[-`{-~]|`+|\*+|_+|~~|!?\[|\]/g;
const TARGET = /\(([^\s()<>\ue000]{1,2000})\)/y;
const TAGS = { "*": ["em"], "**": ["strong"], "***": ["em", "strong"], _: ["em"], __: ["strong"], "~~": ["del"] };
const SCHEMES = ["http:", "https:", "mailto:"];

const interrupts = (line) =>
  [FENCE, HEADING, ROW, FIRST_ITEM].some((block) => block.test(line)) || RULE.test(line.trim());

/** A function for the parts of a text: `ranges` ([start, end, tag]) become elements, `nodes` replace one character. */
export function splitter(text, { nodes = new Map(), ranges = [] } = {}) {
  const bounds = [0, ...ranges.flatMap((one) => one.slice(0, 2)), ...[...nodes.keys()].flatMap((at) => [at, at + 1])];
  const cuts = [...new Set(bounds)].sort((one, other) => one - other);
  const tags = cuts.map((at) => ranges.filter(([start, end]) => start <= at && at < end).map(([, , tag]) => tag));
  let cut = 0; // of the last part, which is mostly close to the next one
  return (start, end) => {
    const parts = [];
    for (let at = start; at < end; ) {
      while (cuts[cut] > at) cut -= 1;
      while (cuts[cut + 1] <= at) cut += 1;
      const next = Math.min(end, cuts[cut + 1] ?? end);
      parts.push(tags[cut].reduceRight((inner, tag) => h(tag, {}, inner), nodes.get(at) ?? text.slice(at, next)));
      at = next;
    }
    return parts;
  };
}

/** The elements of a text. The positions of `inserts` (see `splitter`) are those in the text with its Markdown. */
export function markdown(text, inserts) {
  const shown = splitter(text, inserts);
  const lines = [...text.matchAll(/[^\n]+|(?<=\n)(?=\n)/g)];
  return blocks(
    lines.map(({ 0: line, index }) => [index, index + line.length - line.endsWith("\r")]),
    0,
  );

  /** The blocks of lines, each of which is its start and end in the text. */
  function blocks(lines, depth) {
    const read = (at) => text.slice(...lines[at]);
    const made = [];
    for (let at = 0, next; at < lines.length; at = next) {
      const [line, [start, end]] = [read(at), lines[at]];
      const endAt = (ends) => {
        while (next < lines.length && !ends(read(next))) next += 1;
        return next;
      };
      const [fence, heading, item] = [FENCE.exec(line), HEADING.exec(line), depth < DEEPEST_LIST && ITEM.exec(line)];
      next = at + 1;
      if (fence) {
        endAt((other) => other.trim().startsWith(fence[1]) && FENCE.exec(other)?.[2].trim() === "");
        const code = lines.slice(at + 1, next).flatMap((range) => [...shown(...range), "\n"]);
        const info = fence[2].trim() && h("span", {}, shown(end - fence[2].length, end), "\n");
        made.push(h("pre", {}, info, h("code", {}, code)));
        next += 1;
      } else if (RULE.test(line.trim())) made.push(h("hr"));
      else if (heading) made.push(h("p", {}, h("strong", {}, inline(start + heading[0].length, end))));
      else if (ROW.test(line)) made.push(table(lines.slice(at, endAt((other) => !ROW.test(other)))));
      else if (item) {
        const own = [[start + item[0].length, end]];
        const base = item[1].length + 2;
        for (let isLazy = true; next < lines.length; next += 1) {
          const indent = /\S|$/.exec(read(next)).index;
          const isEmpty = !read(next).trim();
          if (!isEmpty && indent < base && (!isLazy || interrupts(read(next)) || ITEM.test(read(next)))) break;
          isLazy = !isEmpty;
          own.push([lines[next][0] + Math.min(indent, item[0].length), lines[next][1]]);
        }
        const tag = item[2] ? "ol" : "ul";
        const list = made.at(-1)?.localName === tag ? made.at(-1) : made[made.push(h(tag)) - 1];
        list.append(h("li", { value: item[2] }, blocks(own, depth + 1)));
      } else if (line.trim()) {
        endAt((other) => !other.trim() || interrupts(other));
        made.push(h("p", {}, inline(start, lines[next - 1][1])));
      }
    }
    return made;
  }

  function table(rows) {
    const hasHead = rows.length > 1 && ROW_RULE.test(text.slice(...rows[1]));
    const cell = (at) => (content) => h(hasHead && at === 0 ? "th" : "td", {}, content);
    const filled = rows.filter((row) => !ROW_RULE.test(text.slice(...row)));
    const drawn = filled.map((row, at) => h("tr", {}, cells(...row).map(cell(at))));
    return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {}, drawn));
  }

  /** The cells of a row. Elements after its last bar belong to its last cell. */
  function cells(start, end) {
    const found = [...text.slice(start, end).matchAll(/\\.|\|/g)].filter(([bar]) => bar === "|");
    const bars = found.map(({ index }) => start + index);
    const made = bars.slice(1).map((bar, at) => inline(bars[at] + 1, bar));
    const rest = text.slice(bars.at(-1) + 1, end);
    if (made.length && !rest.replaceAll(NODE, "").trim()) made.at(-1).push(...shown(end - rest.length, end));
    else made.push(inline(end - rest.length, end));
    return made;
  }

  /** The parts of a text with emphasis, code and links. A marker without its counterpart stays text. */
  function inline(start, end) {
    const runs = Map.groupBy([...text.slice(start, end).matchAll(/`+/g)].reverse(), ([run]) => run.length);
    const open = [{ parts: [] }]; // markers without a counterpart so far, each with the parts that follow it
    const put = (from, to) => open.at(-1).parts.push(shown(from, to));
    const keep = (one, below) => below.parts.push(shown(one.at, one.at + one.size), one.parts); // as text
    const begin = (mark, at) => {
      open.push({ mark, at, size: mark.length, parts: [] });
      if (open.length > DEEPEST) keep(...open.splice(1, 1), open[0]);
    };
    const close = (index, wrap) => {
      while (open.length > index + 1) keep(open.pop(), open.at(-1));
      open.at(-2).parts.push(wrap(open.pop().parts));
    };
    let last = start;
    TOKEN.lastIndex = start;
    for (let token; (token = TOKEN.exec(text)) && token.index < end; last = TOKEN.lastIndex) {
      const at = token.index;
      const mark = token[0].slice(0, end - at);
      const after = (TOKEN.lastIndex = at + mark.length);
      put(last, at);
      if (mark[0] === "\\") put(after - 1, after);
      else if (mark[0] === "`") {
        const same = runs.get(mark.length) ?? [];
        while (same.length && start + same.at(-1).index <= at) same.pop();
        if (same.length) {
          const to = start + same.at(-1).index;
          open.at(-1).parts.push(h("code", {}, shown(after, to)));
          TOKEN.lastIndex = to + mark.length;
        } else put(at, after);
      } else if (mark.endsWith("[")) begin(mark, at);
      else if (mark === "]") {
        const index = open.findLastIndex((one) => one.mark?.endsWith("["));
        TARGET.lastIndex = after;
        const target = index > 0 && TARGET.exec(text);
        const url = target && TARGET.lastIndex <= end && allowed(target[1]);
        if (url) TOKEN.lastIndex = TARGET.lastIndex;
        if (url) close(index, (parts) => link(url, parts));
        else put(at, after);
        for (const one of open.slice(url ? 0 : index)) if (one.mark?.endsWith("[")) one.mark = ""; // no link in a link
      } else {
        const [before, behind] = [at > start ? text[at - 1] : " ", after < end ? text[after] : " "];
        const index = /\S/.test(before) && /[\W_]/.test(behind) ? open.findLastIndex((one) => one.mark === mark) : -1;
        if (index > 0) close(index, (parts) => TAGS[mark].reduceRight((inner, tag) => h(tag, {}, inner), parts));
        else if (TAGS[mark] && /[\W_]/.test(before) && /\S/.test(behind)) begin(mark, at);
        else put(at, after);
      }
    }
    put(last, end);
    while (open.length > 1) keep(open.pop(), open.at(-1));
    return open[0].parts;
  }
}

function allowed(target) {
  const url = URL.canParse(target) ? new URL(target) : null;
  return SCHEMES.includes(url?.protocol) && url;
}

const named = (parts) => (parts.flat(Infinity).length ? parts : "link");

/** A link with the host that it leads to, whatever its text says. */
const link = ({ href, hostname, pathname }, parts) => [
  h("a", { href, title: href, target: "_blank", rel: "noopener noreferrer nofollow" }, named(parts)),
  h("span", { class: "host" }, ` (${hostname || pathname})`),
];
