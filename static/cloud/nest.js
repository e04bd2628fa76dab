// @ts-check
/** Nests clouds: the bubbles of each theme fill a disc, and the discs fill the room. */

import { pack } from "./pack.js";
import { settle } from "./settle.js";

/** @typedef {{ id: string, count: number }} Bubble */
/**
 * @typedef {object} Theme
 * @property {string} id
 * @property {number} cap  The height of its name, which stands above the bubbles.
 * @property {number} least  The radius that the name needs.
 * @property {readonly Bubble[]} bubbles
 */
/** @typedef {import("./pack.js").Circle} Circle */
/** @typedef {import("./pack.js").Point} Point */
/** @typedef {{ width: number, height: number }} Room  In CSS pixels; the whole may be higher if it must. */
/**
 * @typedef {object} Places
 * @property {number} width
 * @property {number} height
 * @property {number} bottom  How high the whole is.
 * @property {number} scale
 * @property {number} smallest
 * @property {Record<string, number[]>} discs  Centre and radius, from the upper left corner.
 * @property {Record<string, number[]>} at  Of bubbles, from the centre of their disc.
 */
/** @typedef {{ scale: number, smallest: number, discs: Circle[], inner: Circle[][] }} Layout  `smallest`: the radius that bubbles have at least. */
/** @typedef {{ discs: Circle[], bubbles: Circle[][], height: number, places: Places }} Nest  Bubbles from the centre of their disc. */

/** A finger or a pointer still hits a bubble of this radius. */
export const SMALLEST = 13;
/** Where there is room for it, none is smaller than this, so that each has a label. */
const ROOMY = 24;
/** Of a room, for bubbles of the smallest size. */
const SMALL_SHARE = 0.12;
/** Of the height of a room, for the radius that a name needs. */
const NAME_SHARE = 0.28;
/** What is a little too high for its room is made so much smaller at most. */
const SHRINK = 0.925;
/** The same where places are kept: one after the other is tried. */
const SMALLER = [0.95, 0.9, 0.8];
const LARGEST_SHARE = 0.2;
const GAP = 2.5;
const RIM = 8;
/** Between discs. */
const APART = 14;
const FILL = 0.4;
const ROUNDS = 6;
/** In so many of them only larger bubbles become smaller. */
const LARGE_FIRST = 2;
/** Sizes follow the counts only when they are this far off. */
const SLACK = 0.2;
const SAME_ROOM = 0.5;
/** Flat clouds and round ones are tried; the lowest is taken. */
const SQUEEZES = [0.9, 0.7, 0.5, 0.35];

/**
 * @param {readonly Theme[]} themes  Largest first.
 * @param {Room} room
 * @param {Places | null} [before]  What is there keeps its place, or nearly.
 * @returns {Nest}
 */
export function nest(themes, room, before = null) {
  const isKnown = before !== null && isSame(before, room) && themes.some(({ id }) => before.discs[id]);
  const { scale, smallest, discs, inner } = isKnown ? again(themes, room, before) : fresh(themes, room);
  const bottom = lowestOf(discs);
  const places = {
    ...room,
    bottom,
    scale,
    smallest,
    discs: Object.fromEntries(themes.map(({ id }, i) => [id, [discs[i].x, discs[i].y, discs[i].r].map(round)])),
    at: Object.fromEntries(themes.flatMap(({ bubbles }, i) => bubbles.map(({ id }, j) => [id, pointOf(inner[i][j])]))),
  };
  const bubbles = inner.map((circles, i) => {
    const lower = Math.min(lackingIn(themes[i], circles) / 2, Math.max(0, discs[i].r - radiusOf(circles)));
    return circles.map(({ x, y, r }) => ({ x, y: y + lower, r }));
  });
  return { discs, bubbles, height: bottom + APART, places };
}

/** The places in a stored text; null if it is not valid. @param {string} text @returns {Places | null} */
export function nestIn(text) {
  try {
    const { width, height, bottom, scale, smallest, discs, at } = JSON.parse(text);
    const lengths = [width, height, bottom, scale, smallest];
    const numbers = [...lengths, ...Object.values(discs).flat(), ...Object.values(at).flat()];
    const isSound = numbers.every((value) => Number.isFinite(value)) && Math.min(...lengths) > 0;
    return isSound ? { width, height, bottom, scale, smallest, discs, at } : null;
  } catch {
    return null;
  }
}

/** @param {Room} before @param {Room} now */
function isSame(before, now) {
  const ratios = [now.width / before.width, now.height / before.height];
  return ratios.every((ratio) => Math.min(ratio, 1 / ratio) >= SAME_ROOM);
}

