// @ts-check
/** Places circles again: each stays where it was, or nearly. */

import { freeSpot } from "./pack.js";

/** @typedef {import("./pack.js").Point} Point */
/** @typedef {{ r: number, at: Point | null }} Circle  `at`: its centre before; null for a newcomer. */

const ROUNDS = 300;
/** How far a circle moves into a gap, in its diameters. */
const REACH = 0.25;
const STEP = 2;

/**
 * A centre for each circle, from the upper left corner; newcomers find room at the rim.
 * @param {readonly Circle[]} circles
 * @param {number} width  Of the cloud; each radius is at most half of it.
 * @param {number} gap  Between circles.
 * @param {boolean} [gathers]  Close gaps that others have left.
 * @returns {Point[]}
 */
export function settle(circles, width, gap, gathers = false) {
  const placed = circles.map(({ r, at }) => (at ? { ...inside(at, r, width), r } : null));
  const known = placed.filter((circle) => circle !== null);
  separate(known, width, gap);
  if (gathers) gather(known, width, gap);
  const newcomers = circles.map((_, i) => i).filter((i) => !placed[i]);
  for (const i of newcomers.sort((a, b) => circles[b].r - circles[a].r || a - b)) {
    const { r } = circles[i];
    placed[i] = { ...freeSpot(r, known, width, gap), r };
    known.push(/** @type {any} */ (placed[i]));
  }
  return placed.map((circle) => ({ x: circle?.x ?? 0, y: circle?.y ?? 0 }));
}

/** Pushes apart what overlaps, each by half. @param {(Point & { r: number })[]} circles @param {number} width @param {number} gap */
function separate(circles, width, gap) {
  for (let round = 0; round < ROUNDS; round++) {
    let isCalm = true;
    for (const [i, a] of circles.entries()) {
      for (const b of circles.slice(i + 1)) {
        const distance = Math.hypot(b.x - a.x, b.y - a.y);
        const missing = a.r + b.r + gap - distance;
        if (missing <= 0.01) continue;
        isCalm = false;
        const [ux, uy] = away(a, b, distance, width - gap);
        move(a, -ux * missing * 0.5, -uy * missing * 0.5, width);
        move(b, ux * missing * 0.5, uy * missing * 0.5, width);
      }
    }
    if (isCalm) return;
  }
}

/** The direction from one to another. Two that don't fit side by side must get past each other. @param {Point & { r: number }} a @param {Point & { r: number }} b @param {number} distance @param {number} room */
function away(a, b, distance, room) {
  if (!distance) return [0, 1];
  const [ux, uy] = [(b.x - a.x) / distance, (b.y - a.y) / distance];
  const isTight = 2 * (a.r + b.r) > room && Math.abs(uy) < 0.7;
  return isTight ? [Math.sign(ux) * 0.7, uy < 0 ? -0.7 : 0.7] : [ux, uy];
}

/** Lets circles slide a little towards the upper middle where there is room. @param {(Point & { r: number })[]} circles @param {number} width @param {number} gap */
function gather(circles, width, gap) {
  const starts = circles.map(({ x, y }) => ({ x, y }));
  for (let round = 0; round < ROUNDS; round++) {
    let isCalm = true;
    for (const [i, circle] of circles.entries()) {
      const side = Math.sign(width / 2 - circle.x) * Math.min(STEP, Math.abs(width / 2 - circle.x));
      for (const [dx, dy] of [[side, -STEP], [0, -STEP], [side, 0]]) {
        const next = inside({ x: circle.x + dx, y: circle.y + dy }, circle.r, width);
        const isNear = Math.hypot(next.x - starts[i].x, next.y - starts[i].y) <= 2 * circle.r * REACH;
        if (!isNear || !isFree(next, circle, circles, gap)) continue;
        isCalm &&= next.x === circle.x && next.y === circle.y;
        Object.assign(circle, next);
        break;
      }
    }
    if (isCalm) return; // each later round would be the same
  }
}

/** Whether a circle has room there. @param {Point} at @param {Point & { r: number }} circle @param {readonly (Point & { r: number })[]} circles @param {number} gap */
function isFree(at, circle, circles, gap) {
  for (const other of circles) {
    if (other !== circle && Math.hypot(other.x - at.x, other.y - at.y) < other.r + circle.r + gap) return false;
  }
  return true;
}

/** @param {Point & { r: number }} circle @param {number} dx @param {number} dy @param {number} width */
function move(circle, dx, dy, width) {
  Object.assign(circle, inside({ x: circle.x + dx, y: circle.y + dy }, circle.r, width));
}

/** @param {Point} at @param {number} r @param {number} width @returns {Point} */
function inside({ x, y }, r, width) {
  return { x: Math.min(Math.max(x, r), width - r), y: Math.max(y, r) };
}
