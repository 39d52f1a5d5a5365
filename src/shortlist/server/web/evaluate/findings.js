// The findings of lint by rule, worst first, with advice.

import { empty, h, icon } from "../core/dom.js";
import { counted } from "../search/outcome.js";

const AT_ONCE = 100;

export function linted({ documents, findings }) {
  if (!documents) return [empty("documents", "This corpus is empty", "There is nothing to check.")];
  if (!findings.length)
    return [empty("check", "Nothing to fix", `${counted(documents, "document")} can be found and distinguished.`)];
  const rules = [...new Set(findings.map((one) => one.rule))];
  return rules.map((rule) => group(findings.filter((one) => one.rule === rule)));
}

function group(findings) {
  const { rule, severity, advice } = findings[0];
  const name = `${rule[0].toUpperCase()}${rule.slice(1).replaceAll("_", " ")}`;
  const left = findings.length - AT_ONCE;
  return h(
    "section",
    { class: `card finding ${severity}`, "aria-label": name },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, icon("warn"), name),
      h("span", { class: `badge ${severity}` }, counted(findings.length, severity)),
    ),
    h("p", { class: "hint" }, advice),
    h(
      "ul",
      { class: "left-out" },
      findings.slice(0, AT_ONCE).map((one) => h("li", { dir: "auto" }, one.says)),
      left > 0 && h("li", { class: "muted" }, `${left.toLocaleString("en")} more`),
    ),
  );
}
