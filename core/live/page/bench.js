// SPDX-License-Identifier: MIT
// A workbench: the editor of one file, the buttons that run it, and what came of it. An exercise's file is the one in work/; a listing's
// file is a copy in this tab of a program of the book.
import { Job, button, el, keep, plural, read, recall, start, write } from "./api.js";
import { openEditor } from "./editor.js";
import { inspected, messages } from "./findings.js";
import { Output } from "./output.js";
import { evidence, headline } from "./verdict.js";

const DOING = { run: "Running", inspect: "Inspecting", step: "Recording", check: "Checking", hint: "Asking for a hint" };
const LABELS = { run: "Run", inspect: "Inspect", step: "Step", check: "Check", hint: "Hint" };
const LIMITS = { time: "Stopped: it ran longer than a run may.", output: "Stopped: it printed more than a run may.", stop: "Stopped." };
const MEANING = { 2: "The command line was wrong", 3: "The file could not be compiled or run" };

/** The lines of a text, those that another one does not have marked. */
const differing = (text, other) => {
  const known = new Set(other.split("\n"));
  return text.split("\n").map(line => el("span", known.has(line) ? {} : { class: "live-differs" }, `${line}\n`));
};

export class Bench {
  /** `subject`: name, label, language ("c" or "cuda"), and either exercise (of the state) or text(), the program's. `course` has pages and
   * changed(). */
  constructor(subject, course) {
    this.subject = subject;
    this.course = course;
    this.own = subject.name.split("/").pop();
    this.output = new Output(`Output of ${subject.label}`);
    this.place = el("div", { class: "live-editor" });
    this.trouble = el("div");
    this.saving = Promise.resolve(true);
    this.stopper = button("Stop", () => this.stop(), { hidden: "" });
    this.note = el("span", { class: "live-note-saved", role: "status" });
    this.arguments = el("input", { class: "live-arguments", value: /^chapters\/\d/.test(subject.name) ? "--quick" : "", spellcheck: "false" });
    this.keys = subject.exercise ? { "Ctrl-Enter": () => this.do("check"), "Shift-Ctrl-Enter": () => this.can("inspect") && this.do("inspect"), "Ctrl-S": () => this.save() }
      : { "Ctrl-Enter": () => this.do("run"), "Shift-Ctrl-Enter": () => this.can("inspect") && this.do("inspect"), "Ctrl-S": () => {} };
    for (const [key, f] of Object.entries(this.keys)) this.keys[key.replace("Ctrl", "Cmd")] = f;
    this.tools = el("div", { class: "live-tools", hidden: "" });
    this.box = el("section", { class: "live-bench", "aria-label": subject.label }, this.trouble, this.place, this.tools, this.output.box);
  }
  /** Inspecting and stepping need kernels; checks and hints, an exercise. */
  can(what) { return what === "run" || (/^(inspect|step)$/.test(what) ? this.subject.language === "cuda" : !!this.subject.exercise); }

  /** The buttons: `before` a run of one of them, the bench is told which listing is meant. */
  bar(before = () => {}) {
    const edit = button("Edit", () => (before(), this.edit(true)));
    const buttons = Object.keys(LABELS).filter(what => this.can(what)).map(what => button(LABELS[what], () => (before(), this.do(what)), { "data-do": what }));
    return el("div", { class: "live-bar", role: "group", "aria-label": this.subject.label }, edit, ...buttons);
  }
  fillTools() {
    const edited = this.subject.exercise ? [button("Save", () => this.save())] : [button("Original", () => this.original(), { title: "the program as the book has it" })];
    const args = this.subject.exercise ? [] : [el("label", {}, "arguments ", this.arguments)];
    const keys = this.subject.exercise ? ["Ctrl+Enter check", "Ctrl+S save"] : ["Ctrl+Enter run"];
    if (this.can("inspect")) keys.push("Ctrl+Shift+Enter inspect");
    keys.push("Esc, then Tab leaves the editor");
    this.tools.replaceChildren(this.stopper, ...edited, button("Close", () => this.close()), ...args, this.note, el("span", { class: "live-keys" }, keys.join(" · ")));
  }

  // -- the text --

  get text() { return this.editor ? this.editor.text : recall(this.subject.name)?.text ?? this.saved; }
  get edited() { return this.text !== this.saved; }

