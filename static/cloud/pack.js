// @ts-check
/** Packs circles: biggest first, each where it touches two others and is nearest to the middle. */

/** @typedef {{ x: number, y: number }} Point  In CSS pixels; (0, 0) is the middle. */
/** @typedef {Point & { r: number }} Circle */

const TOUCHING = 1e-6;

const EVER_SMALLER = [0.44, 0.39, 0.34, 0.3].map((fill, i) => ({ fill, min: 32 - 2 * i }));
const TALLEST = 1.1;
const SMALLEST = 30;
const LARGEST = 92;
/** In a room that is wider than a panel, bubbles may take this share of its shorter side. */
const LARGEST_SHARE = 0.23;
/** How much nearer to the middle a place beside it counts than one above; less in a low room. */
const SQUEEZE = 0.9;
const LOWEST_SQUEEZE = 0.35;
/** More circles than this are packed from the middle only. */
const MANY = 24;

/**
 * A cloud of these counts: as large as it can be without becoming taller than its room, or nearly than its width.
 * @param {readonly number[]} counts
 * @param {number} width
 * @param {number} gap
 * @param {readonly number[]} [least]  The radius that each needs for its label.
 * @param {number} [room]  The height that there is for it.
 * @returns {{ sizes: number[], places: Point[], scale: number }}  Radii, centres, and the radius for a count of 1.
 */
export function cloud(counts, width, gap, least = [], room = TALLEST * width) {
  /** @type {ReturnType<typeof cloud>} */
  let found = { sizes: [], places: [], scale: 1 };
  const squeeze = squeezeIn(width, room);
  for (const limits of [{}, ...EVER_SMALLER]) {
    const scale = scaleOf(counts, width, limits, room);
    const sizes = sizesAt(scale, counts, width, least, room);
    const isAsBefore = found.sizes.length > 0 && sizes.every((size, i) => size === found.sizes[i]);
    found = { sizes, places: isAsBefore ? found.places : pack(sizes, gap, width, squeeze), scale };
    if (height(found.places, sizes) <= Math.min(TALLEST * width, room)) break;
  }
  return found;
}

/**
 * Radii at a scale: the square root of the count times it, within what a bubble may be.
 * @param {number} scale
 * @param {readonly number[]} counts
 * @param {number} width
 * @param {readonly number[]} [least]
 * @param {number} [room]
 */
export function sizesAt(scale, counts, width, least = [], room = Infinity) {
  const largest = largestIn(width, room);
  const ideal = (/** @type {number} */ count) => scale * Math.sqrt(Math.max(1, count));
  return counts.map((count, i) => Math.min(largest, Math.max(least[i] ?? SMALLEST, ideal(count))));
}

/**
 * Radii whose areas are proportional to the counts.
 *
 * Together they cover about `fill` of a square of the width. Only when the largest count is more
 * than (max / min)² times the smallest are the small ones larger than their share.
 * @param {readonly number[]} counts  Anything below 1 counts as 1.
 * @param {number} width  In CSS pixels.
 * @param {{ min?: number, max?: number, fill?: number }} [limits]
 * @returns {number[]}
 */
export function radii(counts, width, limits = {}) {
  const { min = 34 } = limits;
  return sizesAt(scaleOf(counts, width, limits), counts, width, counts.map(() => min));
}

/** The largest radius, so that others have room above or below. @param {number} width @param {number} room */
function largestIn(width, room) {
  const most = Math.max(LARGEST, LARGEST_SHARE * Math.min(width, room));
  return Math.min(most, width / 2, room / 3);
}

/** @param {readonly number[]} counts @param {number} width @param {{ min?: number, max?: number, fill?: number }} [limits] @param {number} [room] */
function scaleOf(counts, width, { min = 34, max = Infinity, fill = 0.5 } = {}, room = Infinity) {
  const known = counts.length ? counts.map((count) => Math.max(1, count)) : [1];
  const sum = known.reduce((total, count) => total + count, 0);
  const ideal = Math.sqrt((fill * width * width) / (Math.PI * sum));
  const floor = min / Math.sqrt(Math.min(...known));
  const ceiling = Math.min(max, largestIn(width, room)) / Math.sqrt(Math.max(...known));
  return Math.min(ceiling, Math.max(floor, ideal));
}

/**
 * A centre for each circle, none overlapping, none outside the width. Same input, same layout.
 *
 * The first circle is tried at several places between the wall and the middle; the layout that
 * takes least height is kept.
 * @param {readonly number[]} circles  Radii; each at most half of the width.
 * @param {number} gap  Between circles.
 * @param {number} [width]
 * @param {number} [squeeze]  Below 1, the whole becomes wider than high.
 * @returns {Point[]}
 */
export function pack(circles, gap, width = Infinity, squeeze = SQUEEZE) {
  const order = circles.map((_, i) => i).sort((a, b) => circles[b] - circles[a] || a - b);
  const isFew = circles.length > 1 && circles.length <= MANY;
  const room = width < Infinity && isFew ? width / 2 - circles[order[0]] : 0;
  const starts = room > 0 ? [0, 0.25, 0.5, 0.75, 1].map((share) => -room * share) : [0];
  const layouts = starts.map((x) => packFrom({ x, y: 0 }, circles, order, { gap, width, squeeze }));
  const heights = layouts.map((places) => height(places, circles));
  return layouts[heights.indexOf(Math.min(...heights))];
}

/** The squeeze with which circles fill a room of this shape. @param {number} width @param {number} room  Its height. */
function squeezeIn(width, room) {
  return Math.max(LOWEST_SQUEEZE, Math.min(SQUEEZE, room / width));
}

