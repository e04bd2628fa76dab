// @ts-check
/**
 * Keeps the page within what a keyboard on the screen leaves free. Safari covers the page instead
 * of making it shorter, and moves it up.
 */
export function stayAboveKeyboard() {
  const view = window.visualViewport;
  view?.addEventListener("resize", () => {
    const height = Math.round(view.height * view.scale); // whoever zooms in has no keyboard open
    const isCovered = height < window.innerHeight;
    document.documentElement.style.setProperty("--window-height", isCovered ? `${height}px` : "100dvh");
    if (isCovered) scrollTo(0, 0);
  });
}
