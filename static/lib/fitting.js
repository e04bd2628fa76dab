// @ts-check
/** Fits the height of a box to its text; its style takes `--rows-height`. @param {HTMLTextAreaElement} box */
export function fit(box) {
  box.style.setProperty("--rows-height", "auto");
  const borders = box.offsetHeight - box.clientHeight;
  if (box.scrollHeight) box.style.setProperty("--rows-height", `${box.scrollHeight + borders}px`);
}
