// The frame around the tabs: the current tab and the theme.

import { h, icon } from "./core/dom.js";
import { here } from "./core/route.js";
import { tabs } from "./tabs.js";

const main = document.getElementById("main");
const nav = document.getElementById("tabs");
const links = new Map(
  tabs.map((tab) => [tab.id, h("a", { href: `#/${tab.id}` }, icon(tab.icon), h("span", {}, tab.title))]),
);
nav.append(...links.values());

let leave = null;

function show() {
  const { tab: id, params } = here();
  const tab = tabs.find((one) => one.id === id) ?? tabs[0];
  for (const [name, link] of links) {
    if (name === tab.id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  keep();
  document.title = `${tab.title} · shortlist`;
  leave?.();
  const root = h("div", { class: `tab ${tab.id}` });
  main.replaceChildren(root);
  leave = tab.mount(root, params) ?? null;
}

/** The link of a tab leads back to its last state. */
function keep() {
  links.get(here().tab)?.setAttribute("href", location.hash);
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", show);
addEventListener("remembered", keep);

const button = document.getElementById("theme");
const THEMES = { auto: "system", light: "light", dark: "dark" };
const order = Object.keys(THEMES);

function paint() {
  const theme = document.documentElement.dataset.theme ?? "auto";
  button.replaceChildren(icon(theme));
  button.setAttribute("aria-label", `Theme: ${THEMES[theme]}. Change it.`);
  button.title = `Theme: ${THEMES[theme]}`;
}

button.addEventListener("click", () => {
  const next = order[(order.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % order.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  if (next === "auto") localStorage.removeItem("shortlist-theme");
  else localStorage.setItem("shortlist-theme", next);
  paint();
});

paint();
show();
