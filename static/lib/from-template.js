// @ts-check
/** A copy of what a template of the page holds. @param {string} id */
export function clone(id) {
  return copyOf(/** @type {HTMLTemplateElement} */ (document.getElementById(id)));
}

/** A copy of what a template holds. @param {HTMLTemplateElement} template */
export function copyOf(template) {
  return /** @type {HTMLElement} */ (document.importNode(/** @type {Element} */ (template.content.firstElementChild), true));
}
