// @ts-check
/** What can be typed into the message box instead of a message. */

/** @typedef {"compact" | "recall" | "clear"} Command */

/** @type {readonly Command[]} */
const COMMANDS = ["compact", "recall", "clear"];
/** Those that take words after them. @type {readonly Command[]} */
const TAKE_WORDS = ["compact", "recall"];
const COMMAND = /^\/([\p{L}\p{N}_-]+)(?:\s+(.*))?$/su;

/**
 * The command in a text, or why it is not a valid one; undefined for a message. Paths, `//` and
 * texts that begin with a space are messages. What follows `/compact` names a topic.
 * @param {string} text
 * @returns {{ command: Command, words?: string } | { problem: string } | undefined}
 */
export function commandIn(text) {
  const [, name, rest] = COMMAND.exec(text.trimEnd()) ?? [];
  if (!name) return undefined;
  const command = COMMANDS.find((known) => known === name.toLowerCase());
  if (command && !rest) return { command };
  if (command && TAKE_WORDS.includes(command)) return { command, words: rest };
  if (command) return { problem: `/${command} takes nothing after it. To send this as a message, begin with a space.` };
  const known = COMMANDS.map((one) => `/${one}`).join(", ");
  return { problem: `Unknown command /${name}. Try one of ${known}; to send it as a message, begin with a space.` };
}

/** The commands that a text may become. @param {string} text @returns {readonly Command[]} */
export function commandsFrom(text) {
  const begun = text.toLowerCase();
  return begun.startsWith("/") ? COMMANDS.filter((command) => `/${command}`.startsWith(begun)) : [];
}
