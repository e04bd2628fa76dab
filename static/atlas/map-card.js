// @ts-check
/** The card that names the bubble under the pointer: small ones have no room for a label. */

const AWAY = 8;

/** @param {HTMLElement} room  The map, with the card in it. */
export function startCard(room) {
  const card = /** @type {HTMLElement} */ (room.querySelector(".map-card"));
  const [name, facts] = /** @type {HTMLCollectionOf<HTMLElement>} */ (card.children);
  const hide = () => (card.hidden = true);
  /** @param {EventTarget | null} target */
  const show = (target) => {
    const bubble = target instanceof Element ? target.closest(".bubble") : null;
    if (!(bubble instanceof HTMLElement)) return hide();
    const words = bubble.ariaLabel ?? "";
    const cut = words.lastIndexOf(", ");
    name.textContent = words.slice(0, cut);
    facts.textContent = words.slice(cut + 2);
    card.hidden = false;
    const [at, around] = [bubble.getBoundingClientRect(), room.getBoundingClientRect()];
    const { offsetWidth: width, offsetHeight: height } = card;
    const left = Math.max(AWAY, Math.min(around.width - width - AWAY, at.x + at.width / 2 - width / 2 - around.x));
    const above = at.y - around.y - height - AWAY;
    card.style.translate = `${left}px ${above > 0 ? above : at.bottom - around.y + AWAY}px`;
  };
  room.addEventListener("pointerover", ({ target, pointerType }) => pointerType === "mouse" && show(target));
  room.addEventListener("pointerleave", hide);
  room.addEventListener("focusin", ({ target }) => target instanceof Element && target.matches(":focus-visible") && show(target));
  room.addEventListener("focusout", hide);
  room.addEventListener("click", hide);
  room.addEventListener("scroll", hide, { capture: true });
}
