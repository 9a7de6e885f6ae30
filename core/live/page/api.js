// SPDX-License-Identifier: MIT
// What the pages of the live book ask of their server: state, files, jobs and events. Errors are Errors whose message can be shown.

const GONE = "The server of the live book does not answer. Start it again with ./ferry book --live, and open the address that it prints. " +
  "Unsaved text stays in this tab until you close it.";

/** A request; `body` makes it a POST. `expected` lists statuses that the caller handles. Returns [status, JSON]. */
async function ask(path, body, ...expected) {
  const how = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json", "X-Ferry": "1" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, how);
  } catch {
    throw new Error(GONE);
  }
  const json = await answer.json().catch(() => ({}));
  if (!answer.ok && !expected.includes(answer.status)) throw new Error(json.error || `The server answered with status ${answer.status}. ${GONE}`);
  return [answer.status, json];
}

export const state = async () => (await ask("/live/state"))[1];
export const predictions = async () => (await ask("/live/predictions"))[1].questions;
/** Commits to a guess, a text; the question with its guesses and their numbers. */
export const predict = async (question, guess) => (await ask("/live/predictions", { question, guess }))[1];
export const start = async exercise => void await ask("/live/start", { exercise });

/** {text, version} of a file beneath work/; null if there is none. */
export async function read(path) {
  const [status, file] = await ask(`/live/file?path=${encodeURIComponent(path)}`, undefined, 404);
  return status === 404 ? null : file;
}

/** Writes a file whose version is still `base` ("": that does not exist yet). Returns {version}, or {conflict: {text, version}}. */
export async function write(path, text, base) {
  const [status, answer] = await ask("/live/file", { path, text, base }, 409);
  return status === 409 ? { conflict: answer } : answer;
}

/** A run of a command. `each` gets its output as it comes; stop() ends it. */
export class Job {
  async run(request, each) {
    const [, { job }] = await ask("/live/jobs", request);
    this.number = job;
    if (this.stopped) await this.stop();
    const answer = await fetch(`/live/jobs/${job}`).catch(() => { throw new Error(GONE); });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "", end = null;
    const line = text => {
      if (!text) return;
      // Records have integers of 64 bits, which the player's own parser keeps whole.
      const json = (text.startsWith('{"exit"') && window.ferryPlayer?.parse || JSON.parse)(text);
      "out" in json ? each(json.out) : end = json;
    };
    for (;;) {
      const { done, value } = await reader.read().catch(() => { throw new Error(GONE); });
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      lines.forEach(line);
    }
    line(rest);
    if (!end) throw new Error("The run ended without a result. Run it again.");
    return end;
  }
  async stop() {
    this.stopped = true;
    if (this.number) await ask(`/live/jobs/${this.number}/stop`, {}, 404);
  }
}

/** Calls `each` with {type: "state"}, {type: "change", path, version} and, after a pause of unknown length, {type: "open"}. A browser
 * opens six connections to a server at most: one page listens for all of them, and the next one takes over when it closes. */
export function listen(each) {
  const channel = new BroadcastChannel("ferry-live");
  channel.onmessage = e => each(e.data);
  const tell = event => (channel.postMessage(event), each(event));
  const open = () => new Promise(() => {
    const source = new EventSource("/live/events");
    source.onopen = () => tell({ type: "open" });
    source.addEventListener("state", () => tell({ type: "state" }));
    source.addEventListener("change", e => tell({ ...JSON.parse(e.data), type: "change" }));
  });
  navigator.locks ? navigator.locks.request("ferry-live", open) : open(); // without a secure context there are no locks
}

// ---- what the modules share ----

export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) name.startsWith("on") ? e[name] = value : e.setAttribute(name, value);
  e.append(...children);
  return e;
}
export const button = (text, run, attributes = {}) => el("button", { type: "button", class: "live-button", onclick: run, ...attributes }, text);
export const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

/** A text of this tab that survives a reload: unsaved edits. Without storage (a full quota), it lasts as long as the page. */
const kept = new Map();
export const keep = (name, value) => {
  kept.set(name, value);
  try {
    value === null ? sessionStorage.removeItem(`ferry ${name}`) : sessionStorage.setItem(`ferry ${name}`, JSON.stringify(value));
  } catch { /* kept has it */ }
};
export const recall = name => {
  if (!kept.has(name)) kept.set(name, JSON.parse(sessionStorage.getItem(`ferry ${name}`) || "null"));
  return kept.get(name);
};
