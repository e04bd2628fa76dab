// @ts-check
/**
 * Changes a message on the page in place until it is as the server has it now. What doesn't differ
 * stays the same node: a click that has begun there, the focus and a selection outlive the change.
 */

/** What the page itself puts into messages; the server knows nothing of it. */
const OWN = ".actions, .code-actions, .edit, .knew, .took";
/** What the page fills with its own words. */
const FILLED = ".marks, .why, .summary-still, time";
/** What the page sets, and what readers open. */
const OWN_ATTRIBUTES = new Set(["class", "style", "open", "tabindex", "data-hue", "data-wraps"]);
const MARKS = ["folded", "marked", "behind", "compacted", "after-gap", "editing", "found", "why", "mark"];
const OWN_ATTRIBUTES_OF_MESSAGES = new Set([...OWN_ATTRIBUTES, ...MARKS.map((name) => `data-${name}`)]);
/** What decides on a message's buttons. */
const KIND = ["role", "isSummary", "extracted"];

/**
 * @param {HTMLElement} old  On the page.
 * @param {HTMLElement} fresh  Its newer state; parts of it may end up in the old one.
 * @returns {boolean}  False, and nothing is changed, if it has become another kind of message.
 */
export function patchMessage(old, fresh) {
  if (KIND.some((key) => old.dataset[key] !== fresh.dataset[key])) return false;
  patch(old, fresh, OWN_ATTRIBUTES_OF_MESSAGES);
  return true;
}

/** @param {Element} old @param {Element} fresh @param {ReadonlySet<string>} [own]  Attributes of the page's. */
function patch(old, fresh, own = OWN_ATTRIBUTES) {
  for (const { name, value } of fresh.attributes) {
    if (!own.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of old.getAttributeNames()) {
    if (!own.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  if (!fresh.matches(FILLED)) patchChildren(old, fresh);
}

/** @param {Element} old @param {Element} fresh */
function patchChildren(old, fresh) {
  const unused = [...old.childNodes].filter((node) => !isOwn(node));
  const wanted = [...fresh.childNodes].map((node) => {
    const at = unused.findIndex((one) => isAlike(one, node));
    return { node, kept: at < 0 ? null : unused.splice(at, 1)[0] };
  });
  for (const node of unused) node.remove();
  // Only what is new or out of order is put anywhere: what is moved loses the focus.
  let next = old.firstChild;
  for (const { node, kept } of wanted) {
    next = withoutOwn(next);
    if (kept instanceof Element) patch(kept, /** @type {Element} */ (node));
    else if (kept && kept.nodeValue !== node.nodeValue) kept.nodeValue = node.nodeValue;
    if (kept && kept === next) next = next.nextSibling;
    else old.insertBefore(kept ?? node, next);
  }
}

/** The next node that the server knows of; if none follows, the first of the page's own, which stand at the end. @param {ChildNode | null} node */
function withoutOwn(node) {
  let next = node;
  while (next && isOwn(next)) next = next.nextSibling;
  return next ?? node;
}

/** @param {Node} node */
function isOwn(node) {
  return node instanceof Element && node.matches(OWN);
}

/** @param {Node} a @param {Node} b */
function isAlike(a, b) {
  if (a.nodeName !== b.nodeName) return false;
  return !(a instanceof Element) || a.getAttribute("class") === /** @type {Element} */ (b).getAttribute("class");
}
