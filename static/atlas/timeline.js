// @ts-check
/** Messages over time: a row of days, weeks, months, quarters or years, and how many fall into each. Days are the reader's; the axis has them as if they were UTC's, since those have 24 hours each. */

/** @typedef {"day" | "week" | "month" | "quarter" | "year"} Unit */
/** @typedef {{ unit: Unit, starts: number[], end: number }} Axis  In ms; each period ends where the next one begins. */
/** @typedef {{ day: number, count: number }} Said  Messages of one day; its beginning in ms. */

const DAY_MS = 86_400_000;
const MOST_PERIODS = 60;
const EARLIEST = Date.UTC(1980, 0);
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/** In order; of each, the number of days that it has at least. @type {readonly [Unit, number][]} */
const UNITS = [["day", 1], ["week", 7], ["month", 28], ["quarter", 90], ["year", 365]];

/**
 * How many messages of topics were written on each day, as far as it is known.
 * @param {Iterable<{ all: readonly { days: readonly (readonly [number, number])[] }[] }>} topics
 * @returns {Said[]}
 */
export function daysOf(topics) {
  const days = [...topics].flatMap(({ all }) => all.flatMap((chat) => chat.days));
  return days.map(([day, count]) => ({ day: day * DAY_MS, count }));
}

/**
 * The periods between the first and the last day; null if no time is known. Times before 1980
 * and in the future are those of wrong clocks, and don't stretch it.
 * @param {readonly Said[]} said
 * @param {number} now  In ms.
 * @returns {Axis | null}
 */
export function axisOf(said, now) {
  if (!said.length) return null;
  const clamp = (/** @type {number} */ time) => Math.min(now, Math.max(EARLIEST, time));
  const first = said.reduce((least, { day }) => Math.min(least, clamp(day)), now);
  const last = said.reduce((most, { day }) => Math.max(most, clamp(day)), first);
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
 * How many messages fall into each period.
 * @param {Axis} axis
 * @param {readonly Said[]} said
 */
export function countsIn({ starts, end }, said) {
  const counts = starts.map(() => 0);
  for (const { day, count } of said) {
    counts[Math.max(0, starts.findLastIndex((start) => start <= Math.min(day, end - 1)))] += count;
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

/** The reader's clock as the axis has it, in ms. */
export function axisNow() {
  const now = new Date();
  return now.getTime() - now.getTimezoneOffset() * 60_000;
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
  return Number.isNaN(date.getTime()) ? "" : `${date.getDate()} ${shortDate(time)}`;
}

/** @param {string | null} time */
function shortDate(time) {
  const date = new Date(time ?? "");
  if (Number.isNaN(date.getTime())) return "";
  return `${MONTHS[date.getMonth()].slice(0, 3)} ${date.getFullYear()}`;
}