/** @param {readonly Point[]} places @param {readonly number[]} circles */
function height(places, circles) {
  const bottom = Math.max(...places.map(({ y }, i) => y + circles[i]));
  return Math.round(bottom - Math.min(...places.map(({ y }, i) => y - circles[i])));
}

/**
 * @param {Point} start  Of the biggest circle.
 * @param {readonly number[]} circles
 * @param {readonly number[]} order
 * @param {{ gap: number, width: number, squeeze: number }} room
 */
function packFrom(start, circles, order, { gap, width, squeeze }) {
  /** @type {Point[]} */
  const places = new Array(circles.length);
  /** @type {Circle[]} */
  const placed = [];
  /** Circles with no room around them for another of this size. @type {Set<Circle>} */
  const closed = new Set();
  for (const [n, i] of order.entries()) {
    const r = circles[i] + gap / 2;
    if (n && circles[order[n - 1]] > circles[i]) closed.clear();
    const spot = n ? nearestSpot(r, placed, { wall: width / 2 + gap / 2, squeeze, closed }) : start;
    for (const one of closed) if (isInReach(one, { ...spot, r }, r)) closed.delete(one);
    placed.push({ ...spot, r });
    places[i] = spot;
  }
  return places;
}

/**
 * A centre, from the upper left corner, where a circle overlaps none of those that are placed.
 * @param {number} r
 * @param {readonly Circle[]} placed
 * @param {number} width
 * @param {number} gap
 * @returns {Point}
 */
export function freeSpot(r, placed, width, gap) {
  if (!placed.length) return { x: width / 2, y: Math.max(r, width / 2) };
  const bottom = Math.max(...placed.map((circle) => circle.y + circle.r));
  const middle = { x: width / 2, y: Math.max(bottom, width) / 2 };
  const around = placed.map((circle) => ({ x: circle.x - middle.x, y: circle.y - middle.y, r: circle.r + gap / 2 }));
  const spot = nearestSpot(r + gap / 2, around, { wall: width / 2 + gap / 2, ceiling: middle.y + gap / 2 });
  return { x: spot.x + middle.x, y: spot.y + middle.y };
}

/**
 * @param {number} r
 * @param {readonly Circle[]} placed
 * @param {{ wall: number, ceiling?: number, squeeze?: number, closed?: Set<Circle> }} room  `wall`: how far the walls are from the middle; `ceiling`: how far what is above is.
 * @returns {Point}
 */
function nearestSpot(r, placed, { wall, ceiling = Infinity, squeeze = SQUEEZE, closed = new Set() }) {
  /** @type {Point} */
  let best = { x: 0, y: Math.max(...placed.map((circle) => circle.y + circle.r)) + r };
  let bestDistance = Infinity;
  for (const [i, a] of placed.entries()) {
    if (closed.has(a)) continue;
    let isClosed = true;
    const near = placed.filter((b) => isInReach(a, b, r));
    const later = near.length === placed.length ? placed.slice(i + 1) : near.slice(near.indexOf(a) + 1);
    for (const spot of spots(r, a, later, placed.length === 1, wall)) {
      const distance = Math.hypot(spot.x * squeeze, spot.y);
      const isFurther = distance >= bestDistance - TOUCHING || spot.y - r < -ceiling - TOUCHING;
      if (!isFurther && !isFree(spot, r, near, wall)) continue;
      isClosed = false;
      if (!isFurther) [best, bestDistance] = [spot, distance];
    }
    if (isClosed) closed.add(a);
  }
  return best;
}

/** Whether a circle of radius r can touch the one and meet the other. @param {Circle} a @param {Circle} b @param {number} r */
function isInReach(a, b, r) {
  return (b.x - a.x) ** 2 + (b.y - a.y) ** 2 <= (a.r + b.r + 2 * r + TOUCHING) ** 2;
}

/**
 * Where a circle of radius r would touch `a` and one of the others, or `a` and a wall.
 * @param {number} r
 * @param {Circle} a
 * @param {readonly Circle[]} others
 * @param {boolean} isAlone
 * @param {number} wall
 * @returns {Point[]}
 */
function spots(r, a, others, isAlone, wall) {
  const reach = a.r + r;
  const found = isAlone ? [{ x: a.x + reach, y: a.y }, { x: a.x, y: a.y + reach }] : [];
  for (const x of [r - wall, wall - r]) {
    const rise = Math.sqrt(reach ** 2 - (x - a.x) ** 2);
    if (rise >= 0) found.push({ x, y: a.y - rise }, { x, y: a.y + rise });
  }
  for (const b of others) found.push(...touchingBoth(a, b, r));
  return found;
}

/**
 * @param {Circle} a
 * @param {Circle} b
 * @param {number} r
 * @returns {Point[]}
 */
function touchingBoth(a, b, r) {
  const [ra, rb] = [a.r + r, b.r + r];
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const distance = Math.hypot(dx, dy);
  const along = (ra ** 2 - rb ** 2 + distance ** 2) / (2 * distance);
  const across = Math.sqrt(ra ** 2 - along ** 2);
  if (!(across >= 0)) return [];
  const [ux, uy] = [dx / distance, dy / distance];
  const [mx, my] = [a.x + along * ux, a.y + along * uy];
  return [
    { x: mx - across * uy, y: my + across * ux },
    { x: mx + across * uy, y: my - across * ux },
  ];
}

/**
 * @param {Point} spot
 * @param {number} r
 * @param {readonly Circle[]} placed
 * @param {number} wall
 */
function isFree({ x, y }, r, placed, wall) {
  if (Math.abs(x) + r > wall + TOUCHING) return false;
  return placed.every((other) => Math.hypot(x - other.x, y - other.y) >= r + other.r - TOUCHING);
}
