// SPDX-License-Identifier: MIT
// The verdict of a check with its evidence: the first failed test, the likely cause and where to read about it, the other tests, and
// after a pass the stars, what was learned, and the next exercise.
import { button, el, plural } from "./api.js";

const LESSON = /\.\/ferry chapter (\d+)(#[\w-]+)?/g;

/** A text of ./ferry, in which the lessons that it names are links: `pages` maps a lesson's number to its page. */
export function linked(text, pages) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(LESSON)) {
    const page = pages.get(Number(found[1]));
    if (!page) continue;
    parts.push(text.slice(at, found.index), el("a", { href: `/${page}${found[2] || ""}` }, found[0].replace("./ferry chapter", "lesson")));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}
/** A section of a lesson, as exercises name it: docs/20_the_first_kernel.md#grid-block-guard. */
const section = place => place ? el("a", { href: `/${place.replace(/^docs\//, "").replace(".md", ".html")}` }, "read about it") : "";

const failed = test => !/^(pass|skipped|not run)$/.test(test.status);

/** One line on how it went. */
export function headline(v) {
  const all = v.tests.filter(t => t.status !== "skipped").length, bad = v.tests.filter(failed).length;
  if (v.status === "pass") return `Passed${v.most_stars ? ` with ${plural(v.stars, "star")} of ${v.most_stars}` : ""}.`;
  if (v.report && v.status === "compile error") return "It does not compile.";
  return bad ? `${bad} of ${plural(all, "test")} ${bad === 1 ? "fails" : "fail"}: ${v.headline}` : v.headline || v.status;
}

/** The evidence; step(test) records the failed test. */
export function evidence(v, pages, step) {
  const bad = v.report ? [] : v.tests.filter(failed), [first, ...others] = bad, parts = [];
  if (v.report) parts.push(el("pre", { class: "live-text", tabindex: 0, role: "region", "aria-label": "Report" }, ...linked(v.report, pages)));
  if (v.status === "pass") {
    if (v.learned) parts.push(el("p", {}, v.learned));
    for (const star of v.extra_stars || [])
      parts.push(el("p", {}, star.lost ? `☆ ${star.for}: ${star.says || "not yet"} ` : `★ ${star.for} `, star.lost ? section(star.lesson) : ""));
  }
  if (first) {
    parts.push(el("p", {}, el("strong", {}, `Test "${first.name}"`), `: ${first.status}`),
      el("pre", { class: "live-text", tabindex: 0, role: "region", "aria-label": `Report of the test ${first.name}` }, ...linked(first.report || first.headline || "", pages)),
      el("p", { class: "live-bar" }, step && first.replay ? button("Step through this test", () => step(first)) : ""));
  }
  if (others.length)
    parts.push(el("details", { class: "live-fold" }, el("summary", {}, `${plural(others.length, "other failed test")}`), el("ul", {}, ...others.map(t =>
      el("li", {}, el("strong", {}, t.name), `: ${t.headline || t.status}`, t.mistake ? ` (${t.mistake}) ` : " ", section(t.lesson))))));
  if (v.warning) parts.push(el("p", { class: "live-warning" }, `The compiler warns: ${v.warning}`));
  return el("div", { class: "live-verdict" }, ...parts);
}
