// @ts-check
/** Debounces requests, and shows only the answer to the latest one. */

/**
 * @template T
 * @param {number} waitMs
 * @param {(answer: T) => void} show
 * @param {(error: unknown) => void} [fail]
 */
export function newest(waitMs, show, fail = () => {}) {
  let turn = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return {
    /** @param {() => Promise<T>} ask  Called unless something else is asked before. */
    ask(ask) {
      const mine = ++turn;
      clearTimeout(timer);
      timer = setTimeout(async () => {
        try {
          const answer = await ask();
          if (mine === turn) show(answer);
        } catch (error) {
          if (mine === turn) fail(error);
        }
      }, waitMs);
    },
    /** Drops the pending request. */
    forget() {
      turn += 1;
      clearTimeout(timer);
    },
  };
}