/** @param {readonly Theme[]} themes @param {Room} room @returns {Layout} */
function fresh(themes, room) {
  const sum = themes.flatMap(({ bubbles }) => bubbles).reduce((total, { count }) => total + Math.max(1, count), 0);
  const number = themes.reduce((total, { bubbles }) => total + bubbles.length, 0);
  let scale = Math.sqrt((FILL * room.width * room.height) / (Math.PI * Math.max(1, sum)));
  let smallest = Math.sqrt((SMALL_SHARE * room.width * room.height) / (Math.PI * Math.max(1, number)));
  smallest = Math.max(SMALLEST, Math.min(ROOMY, smallest));
  for (let round = 1; ; round++) {
    const inner = themes.map(({ bubbles }) => filled(bubbles.map(({ count }) => sizeOf(count, scale, smallest, room))));
    const discs = packed(radiiFor(themes, inner, room), room);
    const height = lowestOf(discs) + APART;
    const widest = 2 * (Math.max(0, ...inner.map((circles, i) => neededBy(themes[i], circles))) + APART);
    const excess = Math.max(height / room.height, widest / room.width);
    const layout = { scale, smallest, discs, inner };
    if (excess * SHRINK <= 1 || round === ROUNDS) return fitted(layout, height, room);
    scale /= excess;
    if (round > LARGE_FIRST || widest > room.width) smallest = Math.max(SMALLEST, smallest / excess);
  }
}

/** The discs in the middle of the width, as low as can be. @param {readonly number[]} radii @param {Room} room @returns {Circle[]} */
function packed(radii, { width }) {
  const layouts = SQUEEZES.map((squeeze) => {
    const circles = pack(radii, APART, width - 2 * APART, squeeze).map((spot, i) => ({ ...spot, r: radii[i] }));
    const top = Math.min(...circles.map(({ y, r }) => y - r)) - APART;
    const middle = (Math.min(...circles.map(({ x, r }) => x - r)) + Math.max(...circles.map(({ x, r }) => x + r))) / 2;
    return circles.map(({ x, y, r }) => ({ x: x - middle + width / 2, y: y - top, r }));
  });
  return layouts.reduce((best, layout) => (lowestOf(layout) < lowestOf(best) ? layout : best));
}

/** What is a little too high becomes smaller; what is lower than the room stands in its middle. @param {Layout} layout @param {number} height @param {Room} room @returns {Layout} */
function fitted({ scale, smallest, discs, inner }, height, room) {
  const widest = 2 * (Math.max(0, ...discs.map(({ r }) => r)) + APART);
  const by = Math.min(1, Math.max(SHRINK, Math.min((room.height - APART) / (height - APART), room.width / widest)));
  const above = Math.max(0, (room.height - APART - (height - APART) * by) / 2);
  const middle = room.width / 2;
  return {
    scale: scale * by,
    smallest: smallest * by,
    discs: discs.map(({ x, y, r }) => ({ x: middle + (x - middle) * by, y: y * by + above, r: r * by })),
    inner: inner.map((bubbles) => bubbles.map(({ x, y, r }) => ({ x: x * by, y: y * by, r: r * by }))),
  };
}

/** What is a little too high for its room becomes smaller at its places, or finds others. @param {readonly Theme[]} themes @param {Room} room @param {Places} before @returns {Layout} */
function again(themes, room, before) {
  const layout = kept(themes, room, before, 1);
  const most = Math.max(room.height, (before.bottom * room.height) / before.height);
  if (lowestOf(layout.discs) > most * (1 + SLACK)) return fresh(themes, room);
  const fits = (/** @type {Layout} */ { discs }) => lowestOf(discs) + APART <= room.height;
  if (fits(layout)) return layout;
  const isSameRoom = room.width === before.width && room.height === before.height;
  // What did not fit into this room does not fit now; and in the same window nobody expects all to move.
  const tried = isSameRoom ? (before.bottom + APART > room.height ? [] : SMALLER.slice(0, 2)) : SMALLER;
  for (const by of tried) {
    const smaller = kept(themes, room, before, by);
    if (fits(smaller)) return smaller;
  }
  const anew = isSameRoom ? layout : fresh(themes, room);
  return fits(anew) ? anew : layout;
}

/** @param {readonly Theme[]} themes @param {Room} room @param {Places} before @param {number} by  How large it becomes. @returns {Layout} */
function kept(themes, room, before, by) {
  const [wider, higher] = [room.width / before.width, room.height / before.height];
  const larger = Math.sqrt(wider * higher) * by;
  const scale = before.scale * larger;
  const smallest = Math.max(Math.min(SMALLEST, before.smallest), before.smallest * Math.min(1, larger));
  const fills = themes.map(({ id, bubbles }) => {
    const radii = bubbles.map(({ count }) => sizeOf(count, scale, smallest, room));
    const [, , radius] = before.discs[id] ?? [];
    if (radius === undefined) return { circles: filled(radii), x: 0, y: 0 };
    const circles = bubbles.map((bubble, i) => ({ r: radii[i], at: scaled(before.at[bubble.id], larger, larger) }));
    return refilled(circles, radius * larger);
  });
  const inner = fills.map(({ circles }) => circles);
  // Where all had to become smaller, names have less room than they need.
  const named = themes.map((theme) => {
    const [, , radius] = before.discs[theme.id] ?? [0, 0, theme.least];
    return { ...theme, least: Math.max(SHRINK * theme.least, Math.min(theme.least, radius * larger)) };
  });
  const radii = radiiFor(named, inner, room);
  const circles = themes.map(({ id }, i) => {
    const at = scaled(before.discs[id], wider, higher);
    return { r: radii[i], at: at && { x: at.x + fills[i].x - APART, y: at.y + fills[i].y - APART } };
  });
  const hasLeft = Object.keys(before.discs).some((id) => !themes.some((theme) => theme.id === id));
  const spots = settle(circles, room.width - 2 * APART, APART, hasLeft);
  const discs = spots.map(({ x, y }, i) => ({ x: x + APART, y: y + APART, r: radii[i] }));
  const over = lowestOf(discs) + APART - room.height;
  const above = Math.min(...discs.map(({ y, r }) => y - r)) - APART;
  const up = Math.max(0, Math.min(over, above));
  return { scale, smallest, discs: discs.map((disc) => ({ ...disc, y: disc.y - up })), inner };
}

