// @ts-check
/** The page on which named contexts are built: choose, see at once what goes in, save, attach. */

import { pageWire } from "../frame/connection.js";
import { ContextOptionsForm } from "../contexts/context-options.js";
import { ContextPreview } from "../contexts/context-preview.js";
import { ContextTree } from "../contexts/context-tree.js";
import { withItem } from "../contexts/context-draft.js";
import { Chosen } from "../contexts/chosen-notes.js";
import { ContextFile } from "../contexts/context-file.js";
import { asked } from "../composer/output-guard.js";
import { startFrame } from "../frame/page-frame.js";
import { copied } from "../lib/copied.js";
import { find } from "../lib/find.js";
import { counted, reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";
import { startTrust } from "../frame/trust.js";

const SEARCH_MS = 160;
const PREVIEW_MS = 220;

const wire = pageWire();
startFrame();
startTrust(wire);

if (document.getElementById("tree")) build();
else wire.connect();

function build() {
  /** @type {readonly string[]} */
  let items = [];
  let wish = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let searching;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let previewing;
  const call = (/** @type {string} */ command, /** @type {Record<string, unknown>} */ params) => wire.call(`smart_context.${command}`, params);
  const tree = new ContextTree(find("#tree"), call, (key, isChosen) => choose(withItem(items, key, isChosen)));
  const chosen = new Chosen(find("#chosen"), (key) => choose(withItem(items, key, false)));
  const options = new ContextOptionsForm(find("#options-form"), find("#around-template"), changed);
  const preview = new ContextPreview(find("#preview"));
  const file = new ContextFile(call, () => ({ items, options: options.read() }), (context) => {
    options.show(context.options);
    choose(context.items);
  });

  /** @param {readonly string[]} next */
  function choose(next) {
    items = next;
    tree.tick(items);
    chosen.show(items);
    changed();
  }

  function changed() {
    const count = Object.keys(options.read()).filter((name) => name !== "link_depth").length;
    find("#options-count").textContent = count ? String(count) : "";
    file.showState();
    clearTimeout(previewing);
    preview.wait();
    previewing = setTimeout(look, PREVIEW_MS);
  }

  /** @param {Record<string, unknown>} set */
  function previewOf(set) {
    const key = /** @type {HTMLInputElement} */ (find("#context-name")).value.trim();
    return call("preview_context", { items, options: set, ...(key && { key }) });
  }

  async function look() {
    const mine = ++wish;
    try {
      const shown = await previewOf(options.read());
      if (mine !== wish) return;
      preview.show(shown);
      await lookFurther(mine, shown);
    } catch (error) {
      if (mine === wish) preview.fail(reasonOf(error));
    }
  }

  /** Tells what one step further would add. @param {number} mine @param {any} shown */
  async function lookFurther(mine, shown) {
    const line = /** @type {HTMLElement} */ (document.querySelector(".depth-next"));
    if (!items.length) {
      line.textContent = "";
      return;
    }
    const set = options.read();
    const depth = (set.link_depth ?? 0) + 1;
    const next = await previewOf({ ...set, link_depth: depth });
    if (mine === wish) line.textContent = nextStep(depth, shown, next);
  }

  /** @param {number} depth @param {any} now @param {any} next */
  function nextStep(depth, now, next) {
    const notes = countOf(next) - countOf(now);
    if (notes <= 0) return `Step ${depth} would add nothing.`;
    return `Step ${depth} would add ${counted(notes, "note")} · ${counted(Math.max(0, next.tokens - now.tokens), "token")}`;
  }

  /** @param {{ depths: { count: number }[] }} shown */
  function countOf({ depths }) {
    return depths.reduce((sum, { count }) => sum + count, 0);
  }

  async function search() {
    const query = /** @type {HTMLInputElement} */ (find("#note-search")).value.trim();
    try {
      const found = await tree.show(query);
      if (!found) return;
      const status = find("#tree-status");
      if (query) status.textContent = found.total ? `${counted(found.total, "result")} of ${counted(found.files, "note")}` : "No matching notes.";
      else status.textContent = found.files ? "" : "No notes in this vault yet.";
    } catch (error) {
      find("#tree-status").textContent = reasonOf(error);
    }
  }

  /** The built text; null if the user finds it too long. */
  async function compiled() {
    const { text, tokens, ask_above: limit } = await call("compile_context", { items, options: options.read() });
    const words = `The text is about ${counted(tokens, "token")} long, which is more than most models handle well.`;
    const isWanted = !limit || tokens <= limit || (await asked("Copy this much?", words, "Copy"));
    return isWanted ? text : null;
  }

  async function copy() {
    const button = find("#copy-context");
    try {
      if (await copied(button, compiled())) toast("Copied.", { label: "OK", act: () => {} });
    } catch (error) {
      toast(reasonOf(error));
    }
  }

  find("#note-search").addEventListener("input", () => {
    clearTimeout(searching);
    searching = setTimeout(search, SEARCH_MS);
  });
  find("#context-name").addEventListener("input", changed);
  find("#copy-context").addEventListener("click", copy);
  find("#attach-form").addEventListener("submit", (event) => {
    event.preventDefault();
    file.attach(find("#attach-chat"));
  });
  wire.on("smart_context.contexts_changed", (news) => {
    if (news.notes_changed) look();
    if (news.has_other_files) tree.refresh().catch((error) => toast(reasonOf(error)));
    if (news.key) file.hear(news.key);
  });
  let isFirst = true;
  wire.onStatus(async (status) => {
    if (status !== "open") return;
    await search();
    if (isFirst) await file.open();
    else await file.refreshList();
    const note = isFirst ? new URLSearchParams(location.search).get("note") : "";
    if (note) choose(withItem(items, note, true));
    isFirst = false;
    changed();
  });
  wire.connect();
}
