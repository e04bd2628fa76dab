// @ts-check
/** Marks the messages that are in context, as the panel tells the page. */

export class Highlight {
  #list;
  /** @type {ReadonlySet<string> | null} */
  #ids = null;
  /** @type {import("./topic-state.js").PanelState | null} */
  #state = null;

  /** @param {HTMLElement} list  The element that holds the messages. */
  constructor(list) {
    this.#list = list;
  }

  /** Listens for the panel's word. */
  start() {
    document.addEventListener("smart_context.highlight", (event) => {
      this.#ids = new Set(/** @type {CustomEvent} */ (event).detail?.message_ids ?? []);
      this.show();
    });
    document.addEventListener("panel-changed", (event) => {
      this.#state = /** @type {CustomEvent} */ (event).detail;
      if (!this.#state?.messageIds) this.#ids = null;
      this.show();
    });
  }

  /** Marks what is on the page now; also to be called when messages have come or gone. */
  show() {
    const ids = this.#ids;
    const messages = /** @type {HTMLElement[]} */ ([...this.#list.querySelectorAll("[data-message-id]")]);
    const isNarrowed = ids !== null && messages.some((message) => !ids.has(message.dataset.messageId ?? ""));
    this.#list.closest("main")?.toggleAttribute("data-filtered", isNarrowed);
    const hues = this.#huesOfPicked();
    for (const message of messages) {
      const id = message.dataset.messageId ?? "";
      const isInside = ids !== null && ids.has(id);
      message.classList.toggle("in-context", isInside);
      const hue = isInside ? (hues.get(id) ?? hues.get("")) : undefined;
      if (hue === undefined) delete message.dataset.hue;
      else message.dataset.hue = hue;
      showMarks(message, this.#marksOf(id, isNarrowed && !isInside));
      showPressed(message, "pin", this.#state?.pinned.has(id));
      showPressed(message, "hide", this.#state?.hidden.has(id));
    }
  }

  /** The hue of each message's picked topic; under "" that of the only one, if it is the only one. */
  #huesOfPicked() {
    /** @type {Map<string, string>} */
    const hueOf = new Map();
    for (const bubble of document.querySelectorAll(".bubble:has(input:checked)")) {
      const label = bubble.querySelector("input")?.value ?? "";
      if (bubble instanceof HTMLElement) hueOf.set(label, bubble.dataset.hue ?? "");
    }
    /** @type {Map<string, string>} */
    const hues = new Map(hueOf.size === 1 ? [["", [...hueOf.values()][0]]] : []);
    for (const [id, label] of this.#state?.keptBy ?? []) {
      const hue = hueOf.get(label);
      if (hue !== undefined) hues.set(id, hue);
    }
    return hues;
  }

  /** @param {string} id @param {boolean} isOut */
  #marksOf(id, isOut) {
    if (this.#state?.hidden.has(id)) return "hidden";
    if (this.#state?.pinned.has(id)) return "pinned";
    if (this.#state?.sticky.has(id)) return "always in context";
    return isOut ? "left out" : "";
  }
}

/** @param {HTMLElement} message @param {string} words */
function showMarks(message, words) {
  const marks = message.querySelector(".marks");
  if (marks && marks.textContent !== words) marks.textContent = words;
}

/** @param {HTMLElement} message @param {string} action @param {boolean | undefined} isPressed */
function showPressed(message, action, isPressed) {
  message.querySelector(`[data-action=${action}][aria-pressed]`)?.setAttribute("aria-pressed", String(Boolean(isPressed)));
}
