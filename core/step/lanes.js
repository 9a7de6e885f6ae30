// SPDX-License-Identifier: MIT
// The table of the player: a column for each lane of a warp, and for each bank of shared memory. Below each other are what all warps
// do, the variables of the step's warp, its requests to memory, and shared memory.
//
// The rows are made once. A step changes texts and classes, and only those that differ.
(() => {
"use strict";
const { LANES, SECTOR, range, has, lanesOf, plural, same, before, spread, short, whole, pattern, ranges, index } = ferryPlayer;
function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) name.startsWith("on") ? e[name] = value : e.setAttribute(name, value);
  e.append(...children);
  return e;
}
const once = (node, name, value) => { // sets a property, where it differs
  const kept = node.kept || (node.kept = {});
  if (kept[name] !== value) node[name] = kept[name] = value;
};
const svg = (box, inside) => { // `inside` consists of numbers and of names from here alone
  const e = el("div");
  e.innerHTML = `<svg viewBox="${box}" preserveAspectRatio="none" aria-hidden="true">${inside}</svg>`;
  return e.firstChild;
};

/** A row of the table: its head, with a name and a pattern, and 32 cells or a wide one. */
class Row {
  constructor(body, kind, wide) {
    this.name = el("span");
    this.pattern = el("i");
    this.cells = range(wide ? 1 : LANES).map(() => el("td", wide ? { colspan: LANES } : {}));
    this.tr = el("tr", { class: kind }, el("th", { scope: "row" }, this.name, this.pattern), ...this.cells);
    this.tr.row = this;
    this.kind = kind;
    this.texts = []; // of the cells: kept here, since asking the page takes longer
    this.kinds = [];
    this.known = []; // what is known of the places that the cells are of
    body.append(this.tr);
  }
  head(name, pattern = "", kind = "") {
    once(this.name, "textContent", name);
    once(this.pattern, "textContent", pattern);
    once(this.tr, "className", `${this.kind} ${kind}`);
    once(this.tr, "hidden", false);
    return this;
  }
  cell(i, text, kind = "") {
    if (this.texts[i] !== text) this.cells[i].textContent = this.texts[i] = text;
    if (this.kinds[i] !== kind) this.cells[i].className = this.kinds[i] = kind;
  }
}
/** Rows of one kind, of which some are in use. */
class Rows {
  constructor(body, kind) { Object.assign(this, { body, kind, rows: [], used: 0 }); }
  next() {
    const row = this.rows[this.used] || (this.rows[this.used] = new Row(this.body, this.kind));
    this.used++;
    return row;
  }
  finish() {
    for (let i = this.used; i < this.rows.length; i++) once(this.rows[i].tr, "hidden", true);
    this.used = 0;
  }
}

const VERBS = { r: "reads", w: "writes", a: "updates" };
const MOST_ACCESSES = 12, MOST_LEAVES = 9;

