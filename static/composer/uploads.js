// @ts-check
/** Files on their way to the server, a few at a time. */

import { upload } from "./upload.js";

/** @typedef {import("./attached.js").Stored} Stored */
/**
 * @typedef {object} Watch  Told by the file's id.
 * @property {(id: number) => void} begins
 * @property {(id: number, share: number) => void} goes
 * @property {(id: number, stored: Stored) => void} arrives
 * @property {(id: number, error: unknown) => void} fails
 */

const AT_ONCE = 2;

export class Uploads {
  #watch;
  #slot = inTurn(AT_ONCE);
  /** @type {Map<number, { file: File, stop: () => void }>} */
  #files = new Map();

  /** @param {Watch} watch */
  constructor(watch) {
    this.#watch = watch;
  }

  /** Sends a file as soon as there is room. @param {number} id @param {File} file */
  send(id, file) {
    this.#files.set(id, { file, stop: () => {} });
    this.again(id);
  }

  /** Sends a failed file again. @param {number} id */
  again(id) {
    const sending = this.#files.get(id);
    if (!sending) return;
    this.#watch.begins(id);
    this.#slot(async () => {
      if (!this.#files.has(id)) return;
      const { done, stop } = upload(sending.file, (share) => this.#watch.goes(id, share));
      sending.stop = stop;
      await done.then((stored) => this.#watch.arrives(id, stored), (error) => this.#watch.fails(id, error));
    });
  }

  /** Cancels a file. @param {number} id */
  forget(id) {
    const sending = this.#files.get(id);
    this.#files.delete(id);
    sending?.stop();
  }
}

/**
 * Starts a few tasks at once, and each next one as another ends.
 * @param {number} atOnce
 * @returns {(work: () => Promise<void>) => Promise<void>}
 */
export function inTurn(atOnce) {
  let running = 0;
  /** @type {(() => void)[]} */
  const waiting = [];
  return async (work) => {
    if (running >= atOnce) await new Promise((resolve) => waiting.push(() => resolve(null)));
    running += 1;
    try {
      await work();
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}
