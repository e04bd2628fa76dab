// @ts-check
/** Arranges the bubbles of a chat starting from their last places: a topic keeps its place. */

import { cloud, sizesAt } from "./pack.js";
import { settle } from "./settle.js";

/** @typedef {{ id: string, count: number, least: number }} Bubble  `least`: the radius that its label needs. */
/** @typedef {{ width: number, height: number }} Room  In CSS pixels; a cloud may be higher if it must. */
/** @typedef {Room & { scale: number, at: Record<string, [number, number]>, of?: string }} Places  Centres by topic, from the upper left corner; `of`: what was placed. */
/** @typedef {{ r: number, x: number, y: number }} Placed */

const GAP = 6;
/** Sizes follow the counts only when they are this far off, and no further than this at once. */
const SLACK = 0.15;
/** All become smaller until none has to move further than this, in its diameters, for another. */
const FURTHEST = 0.27;
const SMALLER = 0.96;
const SMALLEST = 0.7;
/** Places are remembered in tenths of a pixel. */
const SAME = 0.5;
/** Beyond these changes of the room, a cloud is arranged from scratch; a lower room would not hold it as it is. */
const SAME_ROOM = 0.75;
const NO_LOWER = 0.9;

/**
 * @param {readonly Bubble[]} bubbles
 * @param {Room} room
 * @param {Places | null} before
 * @param {boolean} [isHeld]  Nothing that is there moves: the pointer is over it.
 * @returns {{ placed: Placed[], places: Places }}
 */
export function arrange(bubbles, room, before, isHeld = false) {
  const known = before && isSame(before, room) ? before : null;
  const isKnown = known !== null && bubbles.some(({ id }) => known.at[id]);
  const { placed, scale } = isKnown ? rearranged(bubbles, room, known, isHeld) : fresh(bubbles, room);
  const at = Object.fromEntries(bubbles.map(({ id }, i) => [id, /** @type {[number, number]} */ ([round(placed[i].x), round(placed[i].y)])]));
  return { placed, places: { ...room, scale, at, of: ofWhat(bubbles) } };
}

/** @param {Room} before @param {Room} now */
function isSame(before, now) {
  const [wider, higher] = [now.width / before.width, now.height / before.height];
  return Math.min(wider, 1 / wider, 1 / higher) >= SAME_ROOM && higher >= NO_LOWER;
}

/** @param {readonly Bubble[]} bubbles @param {Room} room */
function fresh(bubbles, { width, height }) {
  const { sizes, places, scale } = cloud(countsOf(bubbles), width, GAP, leastOf(bubbles), height);
  const left = Math.min(...places.map(({ x }, i) => x - sizes[i]));
  const right = Math.max(...places.map(({ x }, i) => x + sizes[i]));
  const top = Math.min(...places.map(({ y }, i) => y - sizes[i]));
  const bottom = Math.max(...places.map(({ y }, i) => y + sizes[i]));
  const above = Math.max(0, (Math.min(width, height) - (bottom - top)) / 2);
  const placed = places.map(({ x, y }, i) => ({ x: x + (width - left - right) / 2, y: y - top + above, r: sizes[i] }));
  return { placed, scale };
}

/** @param {readonly Bubble[]} bubbles @param {Room} room @param {Places} before @param {boolean} isHeld */
function rearranged(bubbles, { width, height }, before, isHeld) {
  const ratio = width / before.width;
  const counts = countsOf(bubbles);
  const ideal = cloud(counts, width, GAP, leastOf(bubbles), height).scale;
  const was = before.scale * ratio;
  const isNear = Math.abs(ideal / was - 1) <= SLACK;
  const hasLeft = Object.keys(before.at).some((id) => !bubbles.some((bubble) => bubble.id === id));
  const mayStay = (isNear || before.of === ofWhat(bubbles)) && !hasLeft;
  const stay = mayStay && stayed(bubbles, sizesAt(was, counts, width, leastOf(bubbles), height), before, ratio);
  if (stay) return { placed: stay, scale: was };
  let scale = isHeld || isNear ? was : Math.min(was * (1 + SLACK), Math.max(was * (1 - SLACK), ideal));
  for (;;) {
    const sizes = sizesAt(scale, counts, width, leastOf(bubbles), height);
    const circles = bubbles.map(({ id }, i) => ({ r: sizes[i], at: scaled(before.at[id], ratio) }));
    const spots = settle(circles, width, GAP, !isHeld && (hasLeft || scale < was));
    const moved = circles.map(({ r, at }, i) => (at ? Math.hypot(at.x - spots[i].x, at.y - spots[i].y) / (2 * r) : 0));
    if (Math.max(...moved) <= FURTHEST || isHeld || scale < was * SMALLEST) {
      return { placed: spots.map((spot, i) => ({ ...spot, r: sizes[i] })), scale };
    }
    scale *= SMALLER;
  }
}

/**
 * The bubbles where they were, if all were there and still have room: laying out what was laid out moves nothing.
 * @param {readonly Bubble[]} bubbles @param {readonly number[]} sizes @param {Places} before @param {number} ratio
 * @returns {Placed[] | null}
 */
function stayed(bubbles, sizes, before, ratio) {
  /** @type {Placed[]} */
  const placed = [];
  for (const [i, { id }] of bubbles.entries()) {
    const at = scaled(before.at[id], ratio);
    const r = sizes[i];
    if (!at || at.x < r - SAME || at.y < r - SAME || at.x > before.width * ratio - r + SAME) return null;
    if (placed.some((other) => Math.hypot(other.x - at.x, other.y - at.y) < other.r + r + GAP - SAME)) return null;
    placed.push({ ...at, r });
  }
  return placed;
}

/** @param {[number, number] | undefined} at @param {number} ratio */
function scaled(at, ratio) {
  return at ? { x: at[0] * ratio, y: at[1] * ratio } : null;
}

/** @param {readonly Bubble[]} bubbles */
function countsOf(bubbles) {
  return bubbles.map(({ count }) => count);
}

/** @param {readonly Bubble[]} bubbles */
function leastOf(bubbles) {
  return bubbles.map(({ least }) => least);
}

/** @param {number} length */
function round(length) {
  return Math.round(length * 10) / 10;
}

/** The places in a stored text; null if it is not valid. @param {string} text @returns {Places | null} */
export function placesIn(text) {
  try {
    const { width, height = width, scale, at, of = "" } = JSON.parse(text);
    const isSound = [width, height, scale, ...Object.values(at).flat()].every((value) => Number.isFinite(value));
    if (!isSound || Math.min(width, height, scale) <= 0) return null;
    return { width, height, scale, at, ...(of && { of: String(of) }) };
  } catch {
    return null;
  }
}

/** What a cloud consists of. @param {readonly Bubble[]} bubbles */
function ofWhat(bubbles) {
  return bubbles.map(({ id, count }) => `${id} ${count}`).sort().join("\n");
}
