// @ts-check
/** Palette, sheet of keys and page-wide keys of the page of all topics. */

import { startKeys } from "../frame/keys.js";
import { switchTheme } from "../frame/page-frame.js";
import { Palette } from "../frame/palette.js";
import { messagesCounted } from "../lib/text.js";

/** @typedef {import("./atlas.js").Place} Place */
/** @typedef {{ group: string, name: string, run: () => void }} Command */

/**
 * @typedef {object} Walk
 * @property {() => import("./atlas.js").Atlas | null} atlas
 * @property {(next: Partial<Place>) => void} go
 * @property {() => readonly HTMLElement[]} numbered  What the digits open.
 * @property {() => readonly (readonly [string, () => void])[]} commands  By their names.
 * @property {() => boolean} close  One step back; false at the top.
 */

const WRITES = "input, textarea, select";

/** @param {HTMLInputElement} search @param {Walk} walk */
export function startAtlasKeys(search, walk) {
  const keys = /** @type {HTMLDialogElement} */ (document.getElementById("keys"));
  const palette = new Palette(/** @type {HTMLDialogElement} */ (document.getElementById("palette")), () => entries(walk, keys), async () => []);
  palette.start();
  keys.addEventListener("click", (event) => event.target === keys && keys.close());
  startKeys({ openPalette: () => palette.open(), openKeys: () => keys.showModal(), close: walk.close, panel: null });
  addEventListener("keydown", (event) => {
    const isCommand = event.ctrlKey || event.metaKey || event.altKey;
    if (event.defaultPrevented || isCommand || document.querySelector("dialog[open]")) return;
    if (event.target instanceof Element && event.target.closest(WRITES)) return;
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
    }
    if (/^[1-9]$/.test(event.key)) walk.numbered()[Number(event.key) - 1]?.click();
  });
}

/** @param {Walk} walk @param {HTMLDialogElement} keys @returns {import("../frame/palette.js").Entry[]} */
function entries({ atlas, go, commands }, keys) {
  const { themes = [], topics = new Map() } = atlas() ?? {};
  const command = (/** @type {string} */ name, /** @type {() => void} */ run, hint = "") => ({ group: "Commands", name, hint, run });
  const named = (/** @type {string} */ group, /** @type {any} */ { label, hue, count }, /** @type {Partial<Place>} */ at) => {
    return { group, name: label, hint: messagesCounted(count), hue, run: () => go(at) };
  };
  return [
    ...themes.map((theme) => named("Themes", theme, { theme: theme.id, topic: "" })),
    ...[...topics.values()].map((topic) => named("Topics", topic, { topic: topic.id })),
    ...commands().map(([name, run]) => command(name, run)),
    command("Back to the chats", () => location.assign("/")),
    command("New chat", () => location.assign("/new")),
    command("Switch between light and dark", switchTheme),
    command("Show all keys", () => keys.showModal(), "?"),
  ];
}
