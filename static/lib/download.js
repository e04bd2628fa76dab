// @ts-check
const KEPT_MS = 60_000;

/** Lets the browser save a text as a file. @param {string} text @param {string} name @param {string} [type] */
export function download(text, name, type = "text/plain") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
