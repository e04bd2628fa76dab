// @ts-check
/** A context attached to a chat, as a chip: its name, size and problems. */

import { short } from "./context-draft.js";
import { clone } from "../lib/from-template.js";
import { counted, numbered, visible } from "../lib/text.js";

/** @typedef {Record<string, any>} Chip  As `smart_context.chat_contexts` gives it. */

const NAMED = 5;

/** @param {Chip} chip @param {string} chatId */
export function chipOf(chip, chatId) {
  const made = clone("context-chip-template");
  const name = chip.is_own ? "Notes of this chat" : visible(chip.key);
  made.dataset.key = chip.key;
  const link = /** @type {HTMLAnchorElement} */ (made.querySelector("a"));
  link.textContent = name;
  link.href = `/contexts/${encodeURIComponent(chip.key)}?chat=${encodeURIComponent(chatId)}`;
  const { size, words, warns } = stateOf(chip);
  /** @type {HTMLElement} */ (made.querySelector(".chip-size")).textContent = size;
  /** @type {HTMLElement} */ (made.querySelector(".chip-words")).textContent = words;
  made.title = words;
  made.toggleAttribute("data-warns", warns);
  /** @type {HTMLElement} */ (made.querySelector(".chip-remove span")).textContent = `Remove ${name}`;
  return made;
}

/** The words of a chip, short and full, and whether there is a problem. @param {Chip} chip */
export function stateOf(chip) {
  if (chip.problem) return { size: "not sent", words: chip.problem, warns: true };
  const said = [`${counted(chip.notes, "note")}, ${counted(chip.tokens, "token")}.`];
  if (chip.cut.length) said.push(`Cut to fit: ${chip.cut.join(", ")}.`);
  if (chip.left_out_count) said.push(`Left out, there is no room: ${chip.left_out.slice(0, NAMED).join(", ")}${chip.left_out_count > NAMED ? ` and ${numbered(chip.left_out_count - NAMED)} more` : ""}.`);
  if (chip.missing.length) said.push(`Not found: ${chip.missing.join(", ")}.`);
  const parts = [short(chip.tokens)];
  if (chip.cut.length) parts.push("cut");
  if (chip.left_out_count) parts.push(`${numbered(chip.left_out_count)} left out`);
  if (chip.missing.length) parts.push(`${numbered(chip.missing.length)} missing`);
  return { size: parts.join(" · "), words: visible(said.join(" ")), warns: parts.length > 1 };
}
