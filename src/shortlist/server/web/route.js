// Where we are stands in the address: #/tab?name=value. Reload and back keep the place.

export function here() {
  const [, tab = "", query = ""] = location.hash.match(/^#\/([a-z]*)(?:\?(.*))?$/) ?? [];
  return { tab, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function address(tab, params = {}) {
  const kept = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(kept).toString();
  return `#/${tab}${query ? `?${query}` : ""}`;
}

/** Writes the place down without a new step in the history: typing is not going somewhere. */
export function remember(tab, params) {
  history.replaceState(null, "", address(tab, params));
  dispatchEvent(new CustomEvent("remembered"));
}
