// Parts of the page that belong to extensions of the service. They are loaded only if the service has them.

import { readStatus } from "./service.js";

/** @typedef {typeof import("../compat/extension.js")} Compat */

/**
 * Loads the views of the compat extension. A service that does not list its extensions has it.
 *
 * @returns {Promise<Compat | null>} null if the service does not have it
 */
export async function loadCompat() {
  const { extensions = ["retriever"] } = await readStatus();
  return extensions.includes("retriever") ? import("../compat/extension.js") : null;
}
