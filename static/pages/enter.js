// @ts-check
/**
 * Fetches the page with this browser's key, and writes it in the key page's place.
 *
 * The browser waits for this script before it reads on, and then reads the page that is written
 * here. So styles, scripts, anchors and whoever waits for the page to load find it as if it had
 * come at once; a page that is put in later by a script would lack all of that.
 */
(() => {
  const STORED = "smart_context.key"; // as in key.js, which a script that is waited for can't import
  const code = /^#enter=([\w-]+)$/.exec(location.hash)?.[1];
  try {
    if (code) {
      history.replaceState(null, "", location.pathname + location.search);
      const given = ask("POST", "/api/session", { "X-Smart-Context-Code": code });
      if (given.status === 200) keep(JSON.parse(given.responseText).key);
    }
    show(ask("GET", location.href, { "X-Smart-Context-Key": kept(), Accept: "text/html" }));
  } catch {
    say("Is it still running? Start it again in a terminal, then reload this page.");
  }

  /** @param {string} method @param {string} address @param {Record<string, string>} headers */
  function ask(method, address, headers) {
    const request = new XMLHttpRequest();
    request.open(method, address, false);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.send();
    return request;
  }

  /** @param {XMLHttpRequest} page */
  function show(page) {
    if (page.responseURL) history.replaceState(null, "", page.responseURL + location.hash);
    if (page.getResponseHeader("Content-Type")?.startsWith("text/html")) document.write(page.responseText);
    else say(page.responseText, "This page can’t be shown");
  }

  /** Shows a page of words, with the style of the key page. @param {string} words @param {string} [title] */
  function say(words, title = "Smart Context does not answer") {
    document.title = `${title} · Smart Context`;
    addEventListener("DOMContentLoaded", () => {
      const main = document.createElement("main");
      for (const [name, text] of [["h1", title], ["p", words]]) {
        const element = document.createElement(name);
        element.textContent = text;
        main.append(element);
      }
      document.body.className = "plain";
      document.body.append(main);
    });
  }

  function kept() {
    try {
      return localStorage.getItem(STORED) ?? "";
    } catch {
      return ""; // storage is forbidden here: the server says what to do
    }
  }

  /** @param {string} key */
  function keep(key) {
    try {
      localStorage.setItem(STORED, key);
    } catch {
      // As above.
    }
  }
})();
