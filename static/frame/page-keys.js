// @ts-check
/** Palette, sheet of keys and page-wide keys of the chat page. */

import { wordsOf } from "../contexts/context-draft.js";
import { counted, messagesCounted } from "../lib/text.js";
import { startKeys } from "./keys.js";
import { matching, Palette } from "./palette.js";
import { closeDrawer, switchTheme } from "./page-frame.js";

const NOTES = 8;

/** @typedef {import("./palette.js").Entry} Entry */

/**
 * @typedef {object} Page
 * @property {import("../wire.js").Wire} wire
 * @property {string} chatId
 * @property {import("../panel/topics/topics-panel.js").TopicsPanel | null} panel
 */

/** @param {Page} page */
export function startPageKeys(page) {
  const keys = /** @type {HTMLDialogElement} */ (document.getElementById("keys"));
  const palette = /** @type {HTMLDialogElement} */ (document.getElementById("palette"));
  const finder = new Palette(palette, () => entries(page, keys), (query) => fromVault(page, query));
  finder.start();
  keys.addEventListener("click", (event) => event.target === keys && keys.close());
  const openKeys = () => keys.showModal();
  const own = { n: newChat, "[": () => click("[data-toggle=chats]"), "]": () => click("[data-toggle=side]") };
  startKeys({ openPalette: () => finder.open(), openKeys, close: closeDrawer, own, panel: page.panel });
}

/** Whatever a menu or the foot of the list offers; what is added there can't be missing here. */
const OFFERED = "#chat-menu-list :is(button, a), #attach-menu-list button, .nav-links :is(button, a), [data-ask-twice]";

/** @param {Page} page @param {HTMLDialogElement} keys @returns {Entry[]} */
function entries({ panel }, keys) {
  const topics = (panel?.state.topics ?? []).map(({ id, label, count }) => ({
    group: "Topics",
    name: label,
    hint: messagesCounted(count),
    hue: panel?.state.colours.get(id),
    isOn: panel?.state.active.includes(label) ?? false,
    run: () => void panel?.toggle(label),
  }));
  const chats = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll("#chats .chats-scroll a[href^='/chats/']")]);
  /** @param {string} name @param {() => void} deed @param {string} [hint] */
  const command = (name, deed, hint = "") => ({ group: "Commands", name, hint, run: deed });
  const commands = [
    command("New chat", newChat, "N"),
    command("Show or hide the list of chats", () => click("[data-toggle=chats]"), "["),
    command("Show or hide the panel", () => click("[data-toggle=side]"), "]"),
    ...(panel?.state.active.length ? [command("Release the picked topics", () => void panel.pick([]), "Esc")] : []),
    ...(panel ? [command("Find topics again", () => void panel.findTopics())] : []),
    ...(panel ? [command("Show the exact text", () => click(".sends-show"))] : []),
    ...[...document.querySelectorAll("a[data-receipt]:not([hidden])")].slice(-1).map((link) => command("Receipt of the newest answer", () => /** @type {HTMLElement} */ (link).click())),
    ...[.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(OFFERED))].filter(isOffered).map((one) => command(wordsOn(one), () => one.click(), one.ariaPressed === "true" ? "On" : "")),
    command("Switch between light and dark", switchTheme),
    command("Show all keys", () => keys.showModal(), "?"),
  ];
  const settings = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".palette-settings a"))].filter(isOffered).map((one) => ({
    group: "Settings",
    name: wordsOn(one),
    isSought: true,
    run: () => one.click(),
  }));
  const deeds = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#topic-menu [data-topic-deed]")]);
  const onTopics = topics.flatMap(({ name, hue }) => deeds.map((deed) => ({
    group: "With a topic",
    name: `${wordsOn(deed)}: ${name}`,
    hue,
    isSought: true,
    run: () => document.dispatchEvent(new CustomEvent(deed.dataset.topicDeed ?? "", { detail: { topics: [name] } })),
  })));
  return [
    ...topics,
    ...commands,
    ...settings,
    ...chats.filter((link) => !link.matches("[aria-current]")).map((link) => ({ group: "Chats", name: nameOf(link), hint: lastOf(link), run: () => link.click() })),
    ...onTopics,
  ];
}

/** @param {HTMLElement} control */
function isOffered(control) {
  const entry = control.closest("li, p") ?? control;
  const isShown = [control, entry].every((one) => !one.hasAttribute("hidden") && getComputedStyle(one).display !== "none");
  return isShown && !control.matches(":disabled");
}

/** What a control is called, without the hint below it. @param {HTMLElement} control */
function wordsOn(control) {
  const words = control.ariaLabel ?? (control.querySelector(".menu-words > :first-child") ?? control).textContent ?? "";
  return words.replace("…", "").trim();
}

/** Named contexts and notes; the server knows them. @param {Page} page @param {string} query @returns {Promise<Entry[]>} */
async function fromVault(page, query) {
  if (!page.wire.isOpen || !page.panel) return [];
  return (await Promise.all([contexts(page, query), notes(page, query)])).flat();
}

/** @param {Page} page @param {string} query @returns {Promise<Entry[]>} */
async function contexts({ wire, chatId }, query) {
  const { contexts: all } = await wire.call("smart_context.list_contexts");
  const named = all.filter((/** @type {any} */ context) => !context.chat_id);
  return matching(named.map((/** @type {{ key: string, items: number }} */ { key, items }) => ({
    group: "Contexts",
    name: key,
    hint: counted(items, "item"),
    run: () => location.assign(`/contexts/${encodeURIComponent(key)}?chat=${encodeURIComponent(chatId)}`),
  })), query);
}

/** @param {Page} page @param {string} query @returns {Promise<Entry[]>} */
async function notes({ wire, chatId }, query) {
  const paths = query ? [] : (await wire.call("smart_context.suggest_notes", { chat_id: chatId })).notes.slice(0, NOTES);
  if (!paths.length) {
    const { entries: found } = await wire.call("smart_context.find_files", { query: query || ".md", limit: NOTES });
    paths.push(...found.map((/** @type {{ path: string }} */ { path }) => path));
  }
  return paths.map((/** @type {string} */ path) => {
    const { name, place } = wordsOf(path);
    return { group: "Notes", name, hint: place, run: () => openNote(path, chatId) };
  });
}

/** Shows a note beside the chat, where the page can; else where a context is built from it. @param {string} path @param {string} chatId */
function openNote(path, chatId) {
  const wish = new CustomEvent("smart_context.open_note", { detail: { path }, cancelable: true });
  if (document.dispatchEvent(wish)) location.assign(`/contexts?${new URLSearchParams({ chat: chatId, note: path })}`);
}

function newChat() {
  location.assign("/new");
}

/** @param {Element} link */
function nameOf(link) {
  return (link.querySelector(".chat-title") ?? link).textContent?.trim() ?? "";
}

/** When a chat was last written in, and its last words: several may have one title. @param {Element} link */
function lastOf(link) {
  const said = [...link.querySelectorAll(".chat-last > :is(time, .chat-twin, .chat-preview)")];
  return said.map(({ textContent }) => textContent?.trim()).filter(Boolean).join(" · ");
}

/** @param {string} selector */
function click(selector) {
  const button = document.querySelector(selector);
  if (button instanceof HTMLElement) button.click();
}
