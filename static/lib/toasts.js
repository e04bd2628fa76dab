// @ts-check
/** Toasts: short notices at the edge of the page, some with an undo button. */

const SHOWN_MS = 9000;

/**
 * @param {string} words
 * @param {{ label: string, act: () => void }} [offer]
 * @returns {() => void}  Takes the notice away.
 */
export function toast(words, offer) {
  const box = document.querySelector(".toasts");
  const notice = document.createElement("div");
  notice.className = "toast";
  notice.role = offer ? "status" : "alert";
  const text = document.createElement("span");
  text.textContent = words;
  notice.append(text, button(offer?.label ?? "Dismiss", () => {
    notice.remove();
    offer?.act();
  }));
  // What is told once more takes the place of what still says it.
  if (!offer) for (const same of box?.querySelectorAll("[role=alert]") ?? []) if (same.firstChild?.textContent === words) same.remove();
  box?.append(notice);
  let timer = setTimeout(() => notice.remove(), SHOWN_MS);
  notice.addEventListener("pointerenter", () => clearTimeout(timer));
  notice.addEventListener("focusin", () => clearTimeout(timer));
  notice.addEventListener("pointerleave", () => {
    timer = setTimeout(() => notice.remove(), SHOWN_MS / 2);
  });
  return () => notice.remove();
}

/** A notice about the next message, which ends once that is on its way. @param {string} words @param {import("../wire.js").Wire} wire */
export function tellOfNext(words, wire) {
  const close = toast(words);
  const forget = wire.on("chat.started", () => {
    forget();
    close();
  });
}

/** @param {string} label @param {() => void} act */
function button(label, act) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", act);
  return element;
}
