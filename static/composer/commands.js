// @ts-check
/** What can be typed into the message box instead of a message. */

/** @typedef {"compact" | "clear"} Command */

/** @type {readonly Command[]} */
const COMMANDS = ["compact", "clear"];

/**
 * The command that a text is; nothing if it is a message, as every other word after a slash is.
 * @param {string} text
 * @returns {Command | undefined}
 */
export function commandIn(text) {
  return COMMANDS.find((command) => text.trim().toLowerCase() === `/${command}`);
}

/** The commands that a text may become. @param {string} text @returns {readonly Command[]} */
export function commandsFrom(text) {
  const begun = text.trim().toLowerCase();
  return begun.startsWith("/") ? COMMANDS.filter((command) => `/${command}`.startsWith(begun)) : [];
}
