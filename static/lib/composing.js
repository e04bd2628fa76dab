// @ts-check
/** Whether a key belongs to an input method, which builds characters from several of them. */

const PROCESSED = 229;

/**
 * True while the input method composes: Enter then chooses characters. Safari ends the composition before the Enter
 * that confirms it, and marks that only by this code.
 * @param {KeyboardEvent} event
 */
export function isComposing(event) {
  return event.isComposing || event.keyCode === PROCESSED;
}
