// The findings of lint by rule, worst first, with advice.

import { h } from "../core/dom.js";
import { formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";
import { empty } from "../core/messages.js";

/** @import { Finding, Findings } from "../core/types.js" */

const MAX_SHOWN = 100; // of each rule

/**
 * @param {Findings} found
 * @returns {HTMLElement[]}
 */
export function drawFindings({ documents, findings }) {
  if (!documents) return [empty("documents", "This corpus is empty", "There is nothing to check.")];
  if (!findings.length)
    return [empty("check", "Nothing to fix", `${formatCount(documents, "document")} can be found and distinguished.`)];
  const rules = [...new Set(findings.map(({ rule }) => rule))];
  return rules.map((rule) => drawRule(findings.filter((finding) => finding.rule === rule)));
}

/** @param {Finding[]} findings of one rule */
function drawRule(findings) {
  const { rule, severity, advice } = findings[0];
  const name = `${rule[0].toUpperCase()}${rule.slice(1).replaceAll("_", " ")}`;
  const left = findings.length - MAX_SHOWN;
  return h(
    "section",
    { class: `card finding ${severity}`, "aria-label": name },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, icon("warn"), name),
      h("span", { class: `badge ${severity}` }, formatCount(findings.length, severity)),
    ),
    h("p", { class: "hint" }, advice),
    h(
      "ul",
      { class: "left-out" },
      findings.slice(0, MAX_SHOWN).map(({ says }) => h("li", { dir: "auto" }, says)),
      left > 0 && h("li", { class: "muted" }, `${left.toLocaleString("en")} more`),
    ),
  );
}
