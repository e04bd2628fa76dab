// @ts-check
/** Arrow keys on a map: one tab stop, from which each arrow goes to what is nearest in its direction. */

const WAYS = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });
/** A step aside counts more than one ahead. */
const ASIDE = 2.5;

/** @param {HTMLElement} root  Its links can be reached by arrows. */
export function startRoving(root) {
  root.addEventListener("focusin", ({ target }) => target instanceof HTMLAnchorElement && makeStop(root, target));
  root.addEventListener("keydown", (event) => {
    const way = WAYS[event.key];
    const here = document.activeElement;
    if (!way || !(here instanceof HTMLAnchorElement) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    nearest(here, linksIn(root), way)?.focus();
  });
}

/** Makes the focused link, or the first one, the one that Tab reaches. @param {HTMLElement} root @param {HTMLAnchorElement} [wanted] */
export function makeStop(root, wanted) {
  const links = linksIn(root);
  const now = wanted ?? links.find((link) => link === document.activeElement);
  const stop = now ?? links.find((link) => link.tabIndex === 0) ?? links[0];
  for (const link of links) link.tabIndex = link === stop ? 0 : -1;
}

/** @param {HTMLElement} root @returns {HTMLAnchorElement[]} */
function linksIn(root) {
  return [.../** @type {NodeListOf<HTMLAnchorElement>} */ (root.querySelectorAll("a"))].filter((link) => !link.closest("[inert], [data-away]"));
}

/** @param {HTMLElement} here @param {readonly HTMLAnchorElement[]} links @param {[number, number]} way */
function nearest(here, links, [dx, dy]) {
  const from = middleOf(here);
  let best = null;
  let least = Infinity;
  for (const link of links) {
    const { x, y } = middleOf(link);
    const ahead = (x - from.x) * dx + (y - from.y) * dy;
    const aside = Math.abs((x - from.x) * dy) + Math.abs((y - from.y) * dx);
    const cost = ahead + ASIDE * aside;
    if (link !== here && ahead > 1 && cost < least) [best, least] = [link, cost];
  }
  return best;
}

/** A theme is where its name stands. @param {HTMLElement} link */
function middleOf(link) {
  const { x, y, width, height } = (link.querySelector(".theme:not([data-single]) .theme-name") ?? link).getBoundingClientRect();
  return { x: x + width / 2, y: y + height / 2 };
}
