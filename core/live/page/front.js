// SPDX-License-Identifier: MIT
// The first page: where you are, the next exercise, and a map of the course.
import { el, plural } from "./api.js";
import { calibration } from "./measured.js";

let box;
/** What has been reached, and what comes next. */
const milestoneList = milestones => el("ul", { class: "live-milestones", "aria-label": "Milestones" }, ...milestones.map(m => el("li", { class: m.reached ? "live-is-passed" : "" },
  el("span", { "aria-hidden": "true" }, m.reached ? "✓ " : "○ "), m.title, m.reached ? ` (${[m.reached, m.with].filter(Boolean).join(", ")})` : ` (open: ${m.how})`)));

export function showFront({ lessons, exercises, next, questions, milestones }, signs, words) {
  const passed = exercises.filter(e => e.state === "passed").length, coming = exercises.find(e => e.number === next);
  const chip = e => el("li", {}, el("a", { class: `live-chip live-is-${e.state}`, href: `/${e.page}`, title: `${e.title}: ${words[e.state]}` },
    e.number, signs[e.state] ? el("span", { "aria-hidden": "true" }, ` ${signs[e.state]}`) : "", el("span", { class: "live-hidden" }, ` ${e.title}: ${words[e.state]}`)));
  const row = lesson => {
    const mine = exercises.filter(e => e.lesson === lesson.number);
    return el("li", {}, el("a", { href: `/${lesson.page}` }, `${lesson.number}. ${lesson.title.replace(/^\d+\. /, "")}`), mine.length ? el("ul", { class: "live-chips" }, ...mine.map(chip)) : "");
  };
  const lesson = coming && lessons.find(l => l.number === coming.lesson);
  const where = !passed ? "No exercise is passed yet." : passed === exercises.length ? "You have passed all exercises." : `You have passed ${passed} of ${plural(exercises.length, "exercise")}.`;
  const fresh = el("section", { class: "live-front", "aria-label": "Your course" },
    el("p", {}, el("progress", { max: exercises.length, value: passed, "aria-label": "Exercises passed" }), ` ${where}`),
    coming ? el("p", {}, el("a", { class: "md-button md-button--primary", href: `/${coming.page}` }, `Continue: ${coming.number} ${coming.title}`),
      lesson ? el("span", { class: "live-read" }, " or read ", el("a", { href: `/${lesson.page}` }, `lesson ${lesson.number}`), " first") : "") : "",
    el("details", { ...(box?.querySelector("details")?.open === false ? {} : { open: "" }) }, el("summary", {}, "Map of the course"), milestoneList(milestones), el("ol", { class: "live-map" }, ...lessons.map(row))),
    calibration(questions));
  if (box) {
    if (box.innerHTML !== fresh.innerHTML && !box.contains(document.activeElement)) box.replaceChildren(...fresh.children);
  } else {
    box = fresh;
    document.querySelector(".md-content h1").after(box);
  }
}
