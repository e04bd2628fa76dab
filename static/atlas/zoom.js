// @ts-check
/** Going into a theme and out of it: one layer grows out of the other. Only two layers move, however many bubbles there are. */

const ZOOM_MS = 320;
const EASE = "cubic-bezier(0.3, 0.7, 0.2, 1)";
/** What is drawn larger than it is costs its square. */
const NEAREST = 1.6;

/** @typedef {{ x: number, y: number, r: number }} Area  Of a theme on the map, from the upper left corner of the room. */

/** The layer of the map that is shown, and stays. */
export const SHOWN = ".map-layer:not([data-away], [data-leaving])";

/** Whether a layer is that one. @param {HTMLElement} layer */
export function isShown(layer) {
  return layer.matches(SHOWN);
}

/**
 * Shows one layer instead of another. What is away keeps its layout: with `hidden` or `inert`,
 * hundreds of bubbles would be styled anew at each step.
 * @param {HTMLElement} outer  The map of all themes.
 * @param {HTMLElement} inner  The theme.
 * @param {boolean} isInward
 * @param {Area | undefined} area  Where the theme is on the map; nothing moves if that is not known.
 * @param {{ width: number, height: number }} room
 */
export function zoom(outer, inner, isInward, area, room) {
  const [going, coming] = isInward ? [outer, inner] : [inner, outer];
  for (const layer of [going, coming]) for (const animation of layer.getAnimations()) animation.cancel();
  coming.removeAttribute("data-away");
  coming.removeAttribute("data-leaving");
  going.toggleAttribute("data-leaving", true);
  const end = () => {
    for (const layer of [outer, inner]) layer.removeAttribute("data-zooms");
    if (isShown(going)) return;
    going.toggleAttribute("data-away", true);
    going.removeAttribute("data-leaving");
  };
  if (!area || matchMedia("(prefers-reduced-motion: reduce)").matches) {
    end();
    return;
  }
  const near = Math.min(NEAREST, Math.max(1.2, Math.min(room.width, room.height) / (2 * area.r)));
  const [dx, dy] = [room.width / 2 - area.x, room.height / 2 - area.y];
  const close = { transform: `translate(${dx}px, ${dy}px) scale(${near})`, opacity: 0 };
  const far = { transform: `translate(${-dx}px, ${-dy}px) scale(${1 / near})`, opacity: 0 };
  const here = { transform: "none", opacity: 1 };
  for (const layer of [outer, inner]) layer.toggleAttribute("data-zooms", true);
  outer.style.transformOrigin = `${area.x}px ${area.y}px`;
  const options = { duration: ZOOM_MS, easing: EASE };
  outer.animate(isInward ? [here, close] : [close, here], options);
  const last = inner.animate(isInward ? [far, here] : [here, far], options);
  last.addEventListener("finish", end);
  last.addEventListener("cancel", end);
}
