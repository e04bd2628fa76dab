// @ts-check
/** Attachments as values, and functions of them. */

import { counted, numbered } from "../lib/text.js";

/**
 * @typedef {object} Stored  A file as the server keeps it, or a link.
 * @property {string} [storage_key]
 * @property {string} [name]
 * @property {string} [file_type]
 * @property {number} [size]
 * @property {string} [url]
 * @property {string} [title]
 * @property {boolean} [whole]  All of a long text goes.
 */
/**
 * @typedef {object} Cut  How much of a long text goes.
 * @property {string} storage_key
 * @property {number} shown
 * @property {number} total
 * @property {"lines" | "characters"} unit
 * @property {number} tokens  Of the whole text.
 */
/** @typedef {{ cuts: readonly Cut[], canAsk: boolean }} Cuts */
/**
 * @typedef {object} Attached
 * @property {number} id  Names it on this page.
 * @property {"file" | "link"} kind
 * @property {string} name
 * @property {number} size  In bytes.
 * @property {"sending" | "ready" | "failed" | "refused"} state  What was refused would be refused again.
 * @property {string} told  What the user should know of it: why it failed, or a warning.
 * @property {Stored | null} stored
 * @property {string} [path]  Where it is in the vault.
 * @property {boolean} [isWhole]  All of it will go once it is stored.
 */

export const MOST_FILES = 20;
/** What is told of a picture where pictures are not sent. */
export const UNSEEN = "This model can’t see images; only the name is sent.";
const MIB = 2 ** 20;
const ADDRESS = /^(?:https?:\/\/|mailto:|obsidian:\/\/)\S+$/i;
const SHOWN_AS_PICTURE = /^image\/(?:png|jpeg|gif|webp)$/;

/** A size for users: `17 bytes`, `2.4 kB`, `11 MB`. @param {number} bytes */
export function sizeInWords(bytes) {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  const [amount, unit] = bytes < 999_500 ? [bytes / 1000, "kB"] : [bytes / 1e6, "MB"];
  return `${amount < 9.95 ? amount.toFixed(1).replace(/\.0$/, "") : Math.round(amount)} ${unit}`;
}

/**
 * Why a file can't be attached, as far as the page can tell before the upload; empty if it can.
 * @param {{ size: number, isFolder?: boolean }} file
 * @param {number} maxBytes
 */
export function refusal({ size, isFolder = false }, maxBytes) {
  if (isFolder) return "A folder can’t be attached; pick the files in it.";
  if (size > maxBytes) return `Too large: ${sizeInWords(size)}; the limit is ${Math.floor(maxBytes / MIB)} MiB.`;
  return size === 0 ? "Empty: there is nothing to attach." : "";
}

/** The address in a text that consists of nothing else; empty otherwise. @param {string} text */
export function addressIn(text) {
  const bare = text.trim();
  return bare.length <= 2000 && ADDRESS.test(bare) && URL.canParse(bare) ? bare : "";
}

/**
 * What goes of a long text: `First 100 of 60,000 lines · the model can ask for more`.
 * @param {Cut} cut
 * @param {boolean} canAsk  The model may read files.
 */
export function cutInWords({ shown, total, unit }, canAsk) {
  const rest = unit === "characters" ? " · the rest has no room" : canAsk ? " · the model can ask for more" : "";
  return `First ${numbered(shown)} of ${numbered(total)} ${unit}${rest}`;
}

/** True if a browser can show a thumbnail of it. @param {Stored | null} stored */
export function isPicture(stored) {
  return SHOWN_AS_PICTURE.test(stored?.file_type ?? "");
}

/**
 * Why a message can't be sent yet; empty if it can.
 * @param {readonly Attached[]} attached
 */
export function holdReason(attached) {
  const failed = attached.filter(({ state }) => state === "failed" || state === "refused");
  if (failed.length === 1) return `“${failed[0].name}” could not be attached. Remove it to send the message without it.`;
  if (failed.length) return `${numbered(failed.length)} files could not be attached. Remove them to send the message without them.`;
  const left = attached.filter(({ state }) => state === "sending").length;
  return left ? `Still attaching ${counted(left, "file")}…` : "";
}

/**
 * The parameters of `chat.send`.
 * @param {readonly Attached[]} attached
 * @returns {{ files?: Stored[], links?: Stored[] }}
 */
export function asParams(attached) {
  /** @param {"file" | "link"} kind */
  const stored = (kind) => attached.filter((one) => one.kind === kind && one.stored).map((one) => /** @type {Stored} */ (one.stored));
  const [files, links] = [stored("file"), stored("link")];
  return { ...(files.length && { files }), ...(links.length && { links }) };
}

/** The key by which duplicates are found. @param {Stored | null} stored */
export function markOf(stored) {
  return stored?.storage_key ?? stored?.url ?? "";
}

/**
 * The text to keep for a reload: attachments that the server has.
 * @param {readonly Attached[]} attached
 */
export function asText(attached) {
  const kept = attached.filter(({ state }) => state === "ready");
  return kept.length ? JSON.stringify(kept.map(({ kind, name, size, told, stored, path }) => ({ kind, name, size, told, stored, path }))) : "";
}

/**
 * The attachments in a kept text; none if the text is not valid.
 * @param {string} text
 * @returns {Omit<Attached, "id" | "state">[]}
 */
export function fromText(text) {
  try {
    const kept = JSON.parse(text);
    return Array.isArray(kept) ? kept.filter((one) => typeof one?.name === "string" && markOf(one.stored)) : [];
  } catch {
    return [];
  }
}
