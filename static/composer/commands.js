// @ts-check
/** What can be typed into the message box instead of a message. */

/** @typedef {"compact" | "recall" | "clear"} Command */
/** @typedef {{ name: string, text: string, hint: string }} OwnCommand  A note whose text begins a message. */

/** @type {readonly Command[]} */
const COMMANDS = ["compact", "recall", "clear"];
/** Those that take words after them. @type {readonly Command[]} */
const TAKE_WORDS = ["compact", "recall"];
const COMMAND = /^\/([\p{L}\p{N}_-]+)(?:\s+(.*))?$/su;
/** Where the words after a command of one's own go. */
const WORDS = "$ARGUMENTS";

/**
 * The command in a text, the text of one's own, or why it is not a valid one; undefined for a
 * message. Paths, `//` and texts that begin with a space are messages. What follows `/compact`
 * names a topic.
 * @param {string} text
 * @param {readonly OwnCommand[]} [own]
 * @returns {{ command: Command, words?: string } | { text: string } | { problem: string } | undefined}
 */
export function commandIn(text, own = []) {
  const [, name, rest] = COMMAND.exec(text.trimEnd()) ?? [];
  if (!name) return undefined;
  const command = COMMANDS.find((known) => known === name.toLowerCase());
  if (command && !rest) return { command };
  if (command && TAKE_WORDS.includes(command)) return { command, words: rest };
  if (command) return { problem: `/${command} takes nothing after it. To send this as a message, begin with a space.` };
  const mine = own.find((one) => one.name === name.toLowerCase());
  if (mine) return { text: filled(mine, rest ?? "") };
  const known = [...COMMANDS, ...own.map((one) => one.name)].map((one) => `/${one}`).join(", ");
  return { problem: `Unknown command /${name}. Try one of ${known}; to send it as a message, begin with a space.` };
}

/** The names of the commands that a text may become. @param {string} text @param {readonly OwnCommand[]} [own] @returns {readonly string[]} */
export function commandsFrom(text, own = []) {
  const begun = text.toLowerCase();
  const names = [...COMMANDS, ...own.map(({ name }) => name)];
  return begun.startsWith("/") ? names.filter((name) => `/${name}`.startsWith(begun)) : [];
}

/** @param {OwnCommand} own @param {string} words */
function filled({ text }, words) {
  if (text.includes(WORDS)) return text.replaceAll(WORDS, () => words);
  return `${text}\n\n${words}`;
}
