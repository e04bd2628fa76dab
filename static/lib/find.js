// @ts-check
/**
 * An element that the page has by its template.
 * @template {HTMLElement} T
 * @param {string} selector
 * @param {ParentNode} [root]
 * @returns {T}
 */
export function find(selector, root = document) {
  return /** @type {T} */ (root.querySelector(selector));
}
