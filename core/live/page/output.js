// SPDX-License-Identifier: MIT
// What a command prints, as it comes, and what becomes of it: links to lessons, the stepper's player, the verdict of a check.
import { el } from "./api.js";
import { linked } from "./verdict.js";

const MOST = 200_000; // characters that are shown
const ESCAPES = /\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r(?!\n)/g;

let player;
/** The script of the stepper's player; lessons that play a record have it already. */
const withPlayer = () => window.ferryStep ? Promise.resolve() : player ||= new Promise((done, failed) =>
  document.head.append(el("script", { src: "/step/player.js", onload: done, onerror: () => failed(new Error("The stepper's player is missing from the book: run make book.")) })));

export class Output {
  constructor(label) {
    this.status = el("p", { class: "live-status", role: "status" });
    this.text = el("pre", { class: "live-text", tabindex: 0, role: "region", "aria-label": label });
    this.more = el("div");
    this.fold = el("details", { class: "live-fold", open: "" }, el("summary", {}, "Output"), this.text);
    this.box = el("div", { class: "live-output" }, this.status, this.more, this.fold);
    this.clear();
  }
  clear() {
    this.all = "";
    this.fold.hidden = this.fold.open = true;
    this.text.textContent = "";
    this.more.replaceChildren();
    this.say("");
  }
  /** One line on how it went: kind is "", "good" or "bad". */
  say(text, kind = "", ...links) {
    this.status.className = `live-status ${kind && `live-${kind}`}`;
    this.status.replaceChildren(text, ...links.flatMap(link => [" ", link]));
    this.status.hidden = !text;
  }
  add(text) {
    text = text.replace(ESCAPES, "");
    const atEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 30;
    this.fold.hidden = false;
    this.all += text;
    if (this.all.length > MOST) {
      this.all = this.all.slice(-MOST);
      this.text.textContent = `... the beginning of a long output is left out\n${this.all}`;
    } else {
      this.text.append(text);
    }
    if (atEnd) this.text.scrollTop = this.text.scrollHeight;
  }
  /** After the end: the lessons that the output names become links, and where something better is shown, it is folded. */
  end(pages, folded) {
    this.text.replaceChildren(...linked(this.text.textContent, pages));
    this.text.scrollTop = 0;
    this.fold.open = !folded;
  }
  show(...nodes) { this.more.replaceChildren(...nodes); }
  /** Plays a record, from its first finding of a kind where one is given. */
  async play(record, kind) {
    await withPlayer();
    const figure = el("figure", { class: "ferry-step" }), found = kind && record.findings.find(f => f.k === kind && f.step >= 0);
    this.more.replaceChildren(figure);
    window.ferryStep(figure, record, found ? found.step : undefined);
  }
}
