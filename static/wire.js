// @ts-check
/** One socket to the server: commands, their answers, and events. Reconnects by itself. */

import { keyProtocols } from "./key.js";

const OPEN = 1;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 15_000;

/** A failed command; its message can be shown to users. */
export class WireError extends Error {
  /** @param {string} message @param {number} [code] */
  constructor(message, code = 0) {
    super(message);
    this.name = "WireError";
    /** The JSON-RPC code; 0 when the connection was lost. */
    this.code = code;
  }
}

/** @typedef {"connecting" | "open" | "lost"} WireStatus */
/** @typedef {{ open: (url: string) => WebSocket, answers: () => Promise<boolean>, random: () => number, report: (error: unknown) => void }} Ports */
/** @typedef {{ resolve: (result: any) => void, reject: (error: WireError) => void }} Pending */

export class Wire {
  #url;
  #open;
  #answers;
  #random;
  #report;
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Map<number, Pending>} */
  #pending = new Map();
  /** @type {Map<string, Set<(payload: any) => void>>} */
  #listeners = new Map();
  /** @type {Set<(status: WireStatus, attempt: number) => void>} */
  #watchers = new Set();
  #nextId = 1;
  #attempt = 0;
  #isAsking = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {WireStatus} */
  #status = "connecting";
  #decide = () => {};
  /** Resolves once the first connection is made or has failed. @type {Promise<void>} */
  #decided = new Promise((resolve) => (this.#decide = resolve));

  /**
   * @param {string} url
   * @param {Partial<Ports>} [ports]
   */
  constructor(url, { open = opened, answers = isThere, random = Math.random, report = reportError } = {}) {
    this.#url = url;
    this.#open = open;
    this.#answers = answers;
    this.#random = random;
    this.#report = report;
  }

  get isOpen() {
    return this.#status === "open";
  }

  /**
   * Connects now instead of waiting for the next scheduled attempt. After a loss the server is
   * asked first: a socket that fails makes Firefox hold back those that follow it.
   */
  connect() {
    clearTimeout(this.#timer);
    if (this.#socket || this.#isAsking) return;
    if (!this.#attempt) return this.#connect();
    this.#isAsking = true;
    this.#answers().then((answers) => {
      this.#isAsking = false;
      if (answers) this.#connect();
      else this.#lose();
    });
  }

  #connect() {
    const socket = this.#open(this.#url);
    this.#socket = socket;
    socket.onopen = () => {
      this.#attempt = 0;
      this.#become("open");
    };
    socket.onmessage = (frame) => this.#take(frame.data);
    socket.onclose = () => this.#lose();
  }

  /**
   * The command's result; while the first connection is being made, the command waits for it.
   * @template {string} M
   * @param {M} method
   * @param {Record<string, unknown>} [params]
   * @returns {Promise<M extends keyof CommandResults ? CommandResults[M] : any>}  Rejects with a WireError.
   */
  async call(method, params = {}) {
    if (this.#socket && this.#status === "connecting") await this.#decided;
    return new Promise((resolve, reject) => {
      if (!this.#socket || !this.isOpen || this.#socket.readyState > OPEN) {
        reject(new WireError("Can’t reach the server. Try again once it is back."));
        return;
      }
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  /**
   * Calls the listener with the payload of each event of that name.
   * @param {string} event
   * @param {(payload: any) => void} listener
   */
  on(event, listener) {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** @param {(status: WireStatus, attempt: number) => void} watcher */
  onStatus(watcher) {
    this.#watchers.add(watcher);
  }

  /** @param {WireStatus} status */
  #become(status) {
    this.#status = status;
    for (const watcher of this.#watchers) watcher(status, this.#attempt);
    this.#decide();
  }

  #lose() {
    this.#socket = null;
    this.#attempt += 1;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#become("lost");
    for (const { reject } of pending) {
      reject(new WireError("The connection was lost before the server answered. Check whether it was done."));
    }
    this.#timer = setTimeout(() => this.connect(), waitMs(this.#attempt, this.#random()));
  }

  /** Calls a listener; its error is reported, and the other listeners still get the event. @param {(payload: any) => void} listener @param {any} payload */
  #tell(listener, payload) {
    try {
      listener(payload);
    } catch (error) {
      this.#report(error);
    }
  }

  /** @param {unknown} frame */
  #take(frame) {
    const said = parsed(frame);
    if (!said) return;
    if (typeof said.method === "string") {
      for (const listener of this.#listeners.get(said.method) ?? []) this.#tell(listener, said.params ?? {});
      return;
    }
    const pending = this.#pending.get(said.id);
    if (!pending) return;
    this.#pending.delete(said.id);
    if (said.error) pending.reject(new WireError(String(said.error.message), said.error.code));
    else pending.resolve(said.result);
  }
}

/**
 * The delay before an attempt: it doubles, with jitter so that tabs don't reconnect all at once.
 * @param {number} attempt  Counted from 1.
 * @param {number} random  In [0, 1).
 */
export function waitMs(attempt, random) {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 10));
  return longest * (0.5 + random / 2);
}

/** @param {unknown} frame @returns {any} */
function parsed(frame) {
  try {
    return JSON.parse(String(frame));
  } catch {
    return null;
  }
}

/** @param {string} address */
function opened(address) {
  return new WebSocket(address, keyProtocols());
}

/** True if the server answers, in good time: a network that swallows everything would hold up all later attempts. */
async function isThere() {
  return fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(LONGEST_WAIT_MS) }).then(({ ok }) => ok, () => false);
}
