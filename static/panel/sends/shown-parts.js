// @ts-check
/** Parts of a request as they are shown: pieces of a bar, rows of its legend, and their colours. */

import { hueOf } from "../../cloud/hues.js";
import { numbered } from "../../lib/text.js";

/** @typedef {import("./parts.js").Part & { topic?: string }} ShownPart */

/**
 * Gives an element the colour of a topic, or the grey of a part.
 * @param {HTMLElement} element @param {{ part: string, topic?: string }} source @param {ReadonlyMap<string, string>} hues  By label.
 */
export function colour(element, { part, topic }, hues) {
  if (topic) element.dataset.hue = hues.get(topic) ?? String(hueOf(topic));
  else element.dataset.part = part;
}

/** @param {ShownPart} shown @param {ReadonlyMap<string, string>} hues */
export function segment(shown, hues) {
  const piece = document.createElement("span");
  colour(piece, shown, hues);
  piece.title = `${shown.name}: ${numbered(shown.tokens)}`;
  piece.style.setProperty("--share", String(shown.share));
  return piece;
}

/** @param {ShownPart} shown @param {ReadonlyMap<string, string>} hues */
export function row(shown, hues) {
  const line = document.createElement("li");
  colour(line, shown, hues);
  const label = document.createElement("span");
  label.dir = "auto";
  label.textContent = shown.name;
  const count = document.createElement("span");
  count.textContent = numbered(shown.tokens);
  line.append(label, count);
  return line;
}
