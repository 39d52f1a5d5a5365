// The state of the page in the address: #/tab?name=value. It survives a reload and the back button.

/** @typedef {Record<string, string | undefined>} Params */

/**
 * Reads the tab and its parameters.
 *
 * @param {string} [hash]
 * @returns {{ tab: string, params: Params }}
 */
export function readAddress(hash = location.hash) {
  const [, tab = "", query = ""] = hash.match(/^#\/([a-z]*)(?:\?(.*))?$/) ?? [];
  return { tab, params: Object.fromEntries(new URLSearchParams(query)) };
}

/**
 * Formats the address of a tab. Empty parameters are left out.
 *
 * @param {string} tab
 * @param {Record<string, unknown>} [params]
 * @returns {string}
 */
export function formatAddress(tab, params = {}) {
  const filled = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(filled.map(([name, value]) => [name, String(value)])).toString();
  return `#/${tab}${query ? `?${query}` : ""}`;
}

/**
 * Writes the state to the address without a new entry in the history.
 *
 * @param {string} tab
 * @param {Record<string, unknown>} params
 */
export function remember(tab, params) {
  history.replaceState(null, "", formatAddress(tab, params));
  dispatchEvent(new CustomEvent("remembered"));
}
