// @ts-check
/** Stays at the newest message while the reader is there, and leaves them alone when they are not. */

const NEAR_PX = 80;

export class Scroll {
  #scroll;
  #button;
  #isAtEnd = true;
  #top = 0;
  #height = 0;

  /** @param {HTMLElement} scroll @param {HTMLElement} button  Leads back to the end. */
  constructor(scroll, button) {
    this.#scroll = scroll;
    this.#button = button;
  }

  /** @param {() => void} onTop  Called when the reader comes near the oldest message shown. */
  start(onTop) {
    const scroll = this.#scroll;
    scroll.addEventListener("scroll", () => {
      // Only who went up has left the end. Where the content has just changed, nobody went.
      const { scrollTop: top, scrollHeight: height } = scroll;
      const isMoved = top < this.#top - 1 && height === this.#height;
      this.#isAtEnd = height - top - scroll.clientHeight < NEAR_PX || (this.#isAtEnd && !isMoved);
      this.#top = top;
      this.#button.hidden = this.#isAtEnd;
      if (scroll.scrollTop < 2 * scroll.clientHeight) onTop();
    }, { passive: true });
    const sizes = new ResizeObserver(() => {
      this.#top = scroll.scrollTop;
      this.#height = scroll.scrollHeight;
      if (this.#isAtEnd) this.#jump();
    });
    sizes.observe(scroll);
    sizes.observe(/** @type {Element} */ (scroll.firstElementChild));
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
