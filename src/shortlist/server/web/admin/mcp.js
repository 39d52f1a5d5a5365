// The MCP servers behind the service, and what is pending approval. Only the command line approves anything.

import { copyText, h, icon, table } from "../core/dom.js";
import { counted, number } from "../search/outcome.js";

const COLUMNS = ["Name", "Tools", "Read-only", "Pending", "Denied", "Problem"];
const TAGS = { "-": "del", "+": "ins" };

/** The elements of the Status tab that are about MCP; `show` fills them, and changes only what has changed. */
export function mcpParts() {
  const notice = h("div", { role: "status" });
  const servers = h("section", { class: "card flush", "aria-label": "MCP servers" });
  const heading = h("h2", { tabindex: "-1" }, "Pending approval");
  const files = listOf(pendingFile);
  const tools = listOf(pendingTool);
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

  /** `found` is null if MCP is disabled. */
  function show(found) {
    const text = JSON.stringify(found);
    if (text === shown) return;
    shown = text;
    const { pending = [], pending_files = [] } = found ?? {};
    const isWaiting = pending.length + pending_files.length > 0;
    servers.hidden = !found;
    review.hidden = !isWaiting;
    notice.replaceChildren(...(isWaiting ? [summary(pending.length, pending_files.length, read)] : []));
    if (found) servers.replaceChildren(...serverList(found));
    files.set(pending_files);
    tools.set(pending);
  }

  function read() {
    review.scrollIntoView();
    heading.focus({ preventScroll: true });
  }
}

function summary(tools, files, read) {
  const counts = [tools && counted(tools, "tool"), files && counted(files, "project file")].filter(Boolean);
  return h(
    "div",
    { class: "notice" },
    icon("warn"),
    h("p", {}, `${counts.join(" and ")} ${tools + files === 1 ? "is" : "are"} pending approval.`),
    h("button", { type: "button", onclick: read }, "Review"),
  );
}

function serverList({ servers, problem }) {
  const count = h("p", { class: "muted" }, `${number(servers.length)} configured`);
  const rows = table("MCP servers", COLUMNS, servers.map(cells), { class: "servers" });
  return [
    h("div", { class: "card-head" }, h("h2", {}, "MCP servers"), count),
    problem
      ? h("p", { class: "notice" }, icon("warn"), problem)
      : h("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of servers" }, rows),
  ];
}

function cells({ name, tools, read_only, pending, denied, problem, refused = {} }) {
  const problems = [problem, ...Object.entries(refused).map(([tool, reason]) => `${tool}: ${reason}`)];
  const counts = [read_only, pending, denied].map((count) => (count ? number(count) : "–"));
  const about = problems.filter(Boolean).join(" ") || "–";
  return [h("span", {}, name), tools === null ? "–" : number(tools), ...counts, about];
}

/** A list whose items stay open or closed while their rows do not change. */
function listOf(make) {
  const element = h("ul");
  let items = new Map();
  const set = (rows) => {
    const old = items;
    const item = (row, text) => [text, old.get(text) ?? h("li", {}, make(row))];
    items = new Map(rows.map((row) => item(row, JSON.stringify(row))));
    for (const [text, gone] of old) if (!items.has(text)) gone.remove();
    [...items.values()].forEach((one, at) => {
      if (element.children[at] !== one) element.insertBefore(one, element.children[at] ?? null);
    });
  };
  return { element, set };
}

function pendingFile({ file, servers, command }) {
  return [
    h("p", {}, h("code", {}, file), " ", h("span", { class: "muted" }, counted(servers, "server"))),
    commandLine(command),
  ];
}

function pendingTool({ tool, reason, changes, command }) {
  return h(
    "details",
    {},
    h("summary", {}, h("code", {}, tool), " ", h("span", { class: "muted" }, reason)),
    changes.map(changed),
    commandLine(command),
  );
}

function changed({ part, waits, diff }) {
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

function commandLine(command) {
  const code = h("code", {}, command);
  const copy = () => copyText(command, code, "Command");
  const button = h("button", { type: "button", "aria-label": `Copy: ${command}`, onclick: copy }, icon("copy"), "Copy");
  return h("div", { class: "command" }, code, button);
}
