// @ts-check
/** Pieces of pages made by the server, where they are already escaped and sanitised. */

import { keyHeaders } from "../key.js";

/**
 * The first element of a fragment.
 * @param {string} address
 * @returns {Promise<HTMLElement>}
 */
export async function fetchFragment(address) {
  return parsed(await fetchText(address));
}

/**
 * The first element of the server's response to a posted value.
 * @param {string} address
 * @param {unknown} value
 * @returns {Promise<HTMLElement>}
 */
export async function postForFragment(address, value) {
  return parsed(await request(address, { method: "POST", body: JSON.stringify(value) }));
}

/** @param {string} address @returns {Promise<string>} */
export async function fetchText(address) {
  return request(address, {});
}

/** @param {string} address @param {RequestInit} options @returns {Promise<string>} */
async function request(address, options) {
  const response = await fetch(address, { ...options, headers: { Accept: "text/html", ...keyHeaders() } });
  if (!response.ok) throw new Error((await response.text()).slice(0, 300) || `The server answered ${response.status}.`);
  return response.text();
}

/** A page as it is now. @param {string} address @returns {Promise<Document>} */
export async function fetchPage(address) {
  return documentOf(await fetchText(address));
}

/** A parsed document runs no script and loads nothing, unlike assigning HTML to an element. @param {string} text */
function documentOf(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

/** @param {string} text */
function parsed(text) {
  const root = documentOf(text).body.firstElementChild;
  if (!(root instanceof HTMLElement)) throw new Error("The server sent an empty page.");
  return /** @type {HTMLElement} */ (document.adoptNode(root));
}
