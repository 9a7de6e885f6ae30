// SPDX-License-Identifier: MIT
// Predict boxes whose numbers ./ferry predict measures (data-questions="22.1; 22.2"): you commit to a number, then it is measured. And the
// chart of how near the guesses were.
import { el, predict, predictions } from "./api.js";

const spoken = (guess, unit) => `You said ${guess.guess_words}, it is ${guess.truth_words} ${unit}: ${guess.distance}.`;

/** One question of a box: its field, and what has been guessed so far. */
function field(box, question, all) {
  const input = el("input", { inputmode: "decimal", autocomplete: "off", size: 8 }), told = el("div", { role: "status" });
  const ask = el("button", { class: "live-button" }, "Guess");
  const form = el("form", { class: "live-predict", "aria-label": `Question ${question.id}` }, all.length === 1 ? "" : el("p", { class: "live-question" }, question.text),
    el("label", {}, "your guess ", input, ` ${question.unit}`), ask, told);
  const tell = ({ guesses, unit, command }) => {
    if (!guesses.length) return;
    ask.textContent = "Guess again";
    told.replaceChildren(...guesses.map((guess, i) => el("p", { class: guess.guess === guess.truth ? "live-good" : "" }, i ? `Try ${guess.try}: ` : "", spoken(guess, unit))),
      el("p", {}, "Measured by ", el("code", {}, command)));
  };
  form.onsubmit = async e => {
    e.preventDefault();
    if (ask.disabled) return;
    ask.disabled = true;
    told.replaceChildren(el("p", {}, "Measuring ..."));
    try {
      tell(Object.assign(question, await predict(question.id, input.value)));
      if (all.every(q => q.guesses.length)) box.open = true; // the answer has the numbers of all
    } catch (error) {
      tell(question);
      told.prepend(el("p", { class: "live-bad" }, error.message));
      input.focus();
    }
    ask.disabled = false;
  };
  tell(question);
  return form;
}

export async function upgradeMeasured(boxes) {
  if (!boxes.length) return;
  const known = new Map((await predictions().catch(() => [])).map(q => [q.id, q]));
  for (const box of boxes) {
    const questions = box.dataset.questions.split("; ").map(id => known.get(id)).filter(Boolean);
    box.after(...questions.map(q => field(box, q, questions)));
  }
}

// ---- the chart --------------------------------------------------------------------------------------------------------------

const WIDTH = 360, HEIGHT = 190, LEFT = 42, WINDOW = 5;
const svg = (tag, attributes, ...children) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
};
const factor = g => g.guess === g.truth ? 1 : Math.max(g.guess / g.truth, g.truth / g.guess);
const median = numbers => {
  const sorted = [...numbers].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : Math.sqrt(sorted[half - 1] * sorted[half]);
};
const times = x => Number.isFinite(x) ? `×${x.toLocaleString("en", { maximumSignificantDigits: 2 })}` : "without limit";

/** guess / measured of each first guess on a logarithmic axis, oldest first. */
function drawn(firsts, summary) {
  const y = decades => HEIGHT / 2 - 40 * Math.max(-2, Math.min(2, decades));
  const x = i => LEFT + 12 + (WIDTH - LEFT - 24) * (firsts.length > 1 ? i / (firsts.length - 1) : 0.5);
  const of = g => g.guess === g.truth ? 0 : Math.log10(g.guess / g.truth);
  const lines = [[2, "100"], [1, "10"], [0, "1"], [-1, "1/10"], [-2, "1/100"]].flatMap(([decades, label]) => [
    svg("line", { x1: LEFT, x2: WIDTH, y1: y(decades), y2: y(decades), class: decades ? "" : "live-exact" }),
    svg("text", { x: LEFT - 5, y: y(decades) + 4 }, label)]);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "live-chart", role: "img", "aria-label": summary }, ...lines,
    ...firsts.map((g, i) => svg("circle", { cx: x(i), cy: y(of(g)), r: 4 }, svg("title", {}, `${g.id}: ${g.guess_words} for ${g.truth_words}`))));
}

/** A section for the first page; "" without a guess. */
export function calibration(questions) {
  const firsts = questions.flatMap(q => q.guesses.filter(g => g.try === 1).map(g => ({ ...g, id: q.id, unit: q.unit }))).sort((a, b) => a.when - b.when);
  if (!firsts.length) return "";
  const of = some => times(median(some.map(factor)));
  const trend = firsts.length < 2 * WINDOW ? "" : ` Typical factor between guess and measurement: ${of(firsts.slice(0, WINDOW))} for the first ${WINDOW}, ${of(firsts.slice(-WINDOW))} for the last ${WINDOW}.`;
  const summary = `${firsts.length === 1 ? "1 guess" : `${firsts.length} guesses`}; there are ${questions.length} questions.${trend}`;
  const rows = firsts.map(g => el("li", {}, `${g.id}, ${new Date(1000 * g.when).toLocaleDateString("en-CA")}: you said ${g.guess_words}, it is ${g.truth_words} ${g.unit}: ${g.distance}.`));
  return el("details", { class: "live-calibration" }, el("summary", {}, "How near your predictions are"), el("p", {}, summary),
    drawn(firsts, `Chart of guess divided by measured, oldest first. ${summary}`),
    el("details", { class: "live-fold" }, el("summary", {}, "As a list"), el("ul", {}, ...rows)));
}
