// Requests to the server, with the token of the page's address.

const token = new URLSearchParams(location.search).get("token") ?? "";

/** An error that the server answered with, as one sentence. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} sentence
   */
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

/**
 * Sends a request, and returns its response.
 * @param {string} path
 * @param {RequestInit} [options]
 */
async function request(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { ...options.headers, Authorization: `Bearer ${token}` } });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Refused(response.status, problem.error ?? `The server answered ${response.status}.`);
  }
  return response;
}

/**
 * @param {string} path
 * @returns {Promise<any>}
 */
export const get = async (path) => (await request(path)).json();

/**
 * @param {string} path
 * @param {object} body
 * @returns {Promise<any>}
 */
export const post = async (path, body) =>
  (await request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

/**
 * Sends a file.
 * @param {string} path
 * @param {Blob} file
 * @returns {Promise<any>}
 */
export const upload = async (path, file) => (await request(path, { method: "POST", body: file })).json();

/**
 * @param {string} path
 * @returns {Promise<Response>}
 */
export const raw = (path) => request(path);

/** @type {Map<string, Promise<string>>} */
const pictures = new Map();

/**
 * Returns an address under which the page can show an image of the server. The latest images are kept.
 * @param {string} path
 * @returns {Promise<string>}
 */
export function picture(path) {
  let found = pictures.get(path);
  if (!found) {
    found = request(path).then((response) => response.blob()).then((blob) => URL.createObjectURL(blob));
    found.catch(() => pictures.delete(path));
    pictures.set(path, found);
    if (pictures.size > 300) {
      const [oldest, url] = pictures.entries().next().value ?? [];
      if (oldest && url) {
        pictures.delete(oldest);
        url.then(URL.revokeObjectURL, () => {});
      }
    }
  }
  return found;
}

/**
 * Calls `change` after every change of the run, and `connected` when the connection is lost or comes back.
 * @param {() => void} change
 * @param {(is: boolean) => void} connected
 */
export async function follow(change, connected) {
  for (let pause = 250; ; pause = Math.min(2 * pause, 4000)) {
    try {
      const response = await request("/api/events");
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      connected(true);
      pause = 250;
      const decoder = new TextDecoder();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        if (decoder.decode(value, { stream: true }).includes("data:")) change();
      }
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        connected(false);
        throw error;
      }
    }
    connected(false);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
