// @ts-check
/** Sends one file to the server, where it is kept for messages. */

import { keyHeaders } from "../key.js";

/** @typedef {import("./attached.js").Stored} Stored */

const REFUSED = new Set([400, 413, 422]);

/** A file that did not get through. */
export class NotUploaded extends Error {
  /** @param {string} message @param {boolean} isRefused  The server read it and does not want it. */
  constructor(message, isRefused) {
    super(message);
    this.name = "NotUploaded";
    this.isRefused = isRefused;
  }
}

/**
 * Begins to send a file.
 * @param {File} file
 * @param {(share: number) => void} onProgress  Told how much of it has gone, from 0 to 1.
 * @returns {{ done: Promise<Stored>, stop: () => void }}
 */
export function upload(file, onProgress) {
  // Unlike fetch, it reports progress.
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.open("POST", "/api/files");
    request.responseType = "text";
    for (const [name, value] of Object.entries(keyHeaders())) request.setRequestHeader(name, value);
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name || "file"));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => total && onProgress(loaded / total);
    request.onload = () => {
      const answer = parsed(request.responseText);
      if (request.status === 200 && answer) resolve(answer);
      else reject(new NotUploaded(reasonIn(answer, request.status), REFUSED.has(request.status)));
    };
    request.onerror = () => reject(new NotUploaded("Upload failed: no connection, or the file changed meanwhile.", false));
    request.onabort = () => reject(new NotUploaded("Upload cancelled.", false));
    request.send(file);
  });
  return { done, stop: () => request.abort() };
}

/** @param {any} answer @param {number} status */
function reasonIn(answer, status) {
  const told = answer?.error?.message || `The server answered ${status}.`;
  return `${told[0].toUpperCase()}${told.slice(1)}`;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
