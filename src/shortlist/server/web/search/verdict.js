// The line above the results: how many documents were selected, and the reason of the service.

import { h } from "../core/dom.js";
import { formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";
import { messageOf, titleOf } from "../core/messages.js";
import { titleWithoutSelection } from "./session.js";

/** @import { IconName } from "../core/icons.js" */
/** @import { Corpus } from "../core/types.js" */
/** @import { SearchSession } from "./session.js" */
/** @import { Shown } from "./types.js" */
/** @typedef {{ tone: string, image: IconName, title: string, reason: string, time?: string }} Verdict */

/** @param {SearchSession} session */
export function createVerdict(session) {
  const element = h("div", { class: "verdict" });
  session.store.subscribe(["shown"], ({ shown }) => {
    const { tone, image, title, reason, time = "" } = describeVerdict(shown, session.corpus);
    element.className = `verdict ${tone}`;
    element.hidden = session.corpus?.documents === 0 && shown.kind !== "failed"; // the placeholder says so
    element.replaceChildren(
      icon(image),
      h("p", { class: "verdict-title" }, title),
      h("p", { class: "verdict-took" }, time),
      h("p", { class: "verdict-reason", title: reason }, reason),
    );
  });
  return element;
}

/**
 * A label above the results that says why the selection may not be right; hidden if that is clear.
 *
 * @param {SearchSession} session
 */
export function createDoubt({ store }) {
  const element = h("p", { class: "doubt", hidden: true });
  store.subscribe(["shown"], ({ shown }) => {
    const doubt = shown.kind === "answer" ? shown.outcome.doubt : "";
    element.hidden = !doubt;
    element.replaceChildren(h("span", { class: "badge" }, "Not sure"), ` ${doubt}`);
  });
  return element;
}

/** @param {SearchSession} session */
export function createAnnouncement({ store }) {
  const element = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
  store.subscribe(["announcement"], ({ announcement }) => {
    element.textContent = announcement;
  });
  return element;
}

/**
 * @param {Shown} shown
 * @param {Corpus} [corpus]
 * @returns {Verdict}
 */
function describeVerdict(shown, corpus) {
  if (shown.kind === "loading") return { tone: "rest", image: "search", title: "Loading", reason: "Loading corpora…" };
  if (shown.kind === "failed") {
    const title = titleOf(shown.error) || "Something went wrong";
    return { tone: "wrong", image: "warn", title, reason: messageOf(shown.error) };
  }
  if (shown.kind === "rest") {
    const documents = corpus?.documents ?? 0;
    const title = formatCount(documents, "document");
    return { tone: "rest", image: "search", title, reason: "Results appear as you type." };
  }
  const { outcome, answer } = shown;
  const { milliseconds } = answer;
  const time = `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
  const common = { reason: outcome.reason, time };
  if (!outcome.selected) return { tone: "none", image: "none", title: titleWithoutSelection(outcome), ...common };
  return { tone: "kept", image: "check", title: `${formatCount(outcome.selected, "document")} selected`, ...common };
}
