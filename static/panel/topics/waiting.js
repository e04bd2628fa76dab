// @ts-check
/** Shows that choices are on their way to the server, and says so if they take long. */

const PATIENCE_MS = 400;
const TAKES_LONG = "Choosing messages…";

export class Waiting {
  #root;
  #line;
  #count = 0;
  #late = 0;
  /** What the line said before. */
  #former = "";

  /** @param {HTMLElement} root  The `.topics` element. */
  constructor(root) {
    this.#root = root;
    this.#line = /** @type {HTMLElement} */ (root.querySelector(".status"));
  }

  /** Whether something is on its way. */
  get isOn() {
    return this.#count > 0;
  }

  begin() {
    this.#count += 1;
    this.#root.toggleAttribute("data-waiting", true);
    // An old count would be untrue: it is not what a message sent now would have with it.
    this.#late ||= window.setTimeout(() => this.#say(), PATIENCE_MS);
  }

  end() {
    this.#count -= 1;
    if (this.isOn) return;
    window.clearTimeout(this.#late);
    this.#late = 0;
    this.#root.toggleAttribute("data-waiting", false);
    if (this.#line.textContent === TAKES_LONG) this.#line.textContent = this.#former;
  }

  #say() {
    this.#former = this.#line.textContent ?? "";
    this.#line.textContent = TAKES_LONG;
  }
}
