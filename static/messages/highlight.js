// @ts-check
/** Marks the messages that are in context, as the panel tells the page. */

export class Highlight {
  #list;
  /** @type {ReadonlySet<string> | null} */
  #ids = null;
  /** @type {import("../cloud/topic-state.js").PanelState | null} */
  #state = null;
  /** The newest message that was there when the panel spoke: it said nothing of later ones. */
  #newestKnown = "";
  #isDue = false;

  /** @param {HTMLElement} list  The element that holds the messages. */
  constructor(list) {
    this.#list = list;
  }

  /** Listens for the panel's word. */
  start() {
    document.addEventListener("smart_context.highlight", (event) => {
      this.#ids = new Set(/** @type {CustomEvent} */ (event).detail?.message_ids ?? []);
      this.#newestKnown = this.#messages().at(-1)?.dataset.messageId ?? "";
      this.show();
    });
    document.addEventListener("panel-changed", (event) => {
      this.#state = /** @type {CustomEvent} */ (event).detail;
      if (!this.#state?.messageIds) this.#ids = null;
      this.show();
    });
  }

  /**
   * Marks what is on the page; also to be called when messages have come or gone. It is done once
   * the running script has said all it has to say, and before anything else: once for ten thousand.
   */
  show() {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#show();
    });
  }

  #show() {
    const ids = this.#ids;
    const messages = this.#messages();
    const end = messages.findIndex((message) => message.dataset.messageId === this.#newestKnown) + 1;
    const known = new Set(messages.slice(0, end || messages.length));
    /** @param {HTMLElement} message */
    const isOut = (message) => ids !== null && known.has(message) && !ids.has(message.dataset.messageId ?? "");
    // What a summary stands for is out whatever is picked.
    const isNarrowed = messages.some((message) => isOut(message) && !("compacted" in message.dataset));
    this.#list.closest("main")?.toggleAttribute("data-filtered", isNarrowed);
    const hues = this.#huesOfPicked();
    for (const message of messages) {
      const id = message.dataset.messageId ?? "";
      const isInside = ids !== null && ids.has(id);
      const isCompacted = "compacted" in message.dataset && !isInside && !this.#staysAnyway(id);
      show(message, {
        isInside,
        isOut: isOut(message) || isCompacted,
        hue: isInside ? (hues.get(id) ?? hues.get("")) : undefined,
        words: this.#wordsFor(id, isOut(message), isCompacted),
        isPinned: this.#state?.pinned.has(id) ?? false,
        isHidden: this.#state?.hidden.has(id) ?? false,
      });
    }
  }

  #messages() {
    return /** @type {HTMLElement[]} */ ([...this.#list.querySelectorAll("[data-message-id]")]);
  }

  /** The hue of the topic that keeps each message; under "" that of the only one picked, if that is all we know. */
  #huesOfPicked() {
    /** @type {Map<string, string>} */
    const hueOf = new Map();
    for (const bubble of document.querySelectorAll(".bubble:has(input:checked)")) {
      const label = bubble.querySelector("input")?.value ?? "";
      if (bubble instanceof HTMLElement) hueOf.set(label, bubble.dataset.hue ?? "");
    }
    /** @type {Map<string, string>} */
    const hues = new Map();
    const keptBy = this.#state?.keptBy;
    if (!keptBy?.size && hueOf.size === 1) hues.set("", [...hueOf.values()][0]);
    for (const [id, label] of keptBy ?? []) {
      const hue = hueOf.get(label);
      if (hue !== undefined) hues.set(id, hue);
    }
    return hues;
  }

  /** Whether it is sent even if a summary stands for it. @param {string} id */
  #staysAnyway(id) {
    return Boolean(this.#state?.pinned.has(id) || this.#state?.sticky.has(id));
  }

  /** @param {string} id @param {boolean} isOut @param {boolean} isCompacted */
  #wordsFor(id, isOut, isCompacted) {
    if (this.#state?.hidden.has(id)) return "hidden";
    if (this.#state?.pinned.has(id)) return "pinned";
    if (this.#state?.sticky.has(id)) return "always in context";
    if (isCompacted) return "compacted";
    return isOut ? "left out" : "";
  }
}

/** @typedef {{ isInside: boolean, isOut: boolean, hue?: string, words: string, isPinned: boolean, isHidden: boolean }} Looks */

/** What was last shown of a message: most of ten thousand don't change at a click. @type {WeakMap<Element, Looks>} */
const shown = new WeakMap();

/** @param {HTMLElement} message @param {Looks} looks */
function show(message, looks) {
  const before = shown.get(message);
  /** @param {keyof Looks} key */
  const differs = (key) => before?.[key] !== looks[key];
  if (differs("isInside")) message.classList.toggle("in-context", looks.isInside);
  if (differs("isOut")) message.classList.toggle("left-out", looks.isOut);
  if (differs("hue") && looks.hue !== undefined) message.dataset.hue = looks.hue;
  else if (differs("hue")) delete message.dataset.hue;
  const words = differs("words") ? message.querySelector(".marks") : null;
  if (words) words.textContent = looks.words;
  shown.set(message, looks);
  if (!differs("isPinned") && !differs("isHidden")) return;
  message.toggleAttribute("data-marked", looks.isPinned || looks.isHidden);
  press(message, "pin", looks.isPinned);
  press(message, "hide", looks.isHidden);
}

/** @param {HTMLElement} message @param {string} action @param {boolean} isPressed */
function press(message, action, isPressed) {
  message.querySelector(`.actions [data-action=${action}]`)?.setAttribute("aria-pressed", String(isPressed));
}
