// @ts-check
/** Text functions that several modules share. */

/** Smaller amounts of money are told as `under $0.0001`. */
export const LEAST_AMOUNT = 1e-4;

/**
 * The text with each direction-changing character replaced by its code, as on the server.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(
    /[\u202a-\u202e\u2066-\u2069]/g,
    (character) => `⟦U+${character.charCodeAt(0).toString(16).toUpperCase()}⟧`,
  );
}

/** The language of the page's own words, and so of its numbers. */
const LANGUAGE = "en";
const TWO_DECIMALS = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
const NUMBERS = new Intl.NumberFormat(LANGUAGE);

/** `1,200`. @param {number} count */
export function numbered(count) {
  return NUMBERS.format(count);
}

/** `1 file`, `1,200 files`. @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${numbered(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** `1 message`, `4 messages`. @param {number} count */
export function messagesCounted(count) {
  return counted(count, "message");
}

/** `$0.012`, `$1.50`; from a tenth on with two decimals, below with two digits that count. @param {number} amount @param {string} currency @returns {string} */
export function money(amount, currency) {
  if (amount > 0 && amount < LEAST_AMOUNT) return `under ${money(LEAST_AMOUNT, currency)}`;
  const digits = 0 < amount && amount < 0.1 ? { maximumSignificantDigits: 2 } : TWO_DECIMALS;
  try {
    return new Intl.NumberFormat(LANGUAGE, { style: "currency", currency, ...digits }).format(amount);
  } catch {
    return `${new Intl.NumberFormat(LANGUAGE, digits).format(amount)} ${currency}`; // no code of ISO 4217
  }
}

/**
 * A part of an address in plain text; as it is if it encodes nothing: anybody may type `#100%`.
 * @param {string} part
 */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Names of files and commands in messages, with words for people who only have a page; the server has the same. @type {readonly (readonly [RegExp, string])[]} */
const FOR_THE_PAGE = [
  [/refused the request with status 401\b/g, "did not accept the key (401)"],
  [/refused the request with status 429\b/g, "takes no more requests now (429)"],
  [/refused the request with status (\d+)/g, "refused the request ($1)"],
  [/, or put it into an environment variable [^.]* table of \.vault\.toml/g, ""],
  [/ or with: smart-context models add/g, "."],
  [/base_url/g, "the address under Settings"],
  [/timeout_s/g, "the longest wait under Settings"],
  [/ in (?:the \[llm(?:\.categories)?\] table of )?\.vault\.toml/g, ""],
  [/^this chat is still being answered; stop that first, or wait/g, "This chat is still being answered. Stop that first, or wait."],
];

/** A message without names of files and commands. @param {string} message */
export function plainly(message) {
  return FOR_THE_PAGE.reduce((words, [technical, plain]) => words.replace(technical, plain), message);
}

/**
 * A message for users about a thrown value.
 * @param {unknown} error
 */
export function reasonOf(error) {
  return plainly(error instanceof Error ? error.message : String(error));
}
