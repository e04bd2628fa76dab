// @ts-check
/** Menus: a button opens a short list; Escape, a choice or a click elsewhere closes it. */

/** Makes every `.menu` of the page work. */
export function startMenus() {
  for (const menu of document.querySelectorAll(".menu")) startMenu(/** @type {HTMLElement} */ (menu));
}

/** @param {HTMLElement} menu */
function startMenu(menu) {
  const button = /** @type {HTMLElement} */ (menu.querySelector("[aria-controls]"));
  const list = /** @type {HTMLElement} */ (menu.querySelector(".menu-list"));
  /** @param {boolean} isOpen */
  const show = (isOpen) => {
    list.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
  };
  button.addEventListener("click", () => {
    show(list.hidden);
    if (!list.hidden) list.querySelector("button")?.focus();
  });
  menu.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "Escape") {
      event.preventDefault();
      show(false);
      button.focus();
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(list, event.key === "ArrowDown" ? 1 : -1);
    }
    if (event.key === "Home" || event.key === "End") {
      event.preventDefault();
      [...list.querySelectorAll("button")].at(event.key === "Home" ? 0 : -1)?.focus();
    }
  });
  list.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("button")) return;
    // What a choice opens returns the focus to the button.
    button.focus();
    show(false);
  }, { capture: true });
  document.addEventListener("pointerdown", (event) => {
    if (!(event.target instanceof Node) || !menu.contains(event.target)) show(false);
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget instanceof Node && !menu.contains(event.relatedTarget)) show(false);
  });
}

/** @param {HTMLElement} list @param {number} by */
function step(list, by) {
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  buttons[(at + by + buttons.length) % buttons.length]?.focus();
}
