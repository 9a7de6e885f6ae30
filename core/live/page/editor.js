// SPDX-License-Identifier: MIT
// An editor of one file: CodeMirror 5 if the machine has it (libjs-codemirror), else a plain text field with the same methods.
import { el, button } from "./api.js";

const CUDA = "__global__ __device__ __host__ __shared__ __constant__ __managed__ __launch_bounds__ __restrict__ __noinline__ __forceinline__ " +
  "__align__ __grid_constant__ dim3 half half2 float2 float3 float4 int2 int3 int4 uint2 uint3 uint4 double2 cudaError_t cudaStream_t cudaEvent_t";
const BUILTIN = "threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __syncthreads_or __syncthreads_and __syncthreads_count " +
  "__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync __activemask __popc __ffs __clz __ldg " +
  "__threadfence __threadfence_block atomicAdd atomicSub atomicMin atomicMax atomicExch atomicCAS atomicAnd atomicOr atomicXor";
const PARTS = ["mode/clike/clike.js", "addon/edit/matchbrackets.js", "addon/edit/closebrackets.js", "addon/comment/comment.js"];
const set = words => Object.fromEntries(words.split(" ").map(w => [w, true]));

const load = (tag, attributes) => new Promise((done, failed) => document.head.append(el(tag, { ...attributes, onload: done, onerror: failed })));
let loading;
/** CodeMirror, or null where it is not installed. */
const codeMirror = () => loading ||= (async () => {
  try {
    await Promise.all([load("link", { rel: "stylesheet", href: "/live/codemirror/lib/codemirror.css" }), load("script", { src: "/live/codemirror/lib/codemirror.js" })]);
    await Promise.all(PARTS.map(part => load("script", { src: `/live/codemirror/${part}` })));
  } catch {
    return null;
  }
  const cpp = CodeMirror.resolveMode("text/x-c++src");
  CodeMirror.defineMIME("text/x-cuda", { ...cpp, keywords: { ...cpp.keywords, ...set(CUDA) }, builtin: set(BUILTIN) });
  return CodeMirror;
})();

/** `how` has label, language ("c" or "cuda"), changed(), keys {"Ctrl-Enter": run}, and leaves(true) when Tab will leave the editor. */
export async function openEditor(host, text, how) {
  const CodeMirror = await codeMirror();
  return CodeMirror ? new Rich(CodeMirror, host, text, how) : new Plain(host, text, how);
}

class Rich {
  constructor(CodeMirror, host, text, how) {
    const keys = Object.fromEntries(Object.entries(how.keys).map(([key, f]) => [key, () => void f()]));
    const inside = { Tab: cm => cm.somethingSelected() ? cm.indentSelection("add") : cm.execCommand("insertSoftTab"), "Shift-Tab": "indentLess",
      Esc: cm => (cm.setOption("extraKeys", { ...keys, Tab: false, "Shift-Tab": false }), how.leaves(true)), "Ctrl-/": "toggleComment", "Cmd-/": "toggleComment", ...keys };
    this.cm = CodeMirror(host, {
      value: text, mode: how.language === "c" ? "text/x-csrc" : "text/x-cuda", theme: "ferry", lineNumbers: true, matchBrackets: true, autoCloseBrackets: true,
      indentUnit: 2, tabSize: 2, indentWithTabs: false, viewportMargin: 40, screenReaderLabel: how.label, gutters: ["CodeMirror-linenumbers"],
      extraKeys: inside,
    });
    this.widgets = [];
    this.cm.on("change", (_, change) => change.origin !== "setValue" && how.changed());
    this.cm.on("blur", cm => (cm.setOption("extraKeys", inside), how.leaves(false))); // after Escape, Tab leaves the editor
    this.cm.getScrollerElement().tabIndex = 0; // it scrolls by keys too
  }
  get text() { return this.cm.getValue(); }
  /** Replaces the text; undo brings the old one back. */
  set text(text) {
    const { left, top } = this.cm.getScrollInfo(), cursor = this.cm.getCursor();
    this.cm.replaceRange(text, { line: 0, ch: 0 }, { line: this.cm.lineCount(), ch: 0 }, "setValue");
    this.cm.setCursor(cursor, null, { scroll: false });
    this.cm.scrollTo(left, top);
  }
  focus() { this.cm.focus(); }
  go(line) {
    this.cm.setCursor(line - 1, 0);
    this.cm.scrollTo(0, Math.max(0, this.cm.charCoords({ line: line - 1, ch: 0 }, "local").top - 40));
  }
  clear() {
    for (const w of this.widgets.splice(0)) w.clear();
    this.cm.setOption("gutters", ["CodeMirror-linenumbers"]);
    this.cm.eachLine(line => void this.cm.removeLineClass(line, "background"));
    this.stale(false);
  }
  stale(is) { this.cm.getWrapperElement().classList.toggle("live-stale", is); }
  /** Messages below their lines: {line, kind: "error" | "warning" | "finding", text}, and `more` to do about one: an element. */
  mark(list) {
    for (const { line, kind, text, more } of list) {
      if (line < 1 || line > this.cm.lineCount()) continue;
      this.cm.addLineClass(line - 1, "background", `live-line-${kind}`);
      this.widgets.push(this.cm.addLineWidget(line - 1, el("div", { class: `live-note live-${kind}` }, text, " ", more || "")));
    }
  }
  /** Counts beside their lines: {line, text, title, heat: 0 to 1}. */
  count(list) {
    if (list.length) this.cm.setOption("gutters", ["CodeMirror-linenumbers", "live-counts"]);
    for (const { line, text, title, heat } of list) {
      const cell = el("div", { class: "live-count", title }, text);
      cell.style.setProperty("--heat", `${Math.round(heat * 75)}%`);
      this.cm.setGutterMarker(line - 1, "live-counts", cell);
    }
    this.cm.refresh();
  }
  refresh() { this.cm.refresh(); }
}

class Plain {
  constructor(host, text, how) {
    this.area = el("textarea", { class: "live-plain", spellcheck: "false", autocapitalize: "off", "aria-label": how.label, rows: 24 });
    this.area.value = text;
    this.area.oninput = () => how.changed();
    this.area.onkeydown = e => {
      const name = `${e.ctrlKey || e.metaKey ? "Ctrl-" : ""}${e.shiftKey ? "Shift-" : ""}${e.key.length === 1 ? e.key.toUpperCase() : e.key}`;
      const key = name.replace("Ctrl-Shift-", "Shift-Ctrl-");
      if (!how.keys[key]) return;
      how.keys[key]();
      e.preventDefault();
    };
    this.notes = el("ul", { class: "live-notes" });
    host.append(this.area, this.notes);
  }
  get text() { return this.area.value; }
  set text(text) { this.area.value = text; }
  focus() { this.area.focus({ preventScroll: true }); }
  go(line) {
    const at = this.area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1);
    this.area.setSelectionRange(at, at);
    this.area.scrollTop = Math.max(0, (line - 3) * parseFloat(getComputedStyle(this.area).lineHeight));
  }
  clear() { this.notes.replaceChildren(); this.stale(false); }
  stale(is) { this.notes.classList.toggle("live-stale", is); }
  line(line, kind, text, more = "") {
    this.notes.append(el("li", { class: `live-${kind}` }, button(`line ${line}`, () => (this.go(line), this.focus())), ` ${text} `, more));
  }
  mark(list) { for (const { line, kind, text, more } of list) this.line(line, kind, text, more); }
  count(list) { for (const { line, title } of list) this.line(line, "counted", title); }
  refresh() {}
}
