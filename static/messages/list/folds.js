// @ts-check
/** Folds runs of messages that are not sent into one line each. */

import { messagesCounted } from "../../lib/text.js";

const LINE_PX = 56;

/** @typedef {{ first: HTMLElement, messages: HTMLElement[], isOpen: boolean }} Run */

export class Folds {
  /** Messages whose run the reader has opened. @type {Set<string>} */
  #opened = new Set();
  /** The lines, by the last message of their runs, since older messages may still be fetched. @type {Map<HTMLElement, HTMLElement>} */
  #lines = new Map();
  /** The run that each line folds. @type {WeakMap<HTMLElement, Run>} */
  #runs = new WeakMap();
  #onToggle;

  /**
   * @param {Iterable<HTMLElement>} lines  Those that the page came with.
   * @param {(line: HTMLElement) => void} onToggle  Called before a run is opened or folded again.
   */
  constructor(lines, onToggle) {
    this.#onToggle = onToggle;
    for (const line of lines) this.#lines.set(lastFolded(line), this.#equipped(line));
  }

  /** Forgets which runs were opened. */
  foldAll() {
    this.#opened.clear();
  }

  /** Opens the run that hides a message. @param {HTMLElement} message */
  reveal(message) {
    this.#opened.add(message.dataset.messageId ?? "");
  }

  /**
   * Folds these messages and no others.
   * @param {readonly HTMLElement[]} messages  All on the page, in order.
   * @param {(message: HTMLElement) => boolean} isOut
   */
  show(messages, isOut) {
    const runs = runsOf(messages, isOut, this.#opened);
    const stale = new Map(this.#lines);
    this.#lines.clear();
    const hidden = new Set(runs.flatMap((run) => (run.isOpen ? [] : run.messages)));
    for (const message of messages) {
      if (message.hasAttribute("data-folded") !== hidden.has(message)) message.toggleAttribute("data-folded");
    }
    for (const run of runs) {
      const last = /** @type {HTMLElement} */ (run.messages.at(-1));
      const line = stale.get(last) ?? this.#newLine();
      stale.delete(last);
      this.#lines.set(last, line);
      this.#runs.set(line, run);
      showLine(line, run);
      if (line.nextElementSibling !== run.first) run.first.before(line);
      if (!run.isOpen && run.messages.some((message) => message.contains(document.activeElement))) line.focus();
    }
    for (const line of stale.values()) line.remove();
    estimateHeights(messages, hidden, [...this.#lines.values()]);
  }

  #newLine() {
    const line = document.createElement("button");
    line.type = "button";
    line.className = "fold";
    return this.#equipped(line);
  }

  /** @param {HTMLElement} line */
  #equipped(line) {
    line.addEventListener("click", () => this.#toggle(line));
    return line;
  }

  /** @param {HTMLElement} line */
  #toggle(line) {
    const run = this.#runs.get(line);
    for (const { dataset } of run?.messages ?? []) {
      const id = dataset.messageId ?? "";
      if (run?.isOpen) this.#opened.delete(id);
      else this.#opened.add(id);
    }
    this.#onToggle(line);
  }
}

/** The last message that a line of the server's folds. @param {HTMLElement} line */
function lastFolded(line) {
  let last = line;
  for (let next = line.nextElementSibling; next?.hasAttribute("data-folded"); next = next.nextElementSibling) {
    last = /** @type {HTMLElement} */ (next);
  }
  return last;
}

/**
 * Runs of messages that are out, and follow each other.
 * @param {readonly HTMLElement[]} messages
 * @param {(message: HTMLElement) => boolean} isOut
 * @param {ReadonlySet<string>} opened
 * @returns {Run[]}
 */
function runsOf(messages, isOut, opened) {
  /** @type {Run[]} */
  const runs = [];
  /** @type {Run | null} */
  let run = null;
  for (const message of messages) {
    if (!isOut(message)) {
      run = null;
      continue;
    }
    if (!run || "afterGap" in message.dataset) runs.push((run = { first: message, messages: [], isOpen: false }));
    run.messages.push(message);
    run.isOpen ||= opened.has(message.dataset.messageId ?? "");
  }
  return runs;
}

/**
 * Tells the browser the height of chunks that are out of sight.
 * @param {readonly HTMLElement[]} messages
 * @param {ReadonlySet<HTMLElement>} hidden
 * @param {readonly HTMLElement[]} lines
 */
function estimateHeights(messages, hidden, lines) {
  /** @type {Map<HTMLElement | null, number>} */
  const heights = new Map();
  for (const message of messages) {
    const chunk = message.parentElement;
    const height = hidden.has(message) ? 0 : Number(chunk?.dataset.messageHeight);
    heights.set(chunk, (heights.get(chunk) ?? 0) + height);
  }
  for (const { parentElement: chunk } of lines) heights.set(chunk, (heights.get(chunk) ?? 0) + LINE_PX);
  for (const [chunk, pixels] of heights) {
    const height = `${Math.round(pixels)}px`;
    if (!chunk?.classList.contains("chunk") || chunk.style.getPropertyValue("--chunk-height") === height) continue;
    chunk.style.setProperty("--chunk-height", height);
  }
}

/** @param {HTMLElement} line @param {Run} run */
function showLine(line, { messages, isOpen }) {
  const said = messages.filter(({ dataset }) => !("extracted" in dataset));
  const counted = `${messagesCounted(said.length || messages.length)} not sent`;
  const words = `${counted} · ${isOpen ? "Fold" : "Show"}`;
  if (line.textContent !== words) line.textContent = words;
  // The name stays the same: `aria-expanded` says whether it is open.
  line.ariaLabel = `${counted} · Show`;
  line.ariaExpanded = String(isOpen);
}

/**
 * True if a message that is not sent may be folded: summaries, failed answers and notices are
 * needed, unless a later summary replaces them.
 * @param {HTMLElement} message
 */
export function mayFold({ dataset }) {
  if ("editing" in dataset || "generating" in dataset) return false;
  return "compacted" in dataset || !("isSummary" in dataset || "failed" in dataset || "notice" in dataset);
}
