// The MCP servers behind the service, and what is pending approval. Only the command line approves anything.

import { h, table } from "../core/dom.js";
import { formatCount, formatNumber } from "../core/format.js";
import { icon } from "../core/icons.js";
import { copyText } from "../core/messages.js";

/** @import { Child } from "../core/dom.js" */
/** @import { McpServer, McpServers, PendingFile, PendingTool, ToolChange } from "../core/types.js" */

const COLUMNS = ["Name", "Tools", "Read-only", "Pending", "Denied", "Problem"];
/** @type {Record<string, "del" | "ins">} */
const TAGS = { "-": "del", "+": "ins" };

/** The elements of the Status tab that are about MCP; `show` fills them, and changes only what has changed. */
export function createMcpParts() {
  const notice = h("div", { role: "status" });
  const servers = h("section", { class: "card flush", "aria-label": "MCP servers" });
  const heading = h("h2", { tabindex: "-1" }, "Pending approval");
  const files = createList(pendingFile);
  const tools = createList(pendingTool);
  const review = h(
    "section",
    { class: "card flush review", "aria-label": "Pending approval", hidden: true },
    h(
      "div",
      { class: "card-head" },
      heading,
      h("p", { class: "hint" }, "To approve an item, run its command in a terminal. This page approves nothing."),
    ),
    files.element,
    tools.element,
  );
  let shown = "";
  return { notice, servers, review, show };

  /** @param {McpServers | null} found null if MCP is disabled */
  function show(found) {
    const text = JSON.stringify(found);
    if (text === shown) return;
    shown = text;
    const { pending = [], pending_files = [] } = found ?? {};
    const isWaiting = pending.length + pending_files.length > 0;
    servers.hidden = !found;
    review.hidden = !isWaiting;
    notice.replaceChildren(...(isWaiting ? [drawNotice(pending.length, pending_files.length, goToReview)] : []));
    if (found) servers.replaceChildren(...drawServers(found));
    files.set(pending_files);
    tools.set(pending);
  }

  function goToReview() {
    review.scrollIntoView();
    heading.focus({ preventScroll: true });
  }
}

/**
 * @param {number} tools
 * @param {number} files
 * @param {() => void} review
 */
function drawNotice(tools, files, review) {
  const counts = [tools && formatCount(tools, "tool"), files && formatCount(files, "project file")].filter(Boolean);
  return h(
    "div",
    { class: "notice" },
    icon("warn"),
    h("p", {}, `${counts.join(" and ")} ${tools + files === 1 ? "is" : "are"} pending approval.`),
    h("button", { type: "button", onclick: review }, "Review"),
  );
}

/** @param {McpServers} found */
function drawServers({ servers, problem }) {
  const count = h("p", { class: "muted" }, `${formatNumber(servers.length)} configured`);
  const head = h("div", { class: "card-head" }, h("h2", {}, "MCP servers"), count);
  if (problem) {
    return [head, h("p", { class: "notice" }, icon("warn"), problem)];
  }
  if (!servers.length) {
    return [head];
  }
  const rows = table("MCP servers", COLUMNS, servers.map(cells), { class: "servers" });
  return [head, h("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of servers" }, rows)];
}

/** @param {McpServer} server */
function cells({ name, tools, read_only, pending, denied, problem, refused = {} }) {
  const problems = [problem, ...Object.entries(refused).map(([tool, reason]) => `${tool}: ${reason}`)];
  const counts = [read_only, pending, denied].map((count) => (count ? formatNumber(count) : "–"));
  const about = problems.filter(Boolean).join(" ") || "–";
  return [h("span", {}, name), tools === null ? "–" : formatNumber(tools), ...counts, about];
}

/**
 * A list whose items stay open or closed while their rows do not change.
 *
 * @template Row
 * @param {(row: Row) => Child} make
 */
function createList(make) {
  const element = h("ul");
  /** @type {Map<string, HTMLElement>} */
  let items = new Map();
  /** @param {Row[]} rows */
  const set = (rows) => {
    const old = items;
    items = new Map();
    for (const row of rows) {
      const text = JSON.stringify(row);
      items.set(text, old.get(text) ?? h("li", {}, make(row)));
    }
    for (const [text, item] of old) if (!items.has(text)) item.remove();
    for (const [at, item] of [...items.values()].entries())
      if (element.children[at] !== item) element.insertBefore(item, element.children[at] ?? null);
  };
  return { element, set };
}

/** @param {PendingFile} pending */
function pendingFile({ file, servers, command }) {
  return [
    h("p", {}, h("code", {}, file), " ", h("span", { class: "muted" }, formatCount(servers, "server"))),
    commandLine(command),
  ];
}

/** @param {PendingTool} pending */
function pendingTool({ tool, reason, changes, command }) {
  return h(
    "details",
    {},
    h("summary", {}, h("code", {}, tool), " ", h("span", { class: "muted" }, reason)),
    changes.map(drawChange),
    commandLine(command),
  );
}

/** @param {ToolChange} change */
function drawChange({ part, waits, diff }) {
  return [
    h(
      "p",
      {},
      h("code", {}, part),
      " ",
      waits
        ? h("span", { class: "badge warning" }, "Needs approval")
        : h("span", { class: "muted" }, "Needs no approval"),
    ),
    h(
      "pre",
      { class: "diff" },
      diff.map((line) => h(TAGS[line[0]] ?? "span", {}, line)),
    ),
  ];
}

/** @param {string} command */
function commandLine(command) {
  const code = h("code", {}, command);
  const copy = () => copyText(command, code, "Command");
  const button = h("button", { type: "button", "aria-label": `Copy: ${command}`, onclick: copy }, icon("copy"), "Copy");
  return h("div", { class: "command" }, code, button);
}
