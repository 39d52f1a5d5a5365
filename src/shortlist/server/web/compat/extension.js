// What the page shows if the service has the compat extension: the softmax retriever, its settings and its catalog file.

import { createCatalogCard } from "./catalog-file.js";
import { createRetrieverCard } from "./retriever-settings.js";

export { loadSoftmaxView } from "./softmax.js";

/**
 * Creates the cards of the Settings tab.
 *
 * @returns {Promise<HTMLElement[]>}
 */
export const createSettingsCards = () => Promise.all([createRetrieverCard(), createCatalogCard()]);
