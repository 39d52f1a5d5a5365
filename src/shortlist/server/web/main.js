// The frame around the tabs: the current tab and the theme.

import { h } from "./core/dom.js";
import { icon } from "./core/icons.js";
import { formatAddress, readAddress } from "./core/route.js";
import { tabs } from "./tabs.js";

const THEMES = { auto: "system", light: "light", dark: "dark" };
const THEME_KEY = "shortlist-theme";

/** @typedef {keyof typeof THEMES} Theme */

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const main = element("main");
const links = new Map(
  tabs.map(({ id, title, image }) => [id, h("a", { href: formatAddress(id) }, icon(image), h("span", {}, title))]),
);
element("tabs").append(...links.values());

/** @type {(() => void) | void} */
let leaveTab;

function showTab() {
  const { tab: id, params } = readAddress();
  const tab = tabs.find((other) => other.id === id) ?? tabs[0];
  for (const [name, link] of links) {
    if (name === tab.id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  updateLink();
  document.title = `${tab.title} · shortlist`;
  leaveTab?.();
  const root = h("div", { class: `tab ${tab.id}` });
  main.replaceChildren(root);
  leaveTab = tab.mount(root, params);
}

/** The link of a tab leads back to its last state. */
function updateLink() {
  links.get(readAddress().tab)?.setAttribute("href", location.hash);
}

/** Keeps what was typed before this script was loaded. */
function keepEarlyQuery() {
  const { tab, params } = readAddress();
  const { value } = /** @type {HTMLInputElement} */ (element("early"));
  if (value && (!tab || tab === "search"))
    history.replaceState(null, "", formatAddress("search", { ...params, q: value }));
}

/** @returns {Theme} */
const readTheme = () => /** @type {Theme} */ (document.documentElement.dataset.theme ?? "auto");

function showTheme() {
  const theme = readTheme();
  const button = element("theme");
  button.replaceChildren(icon(theme));
  button.setAttribute("aria-label", `Theme: ${THEMES[theme]}. Change it.`);
  button.title = `Theme: ${THEMES[theme]}`;
}

function changeTheme() {
  const themes = Object.keys(THEMES);
  const next = themes[(themes.indexOf(readTheme()) + 1) % themes.length];
  if (next === "auto") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(THEME_KEY);
  } else {
    document.documentElement.dataset.theme = next;
    localStorage.setItem(THEME_KEY, next);
  }
  showTheme();
}

document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", showTab);
addEventListener("remembered", updateLink);
element("theme").addEventListener("click", changeTheme);
showTheme();
keepEarlyQuery();
showTab();
