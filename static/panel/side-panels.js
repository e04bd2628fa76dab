// @ts-check
/** The panels of plugins, one tab each; those of others live in frames. */

const OWN = "smart_context";

export class SidePanels {
  #side;
  #chatId;

  /** @param {HTMLElement} side @param {string} chatId */
  constructor(side, chatId) {
    this.#side = side;
    this.#chatId = chatId;
  }

  /** @param {import("../wire.js").Wire} wire */
  start(wire) {
    wire.on("ui.register_panel", (panel) => this.#add(panel));
    wire.on("ui.remove_panel", ({ id }) => this.#remove(id));
    this.#tabs.addEventListener("click", (event) => {
      const tab = event.target instanceof Element ? event.target.closest("[role=tab]") : null;
      if (tab) this.#select(/** @type {HTMLElement} */ (tab));
    });
    this.#tabs.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const tabs = this.#all();
      const at = tabs.indexOf(/** @type {HTMLElement} */ (document.activeElement));
      if (!step || at < 0) return;
      const next = tabs[(at + step + tabs.length) % tabs.length];
      this.#select(next);
      next.focus();
    });
    this.#side.addEventListener("toggle", ({ target }) => {
      const isInPanel = target instanceof HTMLDetailsElement && !target.closest("dialog");
      if (isInPanel && target.open && this.#isMissed(target)) target.scrollIntoView({ block: "nearest" });
    }, { capture: true }); // it does not bubble
  }

  /**
   * Whether what opened may be moved into sight. Under a pointer it stays, so that a second click
   * closes it, unless nothing but its title is to be seen.
   * @param {HTMLDetailsElement} opened
   */
  #isMissed(opened) {
    const title = /** @type {HTMLElement} */ (opened.querySelector("summary"));
    const { bottom, height } = title.getBoundingClientRect();
    return title.matches(":focus-visible") || bottom + height > this.#side.getBoundingClientRect().bottom;
  }

  /** @param {{ id: string, title: string, url: string }} panel */
  #add({ id, title, url }) {
    if (!URL.canParse(url, location.href)) return;
    const address = new URL(url, location.href);
    if (id === OWN || address.origin !== location.origin || this.#tab(id)) return;
    address.searchParams.set("chat_id", this.#chatId);
    const tab = document.createElement("button");
    Object.assign(tab, { type: "button", id: `tab-${id}`, role: "tab", textContent: title, tabIndex: -1 });
    tab.setAttribute("aria-selected", "false");
    tab.setAttribute("aria-controls", `panel-${id}`);
    const frame = document.createElement("iframe");
    Object.assign(frame, { id: `panel-${id}`, className: "panel panel-frame", title, hidden: true, loading: "lazy" });
    frame.setAttribute("role", "tabpanel");
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
    frame.src = address.href;
    this.#tabs.append(tab);
    this.#side.append(frame);
  }

  /** @param {string} id */
  #remove(id) {
    if (id === OWN) return;
    const tab = this.#tab(id);
    const wasSelected = tab?.getAttribute("aria-selected") === "true";
    tab?.remove();
    document.getElementById(`panel-${id}`)?.remove();
    if (wasSelected) this.#select(this.#all()[0]);
  }

  /** @param {HTMLElement} chosen */
  #select(chosen) {
    for (const tab of this.#all()) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls") ?? "")?.toggleAttribute("hidden", !isChosen);
    }
  }

  get #tabs() {
    return /** @type {HTMLElement} */ (this.#side.querySelector("[role=tablist]"));
  }

  #all() {
    return /** @type {HTMLElement[]} */ ([...this.#tabs.querySelectorAll("[role=tab]")]);
  }

  /** @param {string} id */
  #tab(id) {
    return this.#all().find((tab) => tab.id === `tab-${id}`);
  }
}
