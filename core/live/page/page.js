// SPDX-License-Identifier: MIT
// The live book: gives the listings of a page their buttons, and shows the course's progress. What a listing stands for is in its data
// attributes (docs/book/marks.py).
import * as api from "./api.js";
import { Bench } from "./bench.js";
import { showFront } from "./front.js";
import { upgradePredictions } from "./predict.js";

const { el } = api;
const SIGNS = { passed: "✓", failing: "✗", started: "…" };
const WORDS = { passed: "passed", failing: "does not pass yet", started: "started", new: "not started" };

const isFront = () => /^\/(index\.html)?$/.test(location.pathname);

/** The course: asked again whenever progress changes. */
const course = {
  async changed() {
    const [state, questions] = await Promise.all([api.state(), isFront() ? api.predictions().catch(() => []) : []]);
    course.state = { ...state, questions, pages: new Map(state.lessons.map(l => [l.number, l.page])) };
    show();
    return course.state;
  },
};

/** A program of the repository as the book has it: the text of its page. */
async function programText(file) {
  const answer = await fetch(`/source/${file}.html`);
  if (!answer.ok) throw new Error(`The book has no page of ${file}: run make book.`);
  const code = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("td.code code, .highlight code");
  return code.textContent.replace(/\n*$/, "\n");
}

const languageOf = name => name.endsWith(".c") ? "c" : "cuda";

/** The workbench of a file: one in a page, below the listing that was used last. */
const benches = new Map();
function upgradeListing(listing) {
  const { file, line, program, exercise } = listing.dataset, mine = exercise && course.state.exercises.find(e => e.id === exercise);
  if (exercise && !mine) return;
  const name = mine ? mine.file : file || `${location.pathname} ${[...document.querySelectorAll("[data-program]")].indexOf(listing) + 1}`;
  const where = () => {
    const bench = benches.get(name);
    if (bench.box.previousSibling !== bar) bar.after(bench.box);
    Object.assign(bench.subject, { bar, line: Number(line) || 0, kernel: mine ? "" : /__global__[^;{]*?\b(\w+)\(/.exec(listing.textContent)?.[1],
      hide: mine && (is => listing.hidden = is) });
  };
  if (!benches.has(name)) {
    const code = listing.querySelector("code");
    benches.set(name, new Bench({ name, label: mine ? `exercise ${mine.number}` : file || "this program", exercise: mine, origin: file,
      language: program || languageOf(name), text: () => file ? programText(file) : Promise.resolve(code.textContent) }, course));
  }
  const bench = benches.get(name), bar = bench.bar(where);
  bar.append(el("span", { class: "live-name" }, mine ? "" : file ? `${file}:${line}` : ""));
  listing.after(bar);
  if (mine) {
    where();
    if (mine.exists) bench.edit(false); // shows the learner's own text
    bench.showOther();
  }
}

/** For readers at a keyboard, a second link like the theme's "Skip to content". */
function addSkip() {
  const first = document.querySelector(".live-bar button"), skip = document.querySelector(".md-skip");
  if (first && skip) skip.after(el("a", { class: "md-skip", href: "#", onclick: e => (e.preventDefault(), first.focus()) }, "Skip to the editor"));
}

/** Links to exercises say how far they are. */
function showStates() {
  const states = new Map(course.state.exercises.map(e => [e.page, e]));
  for (const link of document.querySelectorAll(".md-content a[href*='exercise/']:not(.live-chip, .live-next)")) {
    const e = states.get(new URL(link.href).pathname.slice(1)), sign = e && SIGNS[e.state];
    let mark = link.querySelector(".live-sign");
    if (!sign) { mark?.remove(); continue; }
    if (!mark) link.append(mark = el("span", { class: "live-sign" }));
    mark.className = `live-sign live-is-${e.state}`;
    mark.replaceChildren(el("span", { "aria-hidden": "true" }, ` ${sign}`), el("span", { class: "live-hidden" }, ` (${WORDS[e.state]})`));
  }
}
function show() {
  showStates();
  if (isFront()) showFront(course.state, SIGNS, WORDS);
}

export async function begin() {
  try {
    await course.changed();
  } catch (e) {
    document.querySelector(".md-content article")?.prepend(el("p", { class: "live-status live-bad", role: "alert" }, e.message));
    return;
  }
  document.querySelectorAll("[data-file], [data-program], [data-exercise]").forEach(upgradeListing);
  addSkip();
  upgradePredictions();
  api.listen(({ type, path, version }) => {
    if (type !== "change") course.changed().catch(() => {});
    for (const bench of benches.values())
      if (bench.subject.exercise && (type === "open" || (path === bench.subject.name && version !== bench.version))) bench.look();
  });
}
