// SPDX-License-Identifier: MIT
// Predict boxes take an answer. Where the question asks for numbers (data-predict: "blocks = 128; idle threads = 2768"), the page says how
// far off they were; otherwise you compare your words with the answer. What you said is kept in work/predictions.json. Boxes whose numbers
// are measured (data-questions) are in measured.js.
import { button, el, read, write } from "./api.js";
import { upgradeMeasured } from "./measured.js";

const FILE = "work/predictions.json";

let said; // key of a question: {answer: [texts], verdict}
async function load() {
  const file = await read(FILE).catch(() => null);
  try {
    return [JSON.parse(file.text), file.version];
  } catch {
    return [{}, file ? file.version : ""];
  }
}
/** Adds an answer to the file; another page may have written it meanwhile. */
async function remember(key, value) {
  said[key] = value;
  for (let turn = 0; turn < 5; turn++) {
    const [all, version] = await load();
    if (!(await write(FILE, `${JSON.stringify({ ...all, [key]: value }, null, 1)}\n`, version)).conflict) return;
  }
}

/** A number as people write it: 1,000, 17 %, 4/3, 2^10. */
export function numberOf(text) {
  const plain = text.trim().replace(/(\d)[, ](?=\d{3})/g, "$1").replace(/\s*%$/, "");
  const [, a, sign, b] = /^(-?[\d.]+(?:e-?\d+)?)(?:\s*([/^])\s*([\d.]+))?$/i.exec(plain) || [];
  if (a === undefined) return NaN;
  return !sign ? Number(a) : sign === "/" ? a / b : a ** b;
}
/** How far a prediction is from what was found. */
export function distance(guess, actual) {
  if (guess === actual) return "exactly right";
  if (actual === 0 || guess * actual <= 0) return `off by ${Math.abs(guess - actual).toLocaleString("en")}`;
  const ratio = Math.abs(guess / actual), many = r => r.toLocaleString("en", { maximumSignificantDigits: 2 });
  if (ratio >= 2) return `${many(ratio)} times as much`;
  if (ratio <= 0.5) return `${many(1 / ratio)} times too small`;
  const percent = Math.abs(ratio - 1) * 100;
  return `${percent < 1 ? "less than 1" : many(percent)} % too ${ratio > 1 ? "high" : "low"}`;
}

function upgrade(box, at) {
  const question = box.querySelector("summary").textContent.trim().replace(/\s+/g, " ");
  const key = `${location.pathname.slice(1)}: ${question.slice(0, 60)}`;
  const values = (box.dataset.predict || "").split("; ").filter(Boolean).map(pair => pair.split(" = "));
  const result = el("div", { role: "status" });
  const fields = values.length ? values.map(() => el("input", { inputmode: "decimal", autocomplete: "off", size: 8 })) : [el("textarea", { rows: 2 })];
  const labels = values.length ? values.map(([name], i) => el("label", {}, `${name} `, fields[i])) : [el("label", {}, "your answer ", fields[0])];
  const tell = () => {
    const { answer, verdict } = said[key];
    if (values.length) return result.replaceChildren(...values.map(([name, actual], i) => {
      const guess = numberOf(answer[i]), off = Number.isNaN(guess) ? "not a number" : distance(guess, numberOf(actual));
      return el("p", { class: off === "exactly right" ? "live-good" : "" }, `${name}: you said ${answer[i]}, it is ${/^-?\d+$/.test(actual) ? Number(actual).toLocaleString("en") : actual}: ${off}.`);
    }));
    const judge = ["right", "partly right", "wrong"].map(word => button(word, async () => { await remember(key, { answer, verdict: word }).catch(() => {}); tell(); result.querySelector("button").focus(); },
      { "aria-pressed": verdict === word }));
    result.replaceChildren(el("p", {}, `You said: ${answer[0]}`), el("p", {}, "Compare it with the answer. It was ", ...judge));
  };
  const form = el("form", { class: "live-predict", "aria-label": `Prediction ${at + 1}` }, ...labels, el("button", { class: "live-button" }, "Compare"), result);
  form.onsubmit = async e => {
    e.preventDefault();
    const answer = fields.map(f => f.value.trim()), empty = fields.find(f => !f.value.trim() || (values.length && Number.isNaN(numberOf(f.value))));
    if (empty) {
      result.replaceChildren(el("p", { class: "live-bad" }, values.length ? "Enter a number, such as 1000, 12 %, 4/3 or 2^10." : "Write your answer first."));
      return empty.focus();
    }
    said[key] = { answer };
    box.open = true;
    tell();
    await remember(key, { answer }).catch(error => result.append(el("p", { class: "live-bad" }, `Your answer is not kept: ${error.message}`)));
  };
  box.after(form);
  if (said[key]) {
    said[key].answer.forEach((text, i) => fields[i] && (fields[i].value = text));
    tell();
  }
}

export async function upgradePredictions() {
  const boxes = [...document.querySelectorAll(".md-content details")].filter(d => /^Predict\b/.test(d.querySelector("summary")?.textContent || ""));
  if (!boxes.length) return;
  await upgradeMeasured(boxes.filter(box => box.dataset.questions));
  [said] = await load();
  boxes.forEach((box, at) => box.dataset.questions || upgrade(box, at));
}
