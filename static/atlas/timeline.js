// @ts-check
/** Messages over time: a row of days, weeks, months, quarters or years, and how many fall into each. All in UTC. */

/** @typedef {"day" | "week" | "month" | "quarter" | "year"} Unit */
/** @typedef {{ unit: Unit, starts: number[], end: number }} Axis  In ms; each period ends where the next one begins. */
/** @typedef {{ from: number, to: number, count: number }} Span  Messages somewhere between two times, in ms. */

const DAY_MS = 86_400_000;
const MOST_PERIODS = 60;
const EARLIEST = Date.UTC(1980, 0);
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/** In order; of each, the number of days that it has at least. @type {readonly [Unit, number][]} */
const UNITS = [["day", 1], ["week", 7], ["month", 28], ["quarter", 90], ["year", 365]];

/**
 * When the messages of topics were written, as far as it is known.
 * @param {Iterable<{ all: readonly { messages: number, first_at: string | null, last_at: string | null }[] }>} topics
 * @returns {Span[]}
 */
export function spansOf(topics) {
  /** @type {Span[]} */
  const spans = [];
  for (const { all } of topics) {
    for (const { messages, first_at: first, last_at: last } of all) {
      const from = Date.parse(first ?? last ?? "");
      const to = Date.parse(last ?? first ?? "");
      if (!Number.isFinite(from + to)) continue;
      spans.push({ from: Math.min(from, to), to: Math.max(from, to), count: messages });
    }
  }
  return spans;
}

/**
 * The periods between the first and the last message; null if no time is known. Times before 1980
 * and in the future are those of wrong clocks, and don't stretch it.
 * @param {readonly Span[]} spans
 * @param {number} now  In ms.
 * @returns {Axis | null}
 */
export function axisOf(spans, now) {
  if (!spans.length) return null;
  const clamp = (/** @type {number} */ time) => Math.min(now, Math.max(EARLIEST, time));
  const first = spans.reduce((least, { from }) => Math.min(least, clamp(from)), now);
  const last = spans.reduce((most, { to }) => Math.max(most, clamp(to)), first);
  const [unit] = UNITS.find(([, days]) => (last - first) / DAY_MS / days < MOST_PERIODS) ?? UNITS[UNITS.length - 1];
  const starts = [startOf(unit, first)];
  for (;;) {
    const next = nextOf(unit, starts[starts.length - 1]);
    if (next > last) return { unit, starts, end: next };
    starts.push(next);
  }
}

/** The beginning of the period that holds a time. @param {Unit} unit @param {number} time */
function startOf(unit, time) {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const day = Math.floor(time / DAY_MS) * DAY_MS;
  if (unit === "day") return day;
  if (unit === "week") return day - ((date.getUTCDay() + 6) % 7) * DAY_MS;
  return Date.UTC(year, { month, quarter: month - (month % 3), year: 0 }[unit]);
}

/** @param {Unit} unit @param {number} start */
function nextOf(unit, start) {
  const months = { day: 0, week: 0, month: 1, quarter: 3, year: 12 }[unit];
  const date = new Date(start);
  return months ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months) : start + (unit === "day" ? 1 : 7) * DAY_MS;
}

/**
 * How many messages fall into each period; those of a span are spread evenly over it.
 * @param {Axis} axis
 * @param {readonly Span[]} spans
 */
export function countsIn({ starts, end }, spans) {
  const counts = starts.map(() => 0);
  const at = (/** @type {number} */ time) => Math.max(0, starts.findLastIndex((start) => start <= Math.min(time, end - 1)));
  for (const { from, to, count } of spans) {
    const [first, last] = [at(from), at(to)];
    for (let i = first; i <= last; i++) {
      const shared = Math.min(to, starts[i + 1] ?? end) - Math.max(from, starts[i]);
      counts[i] += first === last ? count : (count * Math.max(0, shared)) / (to - from);
    }
  }
  return counts;
}

/** The first and the last period that two dates leave. @param {Axis} axis @param {string} since @param {string} until @returns {[number, number]} */
export function periodsBetween({ starts }, since, until) {
  const first = since ? Math.max(0, starts.findLastIndex((start) => start <= Date.parse(since))) : 0;
  const last = until ? Math.max(first, starts.findLastIndex((start) => start <= Date.parse(until))) : starts.length - 1;
  return [first, last];
}

/** The dates from one period to another; empty where nothing is left out. @param {Axis} axis @param {number} first @param {number} last */
export function datesOf({ starts, end }, first, last) {
  const isoDate = (/** @type {number} */ time) => new Date(time).toISOString().slice(0, 10);
  return {
    since: first > 0 ? isoDate(starts[first]) : "",
    until: last < starts.length - 1 ? isoDate((starts[last + 1] ?? end) - DAY_MS) : "",
  };
}

/** A period in words: `March 2024`. @param {Axis} axis @param {number} i */
export function periodInWords({ unit, starts }, i) {
  const date = new Date(starts[i]);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (unit === "year") return String(year);
  if (unit === "quarter") return `${MONTHS[month].slice(0, 3)}–${MONTHS[month + 2].slice(0, 3)} ${year}`;
  if (unit === "month") return `${MONTHS[month]} ${year}`;
  return `${unit === "week" ? "Week of " : ""}${date.getUTCDate()} ${MONTHS[month]} ${year}`;
}

/** Days from the first to the last time, short: `Mar 2023 – Jun 2025`. @param {string | null} first @param {string | null} last */
export function spanInWords(first, last) {
  const [from, to] = [shortDate(first), shortDate(last)];
  return from === to || !from || !to ? from || to : `${from} – ${to}`;
}

/** `26 Dec 2024`; empty if it is not a time. @param {string | null} time */
export function dayInWords(time) {
  const date = new Date(time ?? "");
  return Number.isNaN(date.getTime()) ? "" : `${date.getUTCDate()} ${shortDate(time)}`;
}

/** @param {string | null} time */
function shortDate(time) {
  const date = new Date(time ?? "");
  if (Number.isNaN(date.getTime())) return "";
  return `${MONTHS[date.getUTCMonth()].slice(0, 3)} ${date.getUTCFullYear()}`;
}
