// @ts-check
/** Prints the receipt with everything unfolded but the exact text, which may have hundreds of pages. */

/** @param {HTMLElement | null} button */
export function startPrinting(button) {
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => print());
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [.../** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll(".turn-read details:not([open], .turn-exact)"))];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
}
