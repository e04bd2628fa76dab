// @ts-check
/** A copy of what a template of the page holds. @param {string} id */
export function clone(id) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(id));
  return /** @type {HTMLElement} */ (document.importNode(/** @type {Element} */ (template.content.firstElementChild), true));
}