/** @param {number} count @param {number} scale @param {number} smallest @param {Room} room */
function sizeOf(count, scale, smallest, { width, height }) {
  const largest = Math.max(smallest, LARGEST_SHARE * Math.min(width, height));
  return Math.min(largest, Math.max(smallest, scale * Math.sqrt(Math.max(1, count))));
}

/** The bubbles of a disc around its centre. @param {readonly number[]} radii @returns {Circle[]} */
function filled(radii) {
  const spots = pack(radii, GAP, Infinity, 1);
  return centred(spots.map((spot, i) => ({ ...spot, r: radii[i] }))).circles;
}

/**
 * The same after some have come, gone or grown, and how far the centre has moved.
 * @param {readonly import("./settle.js").Circle[]} bubbles @param {number} disc  Its radius before.
 */
function refilled(bubbles, disc) {
  const half = 1.5 * disc + Math.max(...bubbles.map(({ r }) => r));
  const inBox = bubbles.map(({ r, at }) => ({ r, at: at && { x: at.x + half, y: at.y + half } }));
  const spots = settle(inBox, 2 * half, GAP);
  const circles = spots.map(({ x, y }, i) => ({ x: x - half, y: y - half, r: bubbles[i].r }));
  const isNew = bubbles.some(({ at }) => !at);
  return isNew || radiusOf(circles) > disc ? centred(circles) : { circles, x: 0, y: 0 };
}

/** @param {readonly Theme[]} themes @param {readonly Circle[][]} inner @param {Room} room */
function radiiFor(themes, inner, { width, height }) {
  return themes.map((theme, i) => {
    const least = Math.min(theme.least, NAME_SHARE * height);
    return Math.min(width / 2 - APART, Math.max(least, neededBy(theme, inner[i])));
  });
}

/** The radius of a disc that holds its bubbles, and its name above them. @param {Theme} theme @param {readonly Circle[]} bubbles */
function neededBy(theme, bubbles) {
  return radiusOf(bubbles) + RIM + lackingIn(theme, bubbles) / 2;
}

/** The height that a name lacks above the bubbles of its disc. @param {Theme} theme @param {readonly Circle[]} bubbles */
function lackingIn({ cap }, bubbles) {
  const free = radiusOf(bubbles) + RIM + Math.min(...bubbles.map(({ y, r }) => y - r));
  return Math.max(0, cap - free);
}

/** @param {readonly Circle[]} discs */
function lowestOf(discs) {
  return Math.max(0, ...discs.map(({ y, r }) => y + r));
}

/** @param {number[] | undefined} at @param {number} wider @param {number} higher */
function scaled(at, wider, higher) {
  return at ? { x: at[0] * wider, y: at[1] * higher } : null;
}

/** @param {readonly Circle[]} circles */
function radiusOf(circles) {
  return Math.max(SMALLEST, ...circles.map(({ x, y, r }) => Math.hypot(x, y) + r));
}

/** Circles moved so that a small circle around them has its centre at (0, 0). @param {Circle[]} circles */
function centred(circles) {
  let [cx, cy] = [0, 0];
  // Towards the furthest one, ever less: Bădoiu and Clarkson, Optimal core-sets for balls (2003).
  for (let step = 2; step < 60; step++) {
    let furthest = circles[0];
    let distance = -1;
    for (const circle of circles) {
      const far = Math.hypot(circle.x - cx, circle.y - cy) + circle.r;
      if (far > distance) [furthest, distance] = [circle, far];
    }
    if (!furthest) break;
    const away = Math.hypot(furthest.x - cx, furthest.y - cy) || 1;
    const rim = distance / away / step;
    cx += (furthest.x - cx) * rim;
    cy += (furthest.y - cy) * rim;
  }
  const [x, y] = [cx, cy];
  const moved = circles.map((circle) => ({ x: circle.x - x, y: circle.y - y, r: circle.r }));
  return radiusOf(moved) < radiusOf(circles) ? { circles: moved, x, y } : { circles, x: 0, y: 0 };
}

/** @param {Point} place */
function pointOf({ x, y }) {
  return [round(x), round(y)];
}

/** @param {number} length */
function round(length) {
  return Math.round(length * 10) / 10;
}
