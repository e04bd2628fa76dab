// @ts-check
/** Stays at the newest message while the reader is there, and leaves them alone when they are not. */

const NEAR_PX = 80;

export class Scroll {
  #scroll;
  #button;
  #isAtEnd = true;

  /** @param {HTMLElement} scroll @param {HTMLElement} button  Leads back to the end. */
  constructor(scroll, button) {
    this.#scroll = scroll;
    this.#button = button;
  }

  /** @param {() => void} onTop  Called when the reader comes near the oldest message shown. */
  start(onTop) {
    const scroll = this.#scroll;
    scroll.addEventListener("scroll", () => {
      this.#isAtEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_PX;
      this.#button.hidden = this.#isAtEnd;
      if (scroll.scrollTop < 2 * scroll.clientHeight) onTop();
    }, { passive: true });
    new ResizeObserver(() => this.#isAtEnd && this.#jump()).observe(/** @type {Element} */ (scroll.firstElementChild));
    new ResizeObserver(() => this.#isAtEnd && this.#jump()).observe(scroll);
    this.#button.addEventListener("click", () => this.toEnd());
    if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
    else this.#jump();
  }

  /** Shows the newest message and stays there. */
  toEnd() {
    this.#isAtEnd = true;
    this.#jump();
  }

  #jump() {
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
    this.#button.hidden = true;
  }
}
