// SPDX-License-Identifier: MIT
// A record of ./ferry step (docs/dev/step_record.md), and the state behind each of its steps.
//
// Each variable of a thread and each element of memory has the list of the steps that changed it, with its values. The state at a
// step is found in it by bisection, so a step backwards costs what a step forwards does.
const ferryPlayer = {};
(() => {
"use strict";
const LANES = 32, SECTOR = 32, MOST_LEAVES = 256;
const range = n => Array.from({ length: n }, (_, i) => i);
const has = (mask, lane) => (mask >>> lane) & 1;
const lanesOf = mask => range(LANES).filter(l => has(mask, l));
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const same = (a, b) => a === b || (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((x, i) => same(x, b[i])));
const part = (value, i) => Array.isArray(value) ? value[i] : value;

/** The index of the last number of an ascending list that is at most `n`; -1: none. */
function before(list, n) {
  let a = 0, b = list.length;
  while (a < b) {
    const c = (a + b) >> 1;
    if (list[c] <= n) a = c + 1;
    else b = c;
  }
  return a - 1;
}

/** JSON, with integers of more than 15 digits as text: a number of JavaScript has no more. */
function parse(text) {
  try {
    return JSON.parse(text.replace(/(?<=[[,:])-?\d{16,}(?=[,\]}])/g, '"$&"'));
  } catch { // something like such an integer stood in a text
    return JSON.parse(text);
  }
}

/** What a record lists for each lane of a mask, as an array by lane. */
function spread(list, mask) {
  const out = new Array(LANES), like = Array.isArray(list) && list.length === 1;
  const linear = ([first, by], n) => typeof first === "string" ? String(BigInt(first) + BigInt(by) * BigInt(n)) : first + by * n;
  for (let lane = 0, n = 0; lane < LANES; lane++)
    if (has(mask, lane)) {
      out[lane] = like ? list[0] : Array.isArray(list) ? list[n] : linear(list.a, n);
      n++;
    }
  return out;
}

/** A value in at most `width` characters, or few more. */
function short(v, width = 5) {
  if (v === undefined) return "";
  if (v === null) return "·";
  if (Array.isArray(v)) return v.map(x => short(x, 4)).join(" ");
  const text = String(v), fits = t => t.length <= width;
  if (fits(text)) return text;
  if (typeof v === "string") return text.slice(0, width - 1) + "…";
  const exponential = digits => v.toExponential(digits - 1).replace("+", "");
  for (let digits = width; digits > 1; digits--) { // an integer is never shown as another one
    const form = [Number.isInteger(v) ? text : String(Number(v.toPrecision(digits))), exponential(digits)].find(fits);
    if (form) return form;
  }
  return exponential(1);
}
const whole = v => v === null ? "no value yet" : Array.isArray(v) ? `(${v.map(whole).join(", ")})` : String(v);

const TERMS = [["lane", l => l]];
for (const n of [16, 8, 4, 2]) TERMS.push([`lane % ${n}`, l => l % n], [`lane / ${n}`, l => Math.floor(l / n)]);
for (const n of [1, 2, 4, 8, 16]) TERMS.push([`lane ^ ${n}`, l => l ^ n]);

/** Values by lane as a formula: "4 (all)", "32 + lane"; "" where there is none. */
function pattern(values, lanes) {
  const set = lanesOf(-1).filter(l => values[l] !== undefined), first = values[set[0]];
  if (!set.length) return "";
  if (set.every(l => same(values[l], first)))
    return (first === null ? "no value" : short(first, 14)) + (set.length === lanes ? " (all)" : set.length > 1 ? ` (${set.length} lanes)` : "");
  if (set.length < 3 || !set.every(l => Number.isSafeInteger(values[l]))) return "";
  for (const [name, term] of TERMS) {
    const other = set.find(l => term(l) !== term(set[0]));
    const factor = (values[other] - first) / (term(other) - term(set[0])), base = first - factor * term(set[0]);
    if (!Number.isSafeInteger(factor) || !factor || !set.every(l => values[l] === base + factor * term(l))) continue;
    const size = Math.abs(factor), inner = size !== 1 && name !== "lane" || (base && name.includes("^")) ? `(${name})` : name;
    const times = size === 1 ? inner : `${size} * ${inner}`;
    if (base < 0 && factor > 0) return `${times} - ${-base}`;
    return base ? `${base} ${factor < 0 ? "-" : "+"} ${times}` : (factor < 0 ? "-" : "") + times;
  }
  return "";
}

/** Ascending numbers as "0-31, 40"; the first of many. */
function ranges(list, most = 6) {
  const out = [];
  for (const n of list) {
    const last = out[out.length - 1];
    if (last && last[1] === n - 1) last[1] = n;
    else out.push([n, n]);
  }
  return out.slice(0, most).map(([a, b]) => a === b ? a : `${a}-${b}`).join(", ") + (out.length > most ? ", ..." : "");
}

// ---- the record: the state behind each step ------------------------------------------------------------------------------------

class Histories extends Map { // of a key: the steps at which its value changed, and the values
  put(key, step, value) {
    let h = this.get(key);
    if (!h) this.set(key, h = { steps: [], values: [] });
    const n = h.steps.length;
    if (n && h.steps[n - 1] === step) h.values[n - 1] = value;
    else h.steps.push(step), h.values.push(value);
  }
  at(key, step) {
    const h = this.get(key), i = h ? before(h.steps, step) : -1;
    return i < 0 ? undefined : { value: h.values[i], step: h.steps[i], before: h.values[i - 1] };
  }
}

class Recording {
  constructor(record) {
    Object.assign(this, record);
    this.threads = this.block[0] * this.block[1] * this.block[2];
    this.warps = Math.ceil(this.threads / LANES);
    this.statement = new Map(this.statements.map(s => [s.id, s]));
    this.depths = 1 + this.steps.reduce((most, s) => Math.max(most, s.c ? s.c.length : 0), 0);
    this.locals = new Histories();
    this.began = new Histories(); // of a thread and depth: when its function began
    this.memory = this.arrays.map(() => new Histories());
    this.touching = this.arrays.map(() => []);
    this.stepsOf = range(this.threads).map(() => []);
    this.opened = [];
    this.turn = [];
    this.leaves = this.variables.map(v => this.leavesOf(v));
    this.alive = range(this.warps).map(w => this.lanesIn(w) === LANES ? -1 : (1 << this.lanesIn(w)) - 1);
    this.last = this.alive.map(() => 0);
    this.steps.forEach((s, i) => this.add(s, i));
    this.read();
    this.barriers = new Set(this.statements.filter(r => r.k === "barrier" && !/syncwarp/.test(this.textOf(r))).map(r => r.id));
    const found = this.findings.flatMap(f => f.step >= 0 ? [f.step] : []);
    this.found = [...new Set(found)].sort((a, b) => a - b);
  }
  lanesIn(warp) { return Math.max(0, Math.min(LANES, this.threads - warp * LANES)); }
  key(thread, depth, variable) { return (thread * this.depths + depth) * this.variables.length + variable; }

  add(s, i) {
    const depth = s.c ? s.c.length : 0;
    this.opened[i] = (i ? this.opened[i - 1] : 0) + (s.k === "b" ? 1 : 0);
    if (s.w < 0) return;
    for (let l = 0; l < LANES; l++)
      if (has(s.m, l)) {
        this.stepsOf[s.w * LANES + l]?.push(i);
        if (s.k === "s" && s.s === 0) this.began.put((s.w * LANES + l) * this.depths + depth, i, i);
      }
    this.turn[i] = this.turnOf(s);
    for (const [variable, d, mask, list] of s.v || []) {
      const values = spread(list, mask);
      for (let l = 0; l < LANES; l++)
        if (has(mask, l)) this.locals.put(this.key(s.w * LANES + l, d, variable), i, values[l]);
    }
    for (const [kind, a, bytes, mask, offsets, list] of s.a || []) {
      const at = spread(offsets, mask), values = spread(list, mask), memory = this.memory[a];
      if (this.touching[a][this.touching[a].length - 1] !== i) this.touching[a].push(i);
      for (let l = 0; l < LANES; l++) {
        if (!has(mask, l)) continue;
        const wide = Array.isArray(values[l]) ? values[l] : [values[l]];
        wide.forEach((v, j) => {
          const where = at[l] + j * bytes / wide.length;
          // A read tells what another block or the host wrote.
          if (kind !== "r" || !same(memory.at(where, i)?.value, v)) memory.put(where, i, v);
        });
      }
    }
  }

  /** Whether lanes of the warp diverge or converge in this step, or others than before go on ("other"). */
  turnOf(s) {
    if (s.k === "e") this.alive[s.w] &= ~s.m;
    const last = this.last[s.w] & this.alive[s.w];
    if (s.k === "e") return void (this.last[s.w] = last);
    this.last[s.w] = s.m;
    const both = last & s.m;
    return !last || (last | 0) === (s.m | 0) ? "" : both === (s.m | 0) ? "diverge" : both === last ? "converge" : both ? "" : "other";
  }

  functionOf(s) { return this.functions[s.s ? this.statement.get(s.s).f : s.n ?? this.functions.findIndex(f => f.kernel)]; }
  /** The calls that are open at a step, the kernel first: each function, and the statement that it is at. */
  frames(s) {
    const at = (s.c || []).map(id => this.statement.get(id));
    const frames = at.map(r => ({ f: r.f, at: r })), now = this.functions.indexOf(this.functionOf(s));
    return [...frames, { f: now, at: s.s ? this.statement.get(s.s) : null }];
  }
  local(thread, depth, variable, step) {
    const h = this.locals.at(this.key(thread, depth, variable), step), began = this.began.at(thread * this.depths + depth, step);
    const list = this.stepsOf[thread], now = this.steps[list[before(list, step)]];
    return h && (!began || h.step >= began.step) && (now?.c || []).length >= depth ? h : undefined; // the call has not ended
  }
  isBarrier(s) { return this.barriers.has(s.s); }
  /** What a thread does: "new", "live", "wait" (at a barrier of the block), "done". */
  doing(thread, step) {
    const list = this.stepsOf[thread], i = before(list, step), s = this.steps[list[i]];
    return !s ? "new" : s.k === "e" ? "done" : this.isBarrier(s) && this.opened[list[i]] === this.opened[step] ? "wait" : "live";
  }
  lineOf(thread, step) {
    const list = this.stepsOf[thread], s = this.steps[list[before(list, step)]];
    return s && s.s ? this.statement.get(s.s) : null;
  }

  leavesOf([, , , count, members, dims]) {
    const each = (n, dims) => n > 1 ? range(n).map(i => [index(dims && dims.length ? dims : [n], i), x => part(x, i)]) : [["", x => x]];
    const leaves = each(count || 1, dims).slice(0, MOST_LEAVES);
    if (!members || !members.length) return leaves;
    return leaves.flatMap(([name, of]) => members.flatMap(([m, , n], j) =>
      each(n || 1).map(([suffix, inner]) => [`${name}.${m}${suffix}`, x => inner(part(of(x), j))]))).slice(0, MOST_LEAVES);
  }

  // -- source: tokens, and where a variable's name is in scope --

  read() {
    const token = /\/\*[\s\S]*?\*\/|\/\/.*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|\b(?:__\w+|(?:thread|block)Idx|(?:block|grid)Dim|warpSize|atomic[A-Z]\w*)\b/g;
    for (const file of this.files) {
      file.lines = file.text.split("\n");
      file.tokens = file.lines.map(() => []);
      file.begins = [0];
      for (const line of file.lines) file.begins.push(file.begins[file.begins.length - 1] + line.length + 1);
      file.plain = file.text.replace(token, (text, at) => {
        const kind = text[0] === "/" ? "comment" : /["']/.test(text[0]) ? "" : "cuda";
        for (let line = before(file.begins, at), rest = text.split("\n"), c = at - file.begins[line]; kind && rest.length; c = 0)
          file.tokens[line++].push([c, c + rest.shift().length, kind]);
        return kind === "cuda" ? text : text.replace(/[^\n]/g, " ");
      });
    }
    this.scopes = this.variables.map(([f, name]) => this.scopesOf(f, name));
  }
  fileOf(f) { const file = this.functions[f].file; return this.files.find(x => x.name === file) || this.files[file] || this.files[0]; }
  placeOf(r) { const begin = (this.fileOf(r.f).begins[r.l - 1] || 0) + r.c; return [begin, begin + r.n]; }
  textOf(r) { return this.fileOf(r.f).text.slice(...this.placeOf(r)).replace(/\s+/g, " ").trim(); }

  /** From each declaration of a name to the end of its block, or of the loop that has it. None: known to be in scope everywhere. */
  scopesOf(f, name) {
    if (this.functions[f].parameters?.includes(name)) return [];
    const { plain } = this.fileOf(f), word = new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`), out = [];
    const close = (i, open, shut) => { // behind the bracket that closes the one at or before i
      for (let depth = 0; i < plain.length; i++)
        if (plain[i] === open) depth++;
        else if (plain[i] === shut && --depth <= 0) return i + 1;
      return i;
    };
    const skip = i => i + plain.slice(i).search(/\S|$/);
    const end = i => { // of the statement at i
      i = skip(i);
      if (plain[i] === "{") return close(i, "{", "}");
      if (!/^(if|for|while|switch)\b/.test(plain.slice(i, i + 7))) return plain.indexOf(";", i) + 1 || plain.length;
      i = end(close(i, "(", ")"));
      return /^else\b/.test(plain.slice(skip(i), skip(i) + 5)) ? end(skip(i) + 4) : i;
    };
    for (const r of this.statements) {
      if (r.f !== f || !/declaration|^for|^if|switch/.test(r.k)) continue;
      const [from, to] = this.placeOf(r);
      if (word.test(plain.slice(from, to))) out.push([from, r.k === "declaration" ? closing(plain, from) : end(from)]);
    }
    return out;
  }
  /** Whether a variable of function f is in scope at a statement, or, without one, at the function's end. */
  inScope(variable, f, r) {
    const scopes = this.scopes[variable], place = r ? this.placeOf(r)[0] : this.fileOf(f).begins[this.functions[f].end - 1] - 1;
    return !scopes.length || scopes.some(([a, b]) => place >= a && place < b);
  }

  // -- memory --

  element(a, i) { return this.arrays[a].name + index(this.arrays[a].d, i); }
  /** The elements that lanes access as a formula, "[lane][4]"; "" where there is none. */
  indexFormula(a, at, lanes) {
    const e = this.size(a), sizes = this.arrays[a].d.filter(n => n > 0);
    if (at.some(x => x % e)) return "";
    const inner = (sizes.length ? sizes : [Infinity]).map((_, k) => sizes.slice(k + 1).reduce((x, y) => x * y, 1));
    const along = inner.map((n, k) => pattern(at.map(x => Math.floor(x / e / n) % (k ? sizes[k] : Infinity)), lanes).replace(/ \(.*(all|lanes)\)$/, ""));
    return along.every(Boolean) ? along.map(f => `[${f}]`).join("") : "";
  }
  stepOfWarp(w, step) {
    const later = this.steps.findIndex((s, i) => i > step && s.w === w);
    return later >= 0 ? later : this.steps.findLastIndex(s => s.w === w);
  }
  size(a) { return this.arrays[a].e || 4; }
  /** What is known of a word of 4 bytes. */
  word(a, w, step) {
    const e = this.size(a), memory = this.memory[a];
    if (e >= 4) {
      const own = memory.at(w * 4, step), start = Math.floor(w * 4 / e) * e;
      return own || (start !== w * 4 && memory.has(start) && memory.at(start, step) ? { value: "″", step: memory.at(start, step).step } : undefined);
    }
    const parts = range(4 / e).map(j => memory.at(w * 4 + j * e, step)), known = parts.filter(Boolean);
    return known.length ? { value: parts.map(p => p ? p.value : null), step: Math.max(...known.map(p => p.step)) } : undefined;
  }
  /** The sectors of a global request, with the bytes of each that are wanted, or the words of each bank. */
  request([, a, bytes, mask, offsets]) {
    const array = this.arrays[a], base = array.s ? array.bank * 4 : array.at, at = spread(offsets, mask), unit = array.s ? 4 : SECTOR;
    const units = new Map(), wanted = new Set();
    for (const l of lanesOf(mask))
      for (let b = 0; b < bytes; b++) {
        const u = Math.floor((base + at[l] + b) / unit);
        wanted.add(at[l] + b);
        if (!units.has(u)) units.set(u, new Set());
        units.get(u).add(at[l] + b);
      }
    const banks = range(LANES).map(() => []);
    if (array.s) for (const u of units.keys()) banks[((u % LANES) + LANES) % LANES].push(u - array.bank);
    const sectors = [...units.keys()].sort((x, y) => x - y);
    const count = array.s ? Math.max(...banks.map(b => b.length)) : sectors.length;
    return { array, base, at, units, sectors, banks, wanted, count, ideal: Math.ceil(wanted.size / (array.s ? 128 : SECTOR)) };
  }
  /** The lanes and elements of a step that a finding is about, for each array. */
  marks(step) {
    const out = new Map();
    for (const f of this.findings)
      for (const [at, thread, lanes] of [[f.step, f.thread, f.lanes], [f.other_step, f.other, f.other_lanes]])
        if (at === step && step >= 0) out.set(f.array, (out.get(f.array) || 0) | (lanes || (thread >= 0 ? 1 << thread % LANES : 0)));
    return out;
  }
}

/** Where the block ends that position `i` of a text without comments is in. */
function closing(plain, i) {
  for (let depth = 0; i < plain.length; i++)
    if (plain[i] === "{") depth++;
    else if (plain[i] === "}" && --depth < 0) return i;
  return i;
}

function index(dims, i) {
  const sizes = (dims || []).filter(n => n > 0), out = [];
  for (let k = sizes.length - 1; k > 0; k--) {
    out.unshift(`[${((i % sizes[k]) + sizes[k]) % sizes[k]}]`);
    i = Math.floor(i / sizes[k]);
  }
  return `[${Number.isInteger(i) ? i : i.toFixed(2)}]${out.join("")}`;
}
Object.assign(ferryPlayer, { parse, LANES, SECTOR, range, has, lanesOf, plural, same, before, spread, short, whole, pattern, ranges, index, Recording });
})();
