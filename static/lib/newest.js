// @ts-check
/** Asks a little later, and shows only the answer to what was asked last. */

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
    /** Whatever was asked is no longer wanted. */
    forget() {
      turn += 1;
      clearTimeout(timer);
    },
  };
}
