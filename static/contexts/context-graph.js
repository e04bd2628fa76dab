// @ts-check
/** A graph of the context: notes as dots, links as lines, a ring for each depth. */

import { visible } from "../lib/text.js";
import { wordsOf } from "./context-draft.js";

const SVG = "http://www.w3.org/2000/svg";
const RING = 46;
const EDGE = 14;
/** Space for a dot on a ring. */
const DOT = 17;
const MOST_DOTS = 60;
const FEWEST_DOTS = 2;
/** With more dots, their names would overlap. */
const MOST_NAMED = 8;
const LONGEST_NAME = 16;
/** The picture's height is twenty lines of its text. */
const LINES = 20;
/** Coordinates; the centre is 0. */
const HEIGHT = 200;
/** The rings are ellipses, since names are wider than tall. */
const STRETCH = 1.5;
const FULL_TURN = 2 * Math.PI;
/** Colours of the depths, as the topics' hues. */
const HUES = ["9", "5", "1", "7", "3"];

/** @typedef {{ key: string, depth: number, x: number, y: number }} Dot */

/**
 * Places the notes: the chosen ones in the middle, each step on a ring of its own.
 * @param {readonly { depth: number, items: readonly { key: string }[] }[]} depths
 * @returns {{ dots: Dot[], size: number }}  Within a square of that size.
 */
export function ringsOf(depths) {
  const isNamed = depths.reduce((sum, { items }) => sum + items.length, 0) <= MOST_NAMED;
  const chosen = depths[0]?.items.length ?? 0;
  const roomy = Math.min(2 * RING, Math.max(RING / 2, (chosen * DOT) / FULL_TURN));
  const inner = chosen > 1 ? (isNamed ? RING : roomy) : 0;
  const size = 2 * (inner + RING * Math.max(0, depths.length - 1) + EDGE);
  const dots = depths.flatMap(({ depth, items }, ring) => items.map(({ key }, i) => {
    const angle = (FULL_TURN * (i + ring / 2)) / items.length - Math.PI / 2;
    const away = inner + RING * ring;
    return { key, depth, x: size / 2 + away * Math.cos(angle), y: size / 2 + away * Math.sin(angle) };
  }));
  return { dots: dots.slice(0, MOST_DOTS), size };
}

/** @param {SVGSVGElement} svg @param {{ depths: any[], links: [string, string][] }} preview */
export function showGraph(svg, { depths, links }) {
  const { dots, size } = ringsOf(depths);
  svg.toggleAttribute("hidden", dots.length < FEWEST_DOTS);
  const isNamed = dots.length <= MOST_NAMED;
  const scale = HEIGHT / size;
  const placed = dots.map(({ key, depth, x, y }) => (
    { key, depth, x: (x - size / 2) * scale * (isNamed ? STRETCH : 1), y: (y - size / 2) * scale }
  ));
  const at = new Map(placed.map((dot) => [dot.key.split("#")[0], dot]));
  // Notes that link to each other share one line.
  const pairs = new Map(links.map((link) => [[...link].sort().join("\n"), link]));
  const lines = [...pairs.values()].flatMap(([from, to]) => {
    const [a, b] = [at.get(from), at.get(to)];
    return a && b ? [lineOf(a, b)] : [];
  });
  follow(svg, [...lines, ...placed.map((dot, place) => dotOf(dot, place, scale, size / LINES, isNamed))]);
}

/**
 * Shows these parts; parts that are already there move to their new places and keep their focus.
 * @param {SVGSVGElement} svg
 * @param {readonly SVGElement[]} fresh
 */
function follow(svg, fresh) {
  const staying = /** @type {NodeListOf<SVGElement>} */ (svg.querySelectorAll("[data-key]:not([data-leaving])"));
  const shown = new Map([...staying].map((part) => [part.dataset.key, part]));
  const keys = new Set(fresh.map((part) => part.dataset.key));
  for (const [key, part] of shown) if (!keys.has(key)) leave(part);
  let next = svg.firstElementChild;
  for (const part of fresh) {
    const old = shown.get(part.dataset.key);
    if (old) become(old, part);
    while (next instanceof SVGElement && "leaving" in next.dataset) next = next.nextElementSibling;
    if (old && old === next) next = next.nextElementSibling;
    else svg.insertBefore(old ?? part, next);
  }
}

/** @param {SVGElement} old @param {SVGElement} fresh */
function become(old, fresh) {
  for (const { name, value } of fresh.attributes) if (name !== "style") old.setAttribute(name, value);
  for (const name of fresh.style) old.style.setProperty(name, fresh.style.getPropertyValue(name));
  old.toggleAttribute("data-unnamed", fresh.hasAttribute("data-unnamed"));
  old.replaceChildren(...fresh.childNodes);
}

/** @param {SVGElement} part */
async function leave(part) {
  part.dataset.leaving = "";
  part.removeAttribute("href");
  part.setAttribute("aria-hidden", "true");
  await Promise.allSettled(part.getAnimations().map(({ finished }) => finished));
  part.remove();
}

/** A line that has moved is another one. @param {Dot} a @param {Dot} b */
function lineOf(a, b) {
  const ends = { x1: a.x, y1: a.y, x2: b.x, y2: b.y };
  const line = drawn("line", ends);
  line.dataset.key = Object.values(ends).map((end) => end.toFixed(1)).join(" ");
  return line;
}

/**
 * A link to the note's line in the list below.
 * @param {Dot} dot
 * @param {number} place
 * @param {number} scale
 * @param {number} textSize  Of its name.
 * @param {boolean} isNamed  Otherwise its name is shown while it is looked at.
 */
function dotOf({ key, depth, x, y }, place, scale, textSize, isNamed) {
  const { name } = wordsOf(key);
  const words = `${visible(name)}: ${depth === 0 ? "chosen" : `${depth} ${depth === 1 ? "link" : "links"} away`}`;
  const link = drawn("a", { href: `#item-${place}`, "aria-label": words, "data-hue": HUES[depth % HUES.length] });
  link.dataset.key = `note ${key}`;
  link.style.setProperty("--x", x.toFixed(2));
  link.style.setProperty("--y", y.toFixed(2));
  link.style.setProperty("--scale", scale.toFixed(3));
  const title = drawn("title", {});
  title.textContent = words;
  link.append(title, drawn("circle", { class: "graph-room", r: 12 }), drawn("circle", { r: depth === 0 ? 7 : 5 }));
  link.toggleAttribute("data-unnamed", !isNamed);
  // Away from the centre, where the lines are.
  const label = drawn("text", { y: y < -1 ? -10 : 8 + textSize, "font-size": textSize });
  label.textContent = name.length > LONGEST_NAME ? `${visible(name.slice(0, LONGEST_NAME - 1))}…` : visible(name);
  link.append(label);
  return link;
}

/** @param {string} kind @param {Record<string, string | number>} attributes @returns {SVGElement} */
function drawn(kind, attributes) {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  return /** @type {SVGElement} */ (element);
}
