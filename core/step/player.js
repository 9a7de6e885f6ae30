// SPDX-License-Identifier: MIT
// The player of a record of ./ferry step: source, time, the step in words, findings, keys. The table is in lanes.js.
//
// `./ferry step --html` puts recording.js, lanes.js and this file, player.css and a record into player.html. Each < of the record
// becomes \u003c there: a < stands only in texts, and some of them end or hide a script's element. A page of the book has
// the same files, and each <figure class="ferry-step" data-record="NAME"> gets a button that loads records/NAME.js, which calls
// ferryStep(NAME, RECORD). Text of a record gets into the page as text, never as markup.
(() => {
"use strict";
const { parse, LANES, range, has, lanesOf, plural, before, spread, short, ranges, Recording, el, once, svg, Lanes } = ferryPlayer;
const here = document.currentScript?.src;

const FORMAT = "ferry-step 1", MOST_FINDINGS = 6;
const KEYS = [["← →", "one step back, one step forward"], ["Shift + ← →", "the same warp"], ["↑ ↓", "the same line, earlier and later"],
  ["o, u", "step over a call, out of a call"],
  ["[ ]", "barrier before, next barrier"], ["d, Shift + d", "next divergence, the one before"], ["f, Shift + f", "next finding, the one before"],
  ["/", "search: x, x@37 (thread 37), part[62], or a line's number. Enter: next change, Shift + Enter: the one before"],
  ["click on a line", "run to it; b goes back to it"], ["click on a value", "the step that wrote it"], ["Home, End", "first and last step"],
  ["Space", "play, stop"], ["h, l", "scroll the lanes"]];
const END = { limit: n => `The record ends at its limit of ${plural(n, "step")}; the block went on.`, deadlock: () => "The block ends in a deadlock.",
  livelock: () => "The block ends in a livelock: its threads only poll.", fault: () => "The block ends with a fault." };

const LEGEND = [["on", "runs"], ["live", "elsewhere"], ["wait", "waits at a barrier"], ["done", "has returned"], ["changed", "changed by this step"],
  ["read", "read"], ["written", "written"], ["", "· no value yet"]];

class Player {
  constructor(root, json, inBook, start) {
    const other = `This page reads records of the format "${FORMAT}", and this one has "${json.format}". Record it again with this version of ./ferry.`;
    const wrong = json.format !== FORMAT ? other : json.steps.length ? "" : "The record has no steps: no thread of the block reached a statement.";
    if (wrong) return void root.replaceChildren(el("div", { class: "ferry-app" }, el("p", { class: "fault" }, wrong)));
    const r = this.r = new Recording(json);
    this.inBook = inBook;
    this.step = -1;
    this.timer = 0;
    this.build(root);
    const wanted = start ?? (r.found.length ? r.found[0] : 0);
    this.go(inBook ? wanted : this.hash() ?? wanted);
    root.ferry = this;
  }
  hash() { return /^#\d+$/.test(location.hash) ? Number(location.hash.slice(1)) : undefined; }

  build(root) {
    const r = this.r, go = step => () => this.go(step()), key = (name, shift) => () => this.key(name, shift);
    const button = (text, label, run) => el("button", { type: "button", "aria-label": label, title: label, onclick: () => this.stop(run()) }, text);
    this.slider = el("input", { type: "range", min: 0, max: r.steps.length - 1, "aria-label": "Step" });
    this.slider.oninput = () => this.stop(this.go(Number(this.slider.value)));
    this.play = button("play", "play (Space)");
    this.play.onclick = () => this.toggle();
    this.input = el("input", { class: "search", type: "search", placeholder: "search /", onkeydown: e => this.searchKey(e),
      "aria-label": "Search: next change of a variable or an element, or a line's number" });
    this.source = el("div", { class: "source", tabindex: 0, role: "region", "aria-label": "Source", onclick: e => this.clickLine(e) });
    this.time = el("div", { class: "time", "aria-hidden": "true" });
    this.where = el("span", { class: "where mono" });
    this.what = el("div", { class: "what", role: "status", "aria-live": "polite", "aria-atomic": "true" });
    this.table = el("div", { class: "lanes", tabindex: 0, role: "region", "aria-label": "Lanes and memory" });
    const steps = [button("«", "first step (Home)", go(() => 0)), button("‹", "one step back (←)", go(() => this.step - 1)), this.play,
      button("›", "one step forward (→)", go(() => this.step + 1)), button("»", "last step (End)", go(() => r.steps.length - 1))];
    const leaps = [button("‹ warp", "same warp, earlier", key("ArrowLeft", true)), button("warp ›", "same warp, later", key("ArrowRight", true)),
      button("‹ line", "same line, earlier", key("ArrowUp")), button("line ›", "same line, later", key("ArrowDown")),
      button("barrier ›", "next barrier", key("]")), button("divergence ›", "next divergence", key("d"))];
    if (r.found.length) leaps.push(button("finding ›", "next finding", key("f")));
    const app = this.app = el("div", { class: "ferry-app", tabindex: -1 }, this.header(),
      el("div", { class: "top" }, this.source, el("div", { class: "side" }, this.time, el("div", { class: "controls" }, ...steps, this.slider, this.where),
        el("div", { class: "controls" }, ...leaps, this.input), this.what)),
      el("div", { class: "legend", "aria-hidden": "true" }, ...LEGEND.map(([kind, text]) => el("span", { class: "act" }, kind ? el("i", { class: kind }) : "", text))),
      this.table, el("details", {}, el("summary", {}, "Keys"), el("dl", {}, ...KEYS.flatMap(([k, text]) => [el("dt", {}, k), el("dd", {}, text)]))));
    if (r.skipped.length)
      app.append(el("details", {}, el("summary", {}, `Stepped over: ${plural(r.skipped.length, "function")}`),
        el("ul", {}, ...r.skipped.map(f => el("li", {}, `${f.name} (line ${f.line}): ${f.why}`)))));
    this.buildTime(this.time);
    this.lanes = new Lanes(r, this.table, step => this.stop(this.go(step)));
    new ResizeObserver(() => (this.lineHeight = this.sourceHeight = 0)).observe(this.source);
    root.replaceChildren(app);
    (this.inBook ? app : document).addEventListener("keydown", e => this.keydown(e));
    if (this.inBook) return;
    document.title = `${r.kernel}, step by step`;
    addEventListener("hashchange", () => this.hash() !== undefined && this.go(this.hash()));
  }

  header() {
    const r = this.r, cut = (of, size) => of.slice(0, size[2] > 1 ? 3 : size[1] > 1 ? 2 : 1).join(", ");
    const where = r.grid.every(n => n === 1) ? "the only block" : `block (${cut(r.at, r.grid)})`;
    const about = [where, `launch ${r.launch}`, r.files[0].name, plural(r.threads, "thread"), plural(r.warps, "warp"), "one order of many that a GPU may choose"];
    const title = `${r.kernel}<<<(${cut(r.grid, r.grid)}), (${cut(r.block, r.block)})>>>`;
    this.findings = r.findings.slice(0, MOST_FINDINGS).map(f => f.step < 0 ? el("span", {}, `${f.title ?? f.k}: ${f.text}`) :
      el("button", { type: "button", title: f.text, onclick: () => this.stop(this.go(f.step)) }, `${f.title ?? f.k}, step ${f.step}`));
    const list = el("ul", { class: "findings", "aria-label": "Findings" }, ...this.findings.map(b => el("li", {}, b)));
    if (r.findings.length > MOST_FINDINGS) list.append(el("li", {}, `and ${r.findings.length - MOST_FINDINGS} more: key f`));
    return el("header", {}, el(this.inBook ? "strong" : "h1", { class: "title" }, title), " ", el("span", { class: "about" }, about.join(" · ")),
      END[r.end] ? el("p", { class: "fault" }, END[r.end](r.steps.length)) : "", list);
  }

  /** A row for each warp, a bar for each step as high as the share of its lanes; a vertical line for each barrier. */
  buildTime(box) {
    const r = this.r, n = r.steps.length, columns = Math.min(n, 1500), high = Math.max(5, Math.min(18, 170 / r.warps)), height = r.warps * high;
    const bars = new Map(), found = new Set(r.findings.flatMap(f => [f.step, f.other_step])), paths = { run: "", end: "", barrier: "", bad: "" };
    r.steps.forEach((s, i) => {
      const kind = found.has(i) || s.k === "d" ? "bad" : { b: "barrier", e: "end" }[s.k] || "run", key = `${kind} ${Math.floor(i * columns / n)} ${s.w}`;
      const share = s.w < 0 ? 1 : lanesOf(s.m).length / r.lanesIn(s.w);
      bars.set(key, Math.max(share, bars.get(key) || 0));
    });
    for (const [key, share] of bars) {
      const [kind, x, w] = key.split(" "), tall = w < 0 ? height : Math.max(1, (high - 1.5) * share);
      const y = w < 0 ? 0 : (Number(w) + 1) * high - 0.75 - tall, thick = kind === "run" ? 0.9 : Math.max(0.9, columns / 500);
      paths[kind] += `M${x} ${y.toFixed(1)}h${thick}v${tall.toFixed(1)}h-${thick}z`;
    }
    box.append(svg(`0 0 ${columns} ${height}`, Object.keys(paths).map(k => `<path class="t-${k}" d="${paths[k]}"/>`).join("")));
    box.style.height = `${height}px`;
    const every = Math.ceil(14 / high);
    this.labels = range(r.warps).map(w => {
      const label = el("span", { class: "of" }, `warp ${w}`);
      label.style.top = `${(w + 0.5) * high}px`;
      return w % every ? null : label;
    });
    this.cursor = el("div", { class: "cursor" });
    box.append(...this.labels.filter(Boolean), this.cursor);
    const seek = e => this.stop(this.go(Math.floor((e.clientX - box.getBoundingClientRect().left) / box.clientWidth * n)));
    box.onpointerdown = e => (box.setPointerCapture(e.pointerId), seek(e));
    box.onpointermove = e => e.buttons && seek(e);
  }

  // -- a step --

  go(step) {
    const r = this.r;
    step = Math.max(0, Math.min(r.steps.length - 1, Math.floor(step) || 0));
    if (step === this.step) return;
    this.step = step;
    this.note = "";
    this.draw();
    if (this.inBook) return;
    clearTimeout(this.late); // browsers refuse many changes of the address in a short time
    this.late = setTimeout(() => history.replaceState(null, "", `#${this.step}`), 150);
  }

  draw() {
    const r = this.r, step = this.step, s = r.steps[step];
    let shown = step; // a step of the block shows the warp of the step before
    while (shown > 0 && r.steps[shown].w < 0) shown--;
    this.warp = Math.max(0, r.steps[shown].w);
    this.frames = r.frames(r.steps[shown]);
    this.mask = s.w < 0 || s.k === "e" ? 0 : s.m;
    this.current = r.findings.filter(f => step === f.step || step === f.other_step);
    this.doing = range(r.threads).map(t => r.doing(t, step));
    this.drawSource(s);
    this.drawTime();
    this.drawText(s, this.lanes.draw(step, this.warp, this.mask, this.frames, this.doing));
    this.findings.forEach((b, i) => b.setAttribute("aria-current", this.current.includes(r.findings[i])));
  }

  drawSource(s) {
    const r = this.r, frame = this.frames[this.frames.length - 1], file = r.fileOf(frame.f), statement = s.w < 0 ? null : frame.at;
    if (file !== this.file) {
      this.file = file;
      if (!file.rows) {
        const can = new Set(r.statements.filter(x => r.fileOf(x.f) === file).map(x => x.l));
        file.rows = file.lines.map((_, i) => {
          const code = el("span"), number = el("span", { class: "number" }, String(i + 1));
          return Object.assign(el("div", { class: "line" }, number, code), { code, number: i + 1, can: can.has(i + 1) ? " can" : "" });
        });
        file.box = el("div", { class: "file" }, ...file.rows);
        file.rows.forEach((_, i) => this.paint(file, i + 1));
        file.painted = [];
      }
      this.source.replaceChildren(file.box);
      this.source.setAttribute("aria-label", `Source: ${file.name}`);
      this.source.title = file.name;
    }
    for (const n of file.painted) this.paint(file, n);
    file.painted = [];
    const add = (n, ...how) => file.rows[n - 1] && (file.painted.push(n), this.paint(file, n, ...how));
    const waiting = new Map();
    this.doing.forEach((d, t) => {
      const line = d === "wait" && r.lineOf(t, this.step).l;
      if (line) waiting.has(line) ? waiting.get(line).push(t) : waiting.set(line, [t]);
    });
    const tag = n => waiting.has(n) ? el("span", { class: `tag ${s.k === "d" ? "bad" : ""}` }, `threads ${ranges(waiting.get(n))} wait`) : "";
    for (const n of waiting.keys()) add(n, s.k === "d" ? "now" : "", 0, 0, tag(n));
    for (const { f, at } of this.frames.slice(0, -1)) if (at && r.fileOf(f) === file) add(at.l, "call", 0, 0, tag(at.l));
    const [from, to] = statement ? r.placeOf(statement) : [0, 0], f = r.functions[frame.f];
    const line = statement ? statement.l : s.k === "e" ? f.end : s.w < 0 ? [...waiting.keys()][0] : f.line;
    for (let n = line, last = statement ? Math.max(statement.e, line) : line; s.w >= 0 && n <= last; n++)
      add(n, "now", from - file.begins[n - 1], to - file.begins[n - 1], tag(n));
    this.lineHeight ||= file.rows[0].offsetHeight;
    const y = (line - 1) * this.lineHeight, seen = this.sourceHeight ||= this.source.clientHeight;
    if (line && (y < this.source.scrollTop + 2 * this.lineHeight || y > this.source.scrollTop + seen - 4 * this.lineHeight))
      this.source.scrollTop = y - seen / 2;
  }
  /** A line of the source, with what runs from column a to b, and a tag behind it. */
  paint(file, n, kind = "", a = 0, b = 0, tag = "") {
    const row = file.rows[n - 1], text = file.lines[n - 1], tokens = file.tokens[n - 1], inside = x => Math.max(0, Math.min(text.length, x));
    [a, b] = [inside(a), inside(b)];
    const blank = text.search(/\S|$/);
    if (b > a) a = Math.max(a, blank);
    const cuts = [...new Set([0, text.length, a, b, ...tokens.flatMap(t => [inside(t[0]), inside(t[1])])])].sort((x, y) => x - y);
    row.className = `line ${kind}${row.can}`;
    row.code.replaceChildren(...cuts.slice(1).map((to, i) => {
      const from = cuts[i], token = tokens.find(t => t[0] <= from && to <= t[1]), runs = a <= from && to <= b, piece = text.slice(from, to);
      return token || runs ? el("span", { class: `${token ? token[2] : ""} ${runs ? "part" : ""}` }, piece) : piece;
    }), tag);
  }

  drawTime() {
    const n = this.r.steps.length;
    this.cursor.style.left = `${(this.step + 0.5) / n * 100}%`;
    this.labels.forEach((label, w) => label && once(label, "className", w === this.warp ? "of here" : "of"));
    this.slider.value = this.step;
    this.slider.setAttribute("aria-valuetext", `step ${this.step} of ${n - 1}`);
    this.where.textContent = `step ${this.step} / ${n - 1}`;
  }

  // -- the step in words --

  drawText(s, effects) {
    const r = this.r, lines = [], p = (kind, ...text) => lines.push(el("p", { class: kind }, ...text));
    const th = s.w < 0 ? 0 : r.lanesIn(s.w), now = lanesOf(this.mask).length, frame = this.frames[this.frames.length - 1];
    if (this.current.length) lines.push(...this.current.slice(0, 3).map(f => this.banner(f)));
    if (s.k === "b") p("", el("b", {}, "The barrier opens. "), s.t || "All threads of the block have arrived.");
    else if (s.k === "d") p("fault", el("b", {}, "The block ends here. "), s.t || "");
    else if (s.k === "e") p("", el("b", {}, `Warp ${s.w}: `), `${plural(lanesOf(s.m).length, "lane")} return.`);
    else {
      const elsewhere = [], waits = [], done = [];
      for (let l = 0; l < th; l++)
        if (!has(this.mask, l)) (({ wait: waits, done })[this.doing[s.w * LANES + l]] || elsewhere).push(l);
      const at = [...new Set(elsewhere.map(l => r.lineOf(s.w * LANES + l, this.step)?.l).filter(Boolean))];
      const others = [elsewhere.length && `${elsewhere.length} elsewhere${at.length ? ` (line ${at.slice(0, 3).join(", ")})` : ""}`,
        waits.length && `${waits.length} wait at a barrier`, done.length && `${done.length} have returned`].filter(Boolean);
      const what = s.s ? `line ${frame.at.l}` : `enters ${r.functions[frame.f].name}`;
      p("", el("b", {}, `Warp ${s.w}, ${what}: `), `${now} of ${plural(th, "lane")}${others.length ? `; ${others.join(", ")}` : ""}.`,
        r.isBarrier(s) ? " They wait for the others." : "");
      if (s.s) p("", el("code", {}, r.textOf(frame.at)), s.k === "r" ? " (the rest of the statement, after a call)" : "");
      const turn = r.turn[this.step];
      if (turn) p("", { diverge: `Divergence: ${plural(now, "lane")} here; the others run before or after.`,
        converge: `Reconvergence: ${now} lanes go on together.`, other: `The other path: ${plural(now, "lane")} that did not take the last step.` }[turn]);
      if (s.p) p("", `This step stands for ${s.p.toLocaleString("en")} turns of polling that changed nothing.`);
    }
    if (this.frames.length > 1)
      p("dim", `Call stack: ${this.frames.map(({ f, at }) => `${r.functions[f].name}${at ? `, line ${at.l}` : ""}`).join(" › ")}.`);
    for (const f of r.skipped)
      if (s.s && r.textOf(frame.at).split(/\W+/).includes(f.name)) p("dim", `${f.name} is stepped over: ${f.why}.`);
    if (effects.length) p("", `${effects.slice(0, 7).join("; ")}.`);
    if (this.step === r.steps.length - 1 && END[r.end] && s.k !== "d") p("fault", END[r.end](r.steps.length));
    if (this.note) p("fault", this.note);
    this.what.replaceChildren(...lines);
  }

  /** A finding: of a race, both sides and the values of each order. */
  banner(f) {
    const r = this.r, box = el("div", { class: "banner" }, el("p", {}, el("b", {}, `${f.title ?? f.k}: `), f.text));
    if (f.step < 0 || f.other_step < 0) return box;
    const element = f.array >= 0 && f.i >= 0 ? r.element(f.array, f.i) : "", place = element ? f.i * r.size(f.array) : -1;
    const sides = [[f.other_step, f.other], [f.step, f.thread]].sort((x, y) => x[0] - y[0]).map(([step, thread]) => {
      const s = r.steps[step], side = { step, thread };
      for (const [kind, a, bytes, mask, offsets, list, old] of (element && s.a) || []) {
        const lane = thread % LANES, at = spread(offsets, mask)[lane];
        if (a !== f.array || !has(mask, lane) || at > place || place >= at + bytes) continue;
        const value = spread(list, mask)[lane], of = v => Array.isArray(v) ? v[Math.floor((place - at) / (bytes / v.length))] : v;
        if (kind !== "r") side.written = of(value);
        if (kind !== "w") side.read = kind === "r" ? of(value) : old && of(spread(old, mask)[lane]);
      }
      return side;
    });
    const says = v => v === null ? "an element without a value" : short(v, 12);
    box.append(el("div", { class: "sides" }, ...sides.map(side => {
      const s = r.steps[side.step], at = s.s ? r.statement.get(s.s) : null, mine = side.step === this.step;
      const does = [["reads", side.read], ["writes", side.written]].filter(([, v]) => v !== undefined).map(([verb, v]) => `${verb} ${says(v)}`).join(", ");
      return el("div", { class: mine ? "here" : "" },
        el("p", {}, el("b", {}, `Step ${side.step}, thread ${side.thread}`), ` (warp ${s.w}, lane ${side.thread % LANES})`),
        at ? el("p", {}, `line ${at.l}: `, el("code", {}, r.textOf(at))) : "", does ? el("p", {}, `${does} (${element})`) : "",
        mine ? el("p", { class: "dim" }, "shown now") : el("button", { type: "button", onclick: () => this.stop(this.go(side.step)) }, "go to the other side"));
    })));
    const [x, y] = sides, prior = element && r.memory[f.array].at(place, x.step - 1), was = prior ? says(prior.value) : "its old value";
    const orders = [];
    const reads = ({ thread, read }, other) => orders.push([`thread ${thread} reads ${says(read)}`, `thread ${thread} may read ${other}`]);
    if (y.written !== undefined && x.read !== undefined) reads(x, says(y.written));
    if (x.written !== undefined && y.read !== undefined) reads(y, was);
    if (!orders.length && x.written !== undefined && y.written !== undefined)
      orders.push([`${element} ends as ${says(y.written)}`, `${element} ends as ${says(x.written)}`]);
    for (const [one, other] of orders) box.append(el("p", {}, `In this order, ${one}. If thread ${y.thread} comes first, ${other}.`));
    return box;
  }

  // -- keys, search and the mouse --

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    once(this.play, "textContent", "play");
    this.what.setAttribute("aria-live", "polite");
  }
  toggle() {
    if (this.timer) return this.stop();
    this.what.setAttribute("aria-live", "off");
    once(this.play, "textContent", "stop");
    const pause = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 150;
    this.timer = setInterval(() => this.step < this.r.steps.length - 1 ? this.go(this.step + 1) : this.stop(), pause);
  }
  /** To the next step in a direction for which `test` holds; if there is none, stays and says so. */
  seek(direction, test, what) {
    const { steps } = this.r;
    for (let i = this.step + direction; i >= 0 && i < steps.length; i += direction) if (test(steps[i], i)) return this.go(i);
    this.note = `No ${what} ${direction > 0 ? "after" : "before"} step ${this.step}.`;
    this.draw();
  }
  clickLine(e) {
    const row = e.target.closest(".line");
    if (row && row.can && getSelection().isCollapsed) this.stop(this.toLine(row.number, e.shiftKey ? -1 : 1));
  }
  toLine(n, direction) {
    const file = this.file;
    this.line = n;
    const on = at => at.l === n && this.r.fileOf(at.f) === file;
    this.seek(direction, s => s.k === "s" && s.s && on(this.r.statement.get(s.s)), `step on line ${n}`);
  }
  searchKey(e) {
    e.stopPropagation();
    if (e.key === "Escape") this.app.focus();
    if (e.key !== "Enter") return;
    e.preventDefault();
    const text = this.input.value.trim(), direction = e.shiftKey ? -1 : 1, r = this.r;
    if (!text) return;
    if (/^\d+$/.test(text)) return this.stop(this.toLine(Number(text), direction));
    const [, name, rest, thread] = /^([\w:]+)([^@]*)(?:@(\d+))?$/.exec(text) || [], subscript = (rest || "").match(/\d+/g);
    const mine = (s, mask) => thread === undefined || (Math.floor(thread / LANES) === s.w && has(mask, thread % LANES));
    const flat = array => subscript.map(Number).reduce((sum, i, k) => sum * (k ? array.d[k] || 1 : 1) + i, 0);
    const holds = (a, bytes, at) => flat(r.arrays[a]) * r.size(a) >= at && flat(r.arrays[a]) * r.size(a) < at + bytes;
    const writes = s => ([kind, a, bytes, mask, offsets]) => kind !== "r" && r.arrays[a].name === name && mine(s, mask) &&
      (!subscript || spread(offsets, mask).some(at => holds(a, bytes, at)));
    if (!r.variables.some(v => v[1] === name) && !r.arrays.some(a => a.name === name)) {
      this.note = `The record has no variable and no array named "${text}".`;
      return this.draw();
    }
    const sets = s => ([v, , mask]) => r.variables[v][1] === name && mine(s, mask);
    this.stop(this.seek(direction, s => (s.v || []).some(sets(s)) || (s.a || []).some(writes(s)), `change of ${text}`));
  }
  keydown(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target === this.input) return;
    if (/^(Enter| )$/.test(e.key) && e.target.closest("button, summary, label, input")) return;
    if (!this.key(e.key, e.shiftKey)) return;
    e.preventDefault();
    e.stopPropagation();
  }
  key(key, shift) {
    const r = this.r, s = r.steps[this.step], seek = (d, test, what) => this.seek(d, test, what), back = shift ? -1 : 1;
    const like = x => x.s === s.s && x.k === s.k, ofWarp = x => x.w === this.warp, depth = x => (x.c || []).length;
    const found = () => {
      const list = r.found, later = list.find(x => x > this.step) ?? list[0], earlier = list.findLast(x => x < this.step) ?? list[list.length - 1];
      if (list.length) this.go(shift ? earlier : later);
    };
    const run = {
      ArrowRight: () => shift ? seek(1, ofWarp, `step of warp ${this.warp}`) : this.go(this.step + 1),
      ArrowLeft: () => shift ? seek(-1, ofWarp, `step of warp ${this.warp}`) : this.go(this.step - 1),
      ArrowDown: () => seek(1, like, "step on this line"), ArrowUp: () => seek(-1, like, "step on this line"),
      "]": () => seek(1, x => x.k === "b", "barrier"), "[": () => seek(-1, x => x.k === "b", "barrier"),
      o: () => seek(1, x => ofWarp(x) && depth(x) <= depth(s), "step after the call"),
      u: () => seek(1, x => ofWarp(x) && depth(x) < depth(s), "step outside the call"),
      Home: () => this.go(0), End: () => this.go(r.steps.length - 1), f: found, F: found,
      d: () => seek(back, (_, i) => r.turn[i] === "diverge", "divergence"), b: () => this.line && this.toLine(this.line, -1),
      h: () => this.table.scrollBy(-160, 0), l: () => this.table.scrollBy(160, 0),
      "/": () => this.input.select(), " ": () => this.toggle(),
    };
    run.D = run.d;
    if (!run[key]) return false;
    if (key !== " ") this.stop();
    run[key]();
    return true;
  }
}
// ---- a page of its own, and figures of the book ------------------------------------------------------------------------------------

/** Plays a record in an element, in a tree of its own, which the styles of the page do not reach; `after` stays below it. */
function play(place, record, start, ...after) {
  const host = el("div"), box = el("div", { class: "ferry-step" });
  const begin = () => new Player(box, structuredClone(record), true, start).app?.focus({ preventScroll: true });
  host.attachShadow({ mode: "open" }).append(el("link", { rel: "stylesheet", href: new URL("player.css", here).href, onload: begin }), box);
  place.replaceChildren(host, ...after);
}
const loading = new Map(); // name of a record: those who wait for it
/** The file of a record calls it with the record's name; a page that has a record calls it with the figure to play it in. */
window.ferryStep = (name, record, start) => {
  if (name instanceof Element) return play(name, record, start);
  for (const use of loading.get(name) || []) use(record);
  loading.delete(name);
};
function upgrade(figure) {
  const name = figure.dataset.record, say = el("p", { class: "fault", role: "alert" });
  const open = el("button", { type: "button", class: "ferry-open", onclick: () => {
    open.disabled = true;
    const caption = figure.querySelector("figcaption"), start = figure.dataset.step && Number(figure.dataset.step);
    const use = record => play(figure, record, start, ...(caption ? [caption] : []));
    if (loading.has(name)) return loading.get(name).push(use);
    loading.set(name, [use]);
    const fail = () => (loading.delete(name), (open.disabled = false), (say.textContent = `The record ${name} could not be loaded.`));
    document.head.append(el("script", { src: new URL(`records/${name}.js`, here).href, onerror: fail }));
  } }, "Step through this kernel");
  figure.append(open, say);
}
function begin() {
  const record = document.getElementById("ferry-record");
  if (record) new Player(document.querySelector("main.ferry-step"), parse(record.textContent));
  document.querySelectorAll("figure.ferry-step[data-record]").forEach(upgrade);
}
document.readyState === "loading" ? addEventListener("DOMContentLoaded", begin) : begin();
})();
