// @ts-check
/** A picture of what goes in: notes as dots, their links as lines, a ring for each step. */

import { visible } from "../lib/text.js";
import { wordsOf } from "./context-draft.js";

const SVG = "http://www.w3.org/2000/svg";
const RING = 46;
const EDGE = 14;
const MOST_DOTS = 60;
const FEWEST_DOTS = 2;
/** With more, their names would lie on each other. */
const MOST_NAMED = 8;
const LONGEST_NAME = 16;
/** The picture's height is twenty lines of its text. */
const LINES = 20;
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
  const inner = (depths[0]?.items.length ?? 0) > 1 ? RING / (isNamed ? 1 : 2) : 0;
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
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  const at = new Map(dots.map((dot) => [dot.key.split("#")[0], dot]));
  // Notes that link to each other have one line.
  const pairs = new Map(links.map((link) => [[...link].sort().join("\n"), link]));
  const lines = [...pairs.values()].flatMap(([from, to]) => {
    const [a, b] = [at.get(from), at.get(to)];
    return a && b ? [drawn("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y })] : [];
  });
  const textSize = dots.length <= MOST_NAMED ? size / LINES : 0;
  svg.replaceChildren(...lines, ...dots.map((dot, place) => dotOf(dot, place, textSize)));
}

/**
 * A link to the note's line in the list below.
 * @param {Dot} dot
 * @param {number} place
 * @param {number} textSize  Of its name; 0 for none.
 */
function dotOf({ key, depth, x, y }, place, textSize) {
  const { name } = wordsOf(key);
  const words = `${visible(name)}: ${depth === 0 ? "chosen" : `${depth} ${depth === 1 ? "link" : "links"} away`}`;
  const link = drawn("a", { href: `#item-${place}`, "aria-label": words, "data-hue": HUES[depth % HUES.length] });
  const title = drawn("title", {});
  title.textContent = words;
  link.append(title, drawn("circle", { class: "graph-room", cx: x, cy: y, r: 12 }), drawn("circle", { cx: x, cy: y, r: depth === 0 ? 7 : 5 }));
  if (textSize) {
    const label = drawn("text", { x, y: y + 8 + textSize, "font-size": textSize });
    label.textContent = name.length > LONGEST_NAME ? `${visible(name.slice(0, LONGEST_NAME - 1))}…` : visible(name);
    link.append(label);
  }
  return link;
}

/** @param {string} kind @param {Record<string, string | number>} attributes */
function drawn(kind, attributes) {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  return element;
}