  /** Reads the file, and makes it where there is none and `make` says so. False if there is none. */
  async load(make) {
    if (this.saved !== undefined) return true;
    const { exercise, text, name } = this.subject;
    if (!exercise) return this.saved = await text(), true;
    let file = await read(name);
    if (!file && make) {
      await start(exercise.number);
      file = await read(name);
      if (!file) throw new Error(`./ferry start did not make ${name}. Run it in a terminal to see why.`);
    }
    if (!file) return false;
    const draft = recall(name);
    this.saved = file.text;
    this.version = file.version;
    if (draft && draft.base !== file.version && draft.text !== file.text) this.clash(file, draft.text);
    return true;
  }
  /** Opens the editor; `make` makes the file where there is none, and takes the focus. */
  async edit(make) {
    try {
      if (!await this.load(make)) return;
      this.tools.hidden = this.place.hidden = false;
      this.subject.hide?.(true);
      this.opening ||= (this.fillTools(), openEditor(this.place, this.text, { label: `Editor of ${this.subject.label}`, language: this.subject.language,
        changed: () => this.changed(), keys: this.keys, leaves: is => this.tell(is ? "Tab leaves the editor" : "") }));
      const first = !this.editor;
      this.editor = await this.opening;
      this.editor.refresh();
      if (this.subject.line && (first || make)) this.editor.go(this.subject.line);
      if (make) this.editor.focus();
      this.tell();
    } catch (e) {
      this.output.say(e.message, "bad");
    }
  }
  close() {
    this.place.hidden = this.tools.hidden = true;
    this.subject.hide?.(false);
    this.output.clear();
    this.subject.bar.querySelector("button").focus();
  }
  changed() {
    this.editor.stale(true);
    keep(this.subject.name, this.edited ? { text: this.text, base: this.version } : null);
    this.tell();
  }
  tell(text) {
    const state = this.subject.exercise ? (this.edited ? "not saved" : `saved in ${this.subject.name}`) : this.edited ? "changed, in this tab only" : "";
    this.note.textContent = text || state;
  }
  original() {
    this.editor.text = this.saved;
    this.editor.clear();
    keep(this.subject.name, null);
    this.tell();
    this.editor.focus();
  }
  /** Writes the file. False if it has changed on disk: both versions are then shown. One after the other: each needs the last one's version. */
  save() { return this.saving = this.saving.then(() => this.writeText()); }
  async writeText() {
    if (this.clashing) return false;
    if (!this.edited) return true;
    try {
      const text = this.text, { conflict, version } = await write(this.subject.name, text, this.version);
      if (conflict) return this.clash(conflict, text), false;
      [this.saved, this.version] = [text, version];
      keep(this.subject.name, this.edited ? { text: this.text, base: version } : null);
      this.tell();
      return true;
    } catch (e) {
      this.output.say(e.message, "bad");
      return false;
    }
  }
  /** The file may have changed on disk. */
  async look() {
    if (this.version === undefined || this.clashing) return;
    await this.saving; // the server may tell of our own version before it answers
    const file = await read(this.subject.name).catch(() => null);
    if (!file || file.version === this.version || this.clashing) return;
    if (file.text === this.text || !this.edited) {
      [this.saved, this.version] = [file.text, file.version];
      if (this.editor && this.editor.text !== file.text) this.editor.text = file.text;
      keep(this.subject.name, null);
      this.tell("changed on disk: this is the new text");
    } else {
      this.clash(file, this.text);
    }
  }
  /** Two versions of the file: shows both, and writes nothing until one is chosen. The other one stays at hand. */
  clash(disk, mine) {
    this.clashing = true;
    keep(this.subject.name, { text: mine, base: this.version });
    const choose = (text, other, whose) => async () => {
      this.clashing = false;
      [this.saved, this.version] = [disk.text, disk.version];
      this.trouble.replaceChildren();
      if (this.editor) this.editor.text = text;
      keep(this.subject.name, text === disk.text ? null : { text, base: disk.version });
      keep(`${this.subject.name} other`, { text: other, whose });
      if (text !== disk.text && !await this.save()) return;
      this.tell();
      this.showOther();
      this.editor?.focus();
    };
    const side = (title, text, other, pick) => el("div", {}, el("p", {}, el("strong", {}, title)),
      el("pre", { tabindex: 0, role: "region", "aria-label": title }, ...differing(text, other)), pick);
    const keepMine = button("Keep mine", choose(mine, disk.text, "the version that was on disk"));
    this.trouble.replaceChildren(el("div", { class: "live-clash", role: "alertdialog", "aria-label": "Two versions of the file" },
      el("p", {}, `${this.subject.name} has changed on disk, and you have unsaved changes here. Nothing has been overwritten. Choose a version; the other one stays at hand.`),
      el("div", { class: "live-sides" }, side("Yours, in this tab", mine, disk.text, keepMine),
        side("On disk", disk.text ?? "", mine, button("Take the one on disk", choose(disk.text, mine, "your version"))))));
    keepMine.focus();
  }
  showOther() {
    const other = recall(`${this.subject.name} other`);
    if (!other) return;
    this.trouble.replaceChildren(el("details", { class: "live-other" }, el("summary", {}, `The other version: ${other.whose}`),
      el("pre", { tabindex: 0, role: "region", "aria-label": "The other version" }, ...differing(other.text, this.saved)),
      button("Put it into the editor", () => { this.editor.text = other.text; this.changed(); this.editor.focus(); }),
      button("Discard it", () => { keep(`${this.subject.name} other`, null); this.trouble.replaceChildren(); this.editor?.focus(); })));
  }

