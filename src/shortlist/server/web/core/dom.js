// Creates elements. The content of documents is inserted as text, never as HTML, and without invisible characters.

const SVG = "http://www.w3.org/2000/svg";

/** An element: attributes by name, listeners by `onclick` and the like, custom properties by `--name`. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (SHOWN.has(name)) element.setAttribute(name, visible(value));
    else element.setAttribute(name, value === true ? "" : value);
  }
  put(element, ...children);
  return element;
}

/** Replaces the content of an element. */
export function put(element, ...children) {
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.replaceChildren(...shown.map((child) => (child instanceof Node ? child : visible(child))));
}

const SHOWN = new Set(["aria-label", "title"]);

/**
 * A text with codes for characters that are invisible or change the text direction. Joiners stay inside of words and
 * emoji of other scripts than ASCII, which need them.
 */
export function visible(text) {
  return String(text).replace(
    /(?!\r?\n|\t)(?!(?<=[^\0-\x7f])[\u200c\u200d](?=[^\0-\x7f]))[\p{C}\p{Zl}\p{Zp}]/gu,
    (letter) => `[U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/** Copies a text that `element` shows; selects it there if the browser does not allow copying. */
export async function copyText(text, element, name) {
  try {
    await navigator.clipboard.writeText(text);
    note(`${name} copied.`);
  } catch {
    getSelection().selectAllChildren(element);
    note("The browser does not allow copying. The text is selected: copy it with Ctrl+C or ⌘C.");
  }
}

const ICONS = {
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16.2 16.2 21 21",
  ask: "M4 5h16v11h-9l-5 4v-4H4zM8 9h8M8 12.5h5",
  eval: "M4 20V11M10 20V5M16 20v-6M2.5 20h19M20 8l-2 2-1.5-1.5",
  download: "M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 20h14",
  documents: "M7 3h7l4 4v14H7zM14 3v4h4M10 12h5M10 16h5",
  settings:
    "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4M9 14.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4",
  status: "M3 13h4l3-8 4 14 3-6h4",
  auto: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  light:
    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5",
  close: "M6 6l12 12M18 6 6 18",
  check: "M5 12.5l4.5 4.5L19 7.5",
  warn: "M12 4 2.8 20h18.4zM12 10v4.5M12 17.2v.3",
  plus: "M12 5v14M5 12h14",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  reload: "M20 11a8 8 0 0 0-14.3-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.3 4L20 15M20 20v-5h-5",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  none: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M6.5 6.5l11 11",
};

export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

/** Shows a message for a moment, with an optional action. */
export function note(text, action = null, { wrong = false } = {}) {
  const close = () => element.remove();
  const element = h(
    "div",
    { class: wrong ? "note wrong" : "note" },
    h("p", {}, text),
    action &&
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => {
            close();
            action.act();
          },
        },
        action.label,
      ),
    h("button", { type: "button", class: "quiet icon-button", "aria-label": "Dismiss", onclick: close }, icon("close")),
  );
  const notes = document.getElementById("notes");
  notes.replaceChildren(element);
  setTimeout(close, action ? 12_000 : 6_000);
}

/** Asks before something that cannot be undone. The answer is whether to do it. */
export function askFirst(title, text, label) {
  return new Promise((resolve) => {
    const close = (value) => () => dialog.close(value);
    const dialog = h(
      "dialog",
      {
        class: "dialog small",
        "aria-labelledby": "ask-first",
        onclose: () => {
          dialog.remove();
          resolve(dialog.returnValue === "yes");
        },
      },
      h("h2", { id: "ask-first" }, title),
      h("p", { class: "muted" }, text),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", onclick: close("") }, "Cancel"),
        h("button", { type: "button", class: "danger", onclick: close("yes") }, label),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A table: `head` has the names of the columns, and each row starts with its own name. */
export function table(caption, head, rows, attributes = {}) {
  return h(
    "table",
    attributes,
    h("caption", { class: "unseen" }, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head.map((title) => h("th", { scope: "col" }, title)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([name, ...cells]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          cells.map((cell) => h("td", {}, cell)),
        ),
      ),
    ),
  );
}

/** A placeholder for missing content: an icon, a title and more text. */
export function empty(name, title, ...more) {
  return h(
    "div",
    { class: "empty" },
    icon(name),
    h("p", { class: "empty-title" }, title),
    more.map((text) => (typeof text === "string" ? h("p", {}, text) : text)),
  );
}

/** A placeholder for content that is loading. */
export const loading = () => h("p", { class: "loading" }, "Loading…");

/** An error message, with a button to try again. */
export function failure(error, again = null) {
  return h(
    "div",
    { class: "empty wrong", role: "alert" },
    icon("warn"),
    h("p", { class: "empty-title" }, error.title || "Something went wrong."),
    h("p", {}, error.message),
    again && h("button", { type: "button", onclick: again }, icon("reload"), "Try again"),
  );
}

/** A function that calls `act` once it was not called for a while. */
export function debounced(act, milliseconds) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds, ...given);
  };
}
