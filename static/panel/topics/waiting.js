// @ts-check
/** The panel's status line; it says so if a choice that is on its way to the server takes long. */

const PATIENCE_MS = 400;
const TAKES_LONG = "Choosing messages…";

export class Waiting {
  #root;
  #line;
  #count = 0;
  #late = 0;
  #isLate = false;
  /** What the line says while nothing takes long. */
  #status;

  /** @param {HTMLElement} root  The `.topics` element. */
  constructor(root) {
    this.#root = root;
    this.#line = /** @type {HTMLElement} */ (root.querySelector(".status"));
    this.#status = this.#line.textContent ?? "";
  }

  /** Whether something is on its way. */
  get isOn() {
    return this.#count > 0;
  }

  begin() {
    this.#count += 1;
    this.#root.toggleAttribute("data-waiting", true);
    this.#late ||= window.setTimeout(() => this.#say(true), PATIENCE_MS);
  }

  end() {
    this.#count -= 1;
    if (this.isOn) return;
    window.clearTimeout(this.#late);
    this.#late = 0;
    this.#root.toggleAttribute("data-waiting", false);
    this.#say(false);
  }

  /** Says this, at once or when what is on its way has come. @param {string} status */
  tell(status) {
    this.#status = status;
    this.#say(this.#isLate);
  }

  /** @param {boolean} isLate */
  #say(isLate) {
    this.#isLate = isLate;
    // An old count would be wrong: a message sent now would not have that many with it.
    const text = isLate ? TAKES_LONG : this.#status;
    if (this.#line.textContent !== text) this.#line.textContent = text;
  }
}
