// @ts-check
/** What can be done with a block of code: wrap its lines, download it, copy it. */

import { copied } from "../../lib/copied.js";
import { download } from "../../lib/download.js";
import { clone } from "../../lib/from-template.js";

/** How files end whose language has another name. @type {Readonly<Record<string, string>>} */
const ENDINGS = { python: "py", python3: "py", javascript: "js", typescript: "ts", bash: "sh", shell: "sh", console: "txt", rust: "rs", ruby: "rb", markdown: "md", kotlin: "kt", csharp: "cs", "c#": "cs", "c++": "cpp", yaml: "yml", mermaid: "mmd", code: "txt" };

/** Gives the code in messages its buttons. @param {HTMLElement} message */
export function equipCode(message) {
  for (const code of message.querySelectorAll(".code:not(:has(.code-actions))")) code.append(clone("code-actions-template"));
}

/** The name of a file for code in a language. @param {string} language */
function fileNameFor(language) {
  const ending = ENDINGS[language] ?? language;
  return `code.${/^[a-z0-9]{1,8}$/.test(ending) ? ending : "txt"}`;
}

/** Does what a button of a block of code is for. @param {HTMLElement} pressed */
export async function actOnCode(pressed) {
  const block = /** @type {HTMLElement} */ (pressed.closest(".code"));
  const text = block.querySelector("code")?.textContent ?? "";
  if (pressed.dataset.code === "copy") await copied(pressed, text);
  if (pressed.dataset.code === "wrap") pressed.setAttribute("aria-pressed", String(block.toggleAttribute("data-wraps")));
  if (pressed.dataset.code === "download") download(text, fileNameFor(block.dataset.language ?? ""));
}