class Lanes {
  /** `show` is told which step a click leads to. */
  constructor(recording, box, show) {
    const r = this.r = recording, table = el("table"), body = () => table.appendChild(el("tbody"));
    table.append(el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "lane"), ...range(LANES).map(l => el("th", { scope: "col" }, String(l))))));
    const act = body();
    this.activity = range(r.warps).map(() => new Row(act, r.warps > 8 ? "act thin" : "act"));
    act.onclick = e => e.target.closest("td") && show(r.stepOfWarp([...act.rows].indexOf(e.target.closest("tr")), this.step));
    this.variables = new Rows(body(), "");
    this.met = { body: body() };
    for (const name of ["brings", "arrows", "from"]) this.met[name] = new Row(this.met.body, name === "arrows" ? "request" : "", name === "arrows");
    this.requests = [];
    this.behindRequests = body();
    this.shared = r.arrays.map(array => {
      if (!array.s) return null;
      const tbody = body(), head = new Row(tbody, "head", true), text = el("span");
      const all = el("input", { type: "checkbox", onchange: () => this.draw(...this.drawn) });
      head.cells[0].append(el("p", {}, text, el("label", {}, all, " all rows")));
      return { head, text, all, rows: new Rows(tbody, "words") };
    });
    const under = e => {
      const cell = e.target.closest("td"), row = cell?.parentNode.row, lane = cell ? cell.cellIndex - 1 : 0;
      return { cell, row, lane, h: row?.known[lane] };
    };
    table.onclick = e => under(e).h && show(under(e).h.step);
    table.onmouseover = e => {
      const { cell, row, lane, h } = under(e);
      if (cell) cell.title = row?.tells ? row.tells(lane) : h ? `${row.names(lane)} = ${whole(h.value)}, since step ${h.step}` : "";
    };
    box.append(table);
  }

  /** Draws a step of a warp, whose lanes of `mask` run in `frames`; `doing` is what each thread does. Returns the step's effects in words. */
  draw(step, warp, mask, frames, doing) {
    const r = this.r, s = r.steps[step];
    this.drawn = [step, warp, mask, frames, doing];
    Object.assign(this, { step, warp, mask, words: [], marks: r.marks(step) });
    this.drawActivity(doing);
    this.drawVariables(s, frames);
    this.drawMet(s);
    this.drawRequests(s.a || []);
    r.arrays.forEach((array, a) => array.s && this.drawShared(s, a));
    return this.words;
  }

  drawActivity(doing) {
    const bad = [...this.marks.values()].reduce((a, b) => a | b, 0);
    this.activity.forEach((row, w) => {
      const lanes = this.r.lanesIn(w), mine = w === this.warp;
      const quiet = !mine && this.r.warps > 8 && (w % 4 || Math.abs(w - this.warp) < 3);
      row.head(`warp ${w}`, mine ? `${lanesOf(this.mask).length} of ${lanes}` : "", mine ? "here" : quiet ? "quiet" : "");
      for (let l = 0; l < LANES; l++)
        row.cell(l, "", l >= lanes ? "" : mine && has(this.mask, l) ? has(bad, l) ? "bad" : "on" : doing[w * LANES + l]);
    });
  }

  drawVariables(s, frames) {
    const r = this.r, first = this.warp * LANES, lanes = range(r.lanesIn(this.warp)), inner = frames.length - 1;
    const fresh = h => h && h.step === this.step && s.w >= 0;
    for (let depth = inner; depth >= 0; depth--) {
      const { f, at } = frames[depth], outer = depth < inner;
      r.variables.forEach(([of, name], v) => {
        if (of !== f) return;
        const cells = lanes.map(l => r.local(first + l, depth, v, this.step));
        if (!cells.some(Boolean) || (!r.inScope(v, f, at) && !cells.some(fresh))) return;
        const changed = (h, leaf) => fresh(h) && !(h.before !== undefined && same(leaf(h.value), leaf(h.before)));
        const all = r.leaves[v], moved = all.filter(([, leaf]) => cells.some(h => changed(h, leaf)));
        const leaves = all.length > MOST_LEAVES ? moved.slice(0, MOST_LEAVES) : all, label = (outer ? `${r.functions[f].name}: ` : "") + name;
        if (!leaves.length) this.drawVariable(label, cells.map(h => h && { ...h, value: "" }), outer, () => false, `${all.length} elements`);
        for (const row of leaves) {
          const [suffix, leaf] = row, values = cells.map(h => h && { ...h, value: leaf(h.value) });
          const formula = this.drawVariable(label + suffix, values, outer, l => changed(cells[l], leaf));
          if (!outer && moved.includes(row)) this.words.push(label + suffix + (formula ? ` = ${formula}` : " changes"));
        }
      });
    }
    this.variables.finish();
  }
  drawVariable(name, cells, outer, changed, formula = pattern(cells.map(h => h?.value), cells.length)) {
    const row = this.variables.next().head(name, formula, outer ? "outer" : "");
    const told = formula.endsWith("(all)") && (typeof cells[0].value === "string" || String(cells[0].value).length > 5); // the pattern says it, and the cells could not
    for (let l = 0; l < LANES; l++) {
      const h = cells[l], kind = `v ${changed(l) ? "changed" : ""} ${has(this.mask, l) ? "on" : ""} ${h?.value === null ? "none" : ""}`;
      row.cell(l, h && !told ? short(h.value) : "", h ? kind : "");
    }
    row.known = cells;
    row.names = l => `${name} of thread ${this.warp * LANES + l}`;
    return formula;
  }

  /** A warp function: what each lane brings, and arrows from the lane that its result comes from. */
  drawMet({ met }) {
    const { body, brings, arrows, from } = this.met;
    once(body, "hidden", !met);
    if (!met) return;
    const [mask, list, lanes] = met, values = spread(list, mask), sources = lanes && spread(lanes, mask), count = lanesOf(mask).length;
    brings.head("brings", pattern(values, count));
    for (let l = 0; l < LANES; l++) brings.cell(l, short(values[l]), has(mask, l) ? "v on read" : "");
    once(arrows.tr, "hidden", !sources); // of a vote, nothing more is known
    once(from.tr, "hidden", !sources);
    const given = pattern(values, count), source = sources && pattern(sources, count);
    const takes = sources ? `; each takes the value of ${source ? `lane ${source}` : "another lane"}` : "";
    this.words.push(`a warp function of ${plural(count, "lane")}${given && `, which bring ${given}`}${takes}`);
    if (!sources) return;
    const arrow = l => `M${sources[l] + 0.5} 0L${l + 0.5} 9.6M${l + 0.38} 8L${l + 0.5} 9.8L${l + 0.62} 8`;
    const path = lanesOf(mask).filter(l => sources[l] >= 0).map(arrow);
    arrows.head("takes").cells[0].replaceChildren(svg("0 0 32 10", `<path d="${path.join("")}"/>`));
    from.head("from lane", pattern(sources, count));
    for (let l = 0; l < LANES; l++) from.cell(l, sources[l] === undefined ? "" : String(sources[l]), has(mask, l) ? "v on" : "");
  }

  drawRequests(accesses) {
    const list = accesses.slice(0, MOST_ACCESSES);
    list.forEach((access, i) => {
      const q = this.requests[i] || (this.requests[i] = this.newRequest());
      once(q.body, "hidden", false);
      this.drawRequest(q, access);
    });
    for (let i = list.length; i < this.requests.length; i++) once(this.requests[i].body, "hidden", true);
    if (accesses.length > list.length) this.words.push(`and ${accesses.length - list.length} more accesses`);
  }
  newRequest() {
    const body = el("tbody", { class: "access" }), row = (kind, wide) => new Row(body, kind, wide);
    this.behindRequests.before(body);
    return { body, values: row(""), places: row(""), drawing: row("request", true), banks: row(""), text: row("text", true) };
  }
  drawRequest(q, access) {
    const r = this.r, [kind, a, bytes, mask, , list, old] = access, request = r.request(access), { array, at, count, ideal } = request;
    const values = spread(list, mask), were = old && spread(old, mask), e = r.size(a), bad = this.marks.get(a) || 0, lanes = lanesOf(mask);
    const outside = l => at[l] < 0 || at[l] + bytes > array.bytes, beyond = lanes.filter(outside), wrong = l => has(bad, l) || outside(l);
    const where = r.indexFormula(a, at, lanes.length), space = array.s ? "shared" : "global", units = plural(count, array.s ? "wavefront" : "sector");
    const who = beyond.length ? `${beyond.length > 1 ? "lanes" : "lane"} ${ranges(beyond)} outside of the array` : "";
    q.values.head(`${VERBS[kind]} ${array.name}`, where);
    q.places.head("element");
    q.text.head(`${space} memory`);
    for (let l = 0; l < LANES; l++) {
      const on = has(mask, l), look = wrong(l) ? "bad" : kind === "r" ? "read" : "written";
      q.values.cell(l, on ? short(values[l]) : "", on ? `v on ${look} ${values[l] === null ? "none" : ""}` : "");
      q.places.cell(l, on ? index(array.d, at[l] / e).slice(1, -1).replaceAll("][", ",") : "", "bank");
    }
    const value = l => (were ? `${whole(were[l])}, then ` : "") + whole(values[l]), thread = l => this.warp * LANES + l;
    q.values.tells = l => has(mask, l) ? `thread ${thread(l)} ${VERBS[kind]} ${r.element(a, at[l] / e)}: ${value(l)}` : "";
    q.drawing.head(units, `ideal ${ideal}`, count > ideal ? "wasteful" : "");
    const line = (l, x, y) => `<line class="${wrong(l) ? "x" : kind}" x1="${l + 0.5}" y1="0" x2="${x}" y2="${y}"/>`;
    const bank = l => ((((request.base + at[l]) >> 2) % LANES) + LANES) % LANES;
    const drawing = array.s ? lanes.map(l => line(l, bank(l) + 0.5, 10)).join("") : this.sectors(request, lanes, bytes, kind, line);
    q.drawing.cells[0].replaceChildren(svg("0 0 32 10", drawing));
    once(q.banks.tr, "hidden", !array.s);
    if (array.s) q.banks.head("words in each bank").cells.forEach((_, i) => {
      const n = request.banks[i].length;
      q.banks.cell(i, n > 1 ? `${n}×` : n ? "1" : "", n > 1 ? "bad" : n ? "bank m" : "");
    });
    const wanted = request.wanted.size, words = array.s ? plural(Math.ceil(wanted / 4), "word") : `${wanted} of ${count * SECTOR} bytes used`;
    q.text.cells[0].replaceChildren(el("p", {}, `${words}; ${array.name} has ${plural(Math.floor(array.bytes / e), "element")}.`,
      who && el("b", {}, ` Access by ${who}.`)));
    this.words.push(`${VERBS[kind]} ${array.name}${where} (${space}, ${units}, ideal ${ideal}${who && `; ${who}`})`);
  }
  /** Lines from lanes to the sectors below, each of eight words; words outside of the array are hatched. */
  sectors({ array, sectors, units, base, at }, lanes, bytes, kind, line) {
    const wide = Math.min(3, LANES / sectors.length), left = new Map(sectors.map((u, i) => [u, (LANES - wide * sectors.length) / 2 + i * wide]));
    const x = (u, byte) => (left.get(u) + byte / SECTOR * 0.94 * wide).toFixed(3), out = [];
    for (const l of lanes) {
      const u = Math.floor((base + at[l]) / SECTOR);
      out.push(line(l, x(u, base + at[l] - u * SECTOR + Math.min(bytes, 4) / 2), 6.5));
    }
    for (const u of sectors)
      for (let w = 0; w < SECTOR; w += 4) {
        const begin = u * SECTOR + w - base, used = range(4).some(b => units.get(u).has(begin + b)), beyond = begin < 0 || begin >= array.bytes;
        out.push(`<rect class="${beyond ? "outside" : used ? kind : ""}" x="${x(u, w)}" y="6.5" width="${(0.11 * wide).toFixed(3)}" height="3.5"/>`);
      }
    return `<pattern id="ferry-hatch" width=".2" height="2" patternUnits="userSpaceOnUse"><path d="M0 2L.2 0"/></pattern>${out.join("")}`;
  }

  /** A row for each 32 words, a column for each bank: those that the step, or the last one before it, touched, and those beside them. */
  drawShared(s, a) {
    const r = this.r, array = r.arrays[a], { head, text, all, rows } = this.shared[a], e = r.size(a), words = Math.ceil(array.bytes / 4);
    const count = Math.ceil((words + array.bank) / LANES), shown = new Set(all.checked ? range(count) : []), touched = new Map(), bad = this.marks.get(a) || 0;
    const list = r.touching[a], source = r.steps[list[before(list, this.step)]];
    for (const [kind, of, bytes, mask, offsets] of source?.a || []) {
      if (of !== a) continue;
      const at = spread(offsets, mask);
      for (const l of lanesOf(mask))
        for (let w = at[l] >> 2; w <= (at[l] + bytes - 1) >> 2; w++) {
          const row = Math.floor((w + array.bank) / LANES);
          for (const x of [row - 1, row, row + 1]) if (x >= 0 && x < count) shown.add(x);
          if (source === s) touched.set(w, (touched.get(w) || "") + kind + (has(bad, l) ? "x" : ""));
        }
    }
    if (!shown.size) shown.add(0);
    head.head(array.name, "shared");
    once(text, "textContent", `${plural(array.bytes, "byte")}; a column is a bank${shown.size < count ? `; ${shown.size} of ${count} rows` : ""}`);
    let last = -1;
    for (const row of [...shown].sort((x, y) => x - y)) {
      const begin = row * LANES - array.bank, gap = last >= 0 && last !== row - 1 ? "gap" : "";
      const line = rows.next().head("", r.element(a, Math.floor(Math.max(0, begin) * 4 / e)), gap);
      last = row;
      for (let b = 0; b < LANES; b++) {
        const w = begin + b, inside = w >= 0 && w < words, h = inside ? r.word(a, w, this.step) : undefined, how = touched.get(w) || "";
        const written = /[wa]/.test(how), look = how.includes("x") ? "bad" : written ? "written" : "read";
        line.cell(b, h ? short(h.value) : inside ? "·" : "", how ? `m on ${look} ${written ? "changed" : ""}` : inside ? "m" : "");
        line.known[b] = h;
      }
      line.names = b => r.element(a, Math.floor((begin + b) * 4 / e));
    }
    rows.finish();
  }
}

Object.assign(ferryPlayer, { el, once, svg, Lanes });
})();