  // -- runs --

  /** `from`: of a step, the kernel and the kind of finding to begin at. */
  async do(what, from) {
    if (this.job) return this.output.say("A run is going on. Stop it first.", "bad");
    const { output, subject } = this;
    const job = this.job = new Job(); // a second click must not begin a second run
    output.clear();
    try {
      if (!await this.load(true)) return;
      if (what !== "run" && what !== "hint" && !this.editor) await this.edit(false);
      if (subject.exercise && what !== "hint" && !await this.save()) return output.say("Choose a version of the file first: nothing was run.", "bad");
      this.editor?.clear();
      this.going(true, what);
      const words = this.arguments.value.split(/\s+/).filter(Boolean);
      const kernel = what === "step" && (from?.kernel || subject.kernel);
      const request = { do: what, ...(kernel && { kernel }), ...(from?.replay && { replay: from.replay }), ...(subject.exercise ? { exercise: subject.exercise.number } :
        { text: this.text, args: words, language: subject.language === "c" ? "c" : "cu", ...(subject.origin && { file: subject.origin }) }) };
      const end = await job.run(request, text => output.add(text));
      this.going(false);
      await this.done(what, { ...end, stopped: end.stopped || (job.stopped && "stop") }, from);
    } catch (e) {
      output.say(e.message, "bad");
    } finally {
      this.job = null;
      this.going(false);
    }
  }
  going(is, what) {
    this.box.setAttribute("aria-busy", is);
    if (is) {
      this.tools.hidden || this.tools.prepend(this.stopper);
      if (this.tools.hidden) this.output.box.prepend(this.stopper);
      this.output.say(`${DOING[what]} ...`);
    } else if (document.activeElement === this.stopper) {
      this.subject.bar.querySelector("button").focus();
    }
    this.stopper.hidden = !is;
  }
  async stop() {
    await this.job?.stop().catch(e => this.output.say(e.message, "bad"));
  }

  async done(what, { exit, result, stopped }, from) {
    const { output, subject } = this, course = await this.course.changed(), verdict = subject.exercise && result?.tests;
    output.end(course.pages, verdict);
    const marks = messages(output.all, this.own);
    if (marks.length && !this.editor) await this.edit(false);
    this.editor?.mark(marks);
    if (stopped) return output.say(LIMITS[stopped] || `Stopped: ${stopped}.`, stopped === "stop" ? "" : "bad");
    if (verdict) {
      output.show(evidence(result, course.pages, subject.language === "cuda" && (test => this.do("step", { replay: test.replay }))));
      return exit === 0 ? this.passed(result, course) : output.say(headline(result), "bad");
    }
    if (what === "inspect" && Array.isArray(result)) {
      const { findings, counts } = inspected(result, this.own), n = result.filter(o => o.type === "finding").length;
      this.editor?.mark(findings.map(f => ({ ...f, more: f.step && button("Step to it", () => this.do("step", f.step)) })));
      this.editor?.count(counts);
      if (n || exit === 0) return output.say(n ? `${plural(n, "finding")}: see the marked lines.` : "No findings. The counts are beside the lines.", n ? "bad" : "good");
    }
    if (what === "step" && result?.record) {
      await output.play(result.record, from?.kind);
      output.fold.open = false;
      return output.say("Recorded. The keys are listed below the player.");
    }
    if (what === "hint" && exit === 0) return output.say("");
    if (exit === 0) return output.say("The program ended with status 0.", "good");
    const errors = marks.filter(m => m.kind === "error").length;
    output.say(errors ? `It does not compile: ${plural(errors, "error")}.` : MEANING[exit] && what !== "run" ? `${MEANING[exit]}.` : `It ended with status ${exit}.`, "bad");
  }
  passed(verdict, { exercises, next }) {
    const after = exercises.find(e => e.number === next), all = exercises.filter(e => e.state === "passed").length;
    const link = after && el("a", { href: `/${after.page}`, class: "live-next" }, `Next: ${after.number} ${after.title}`);
    this.output.say(`${headline(verdict)} You have passed ${all} of ${plural(exercises.length, "exercise")}.`, "good", ...(link ? [link] : []));
  }
}
