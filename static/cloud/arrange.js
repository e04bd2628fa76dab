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
/** A cloud of so few, or one that is too high, is arranged from scratch if nothing moves further than this for it. */
const FEW = 4;
const NOT_FAR = 0.58;
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
  const { placed, scale } = isKnown ? changed(bubbles, room, known, isHeld) : fresh(bubbles, room);
  const at = Object.fromEntries(bubbles.map(({ id }, i) => [id, /** @type {[number, number]} */ ([round(placed[i].x), round(placed[i].y)])]));
  return { placed, places: { ...room, scale, at, of: ofWhat(bubbles) } };
}

/** @param {Room} before @param {Room} now */
function isSame(before, now) {
  const [wider, higher] = [now.width / before.width, now.height / before.height];
  return Math.min(wider, 1 / wider, 1 / higher) >= SAME_ROOM && higher >= NO_LOWER;
}

/** @param {readonly Bubble[]} bubbles @param {Room} room @param {Places} before @param {boolean} isHeld */
function changed(bubbles, room, before, isHeld) {
  const made = rearranged(bubbles, room, before, isHeld);
  const isGood = bubbles.length > FEW && lowest(made.placed) <= Math.max(room.height, before.height);
  return (!isGood && !isHeld && centred(bubbles, room, before)) || made;
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

/**
 * A cloud to which more belong than before, from scratch, turned so that what stays moves least; null if that is far.
 * @param {readonly Bubble[]} bubbles @param {Room} room @param {Places} before
 */
function centred(bubbles, room, before) {
  const known = bubbles.filter(({ id }) => before.at[id]).length;
  const isMore = known < bubbles.length && known === Object.keys(before.at).length;
  if (!isMore) return null;
  const { placed, scale } = fresh(bubbles, room);
  const ratio = room.width / before.width;
  const were = sizesAt(before.scale * ratio, countsOf(bubbles), room.width, leastOf(bubbles), room.height);
  const stays = bubbles.map(({ id }) => scaled(before.at[id], ratio));
  const ways = mirrored(placed, room.width).map((spots) => ({ spots, moved: furthest(stays, spots, were) }));
  const [best] = ways.sort((a, b) => a.moved - b.moved);
  return best.moved <= NOT_FAR ? { placed: best.spots, scale } : null;
}

/** The same cloud and its mirror images. @param {readonly Placed[]} placed @param {number} width */
function mirrored(placed, width) {
  const ends = Math.min(...placed.map(({ y, r }) => y - r)) + lowest(placed);
  const aside = (/** @type {readonly Placed[]} */ spots) => spots.map((spot) => ({ ...spot, x: width - spot.x }));
  const upside = placed.map((spot) => ({ ...spot, y: ends - spot.y }));
  return [[...placed], aside(placed), upside, aside(upside)];
}

/**
 * How far the furthest moves, in its diameters.
 * @param {readonly ({ x: number, y: number } | null)[]} from @param {readonly Placed[]} to
 * @param {readonly number[]} radii
 */
function furthest(from, to, radii) {
  const apart = to.map(({ x, y }, i) => Math.hypot((from[i]?.x ?? x) - x, (from[i]?.y ?? y) - y));
  return Math.max(...apart.map((distance, i) => distance / (2 * radii[i])));
}

/** @param {readonly Placed[]} placed */
function lowest(placed) {
  return placed.length ? Math.max(...placed.map(({ y, r }) => y + r)) : Infinity;
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
  /** @type {{ placed: Placed[], scale: number }} */
  let best = { placed: [], scale };
  for (;;) {
    const sizes = sizesAt(scale, counts, width, leastOf(bubbles), height);
    const circles = bubbles.map(({ id }, i) => ({ r: sizes[i], at: scaled(before.at[id], ratio) }));
    const spots = settle(circles, width, GAP, !isHeld && (hasLeft || scale < was));
    const placed = spots.map((spot, i) => ({ ...spot, r: sizes[i] }));
    const moved = furthest(circles.map(({ at }) => at), placed, sizes);
    const isLast = isHeld || scale < was * SMALLEST;
    const isBetter = moved <= FURTHEST && lowest(placed) < lowest(best.placed);
    if (isBetter || (isLast && !best.placed.length)) best = { placed, scale };
    if (isLast || lowest(best.placed) <= Math.max(height, before.height * ratio)) return best;
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
