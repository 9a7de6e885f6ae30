// SPDX-License-Identifier: MIT
// What commands say about lines of a file: gcc's messages in their output, and the findings and counts of ./ferry inspect.

const MESSAGE = /^\s*(\S+?):(\d+):(?:(\d+):)? *(fatal error|error|warning): *(.*)$/gm;

/** Is a file that a command names the one in the editor? The command may have seen it under another name, but never as a header. */
const ours = (name, own) => {
  const base = name.split("/").pop();
  return base === own || (!/^\d\d_/.test(base) && /\.cu?$/.test(base) && !/^\//.test(name));
};

/** The compiler's messages: {line, kind, text}. */
export function messages(output, own) {
  const list = [...output.matchAll(MESSAGE)].filter(m => ours(m[1], own));
  const seen = new Set();
  return list.map(([, , line, , kind, text]) => ({ line: Number(line), kind: kind.replace("fatal ", ""), text: `${kind}: ${text}` }))
    .filter(m => !seen.has(m.line + m.text) && seen.add(m.line + m.text));
}

const number = n => n >= 99.95 || Number.isInteger(n) ? n.toFixed(0) : n.toFixed(1);
const COSTS = [["sectors_load", "global loads", "sectors"], ["sectors_store", "global stores", "sectors"],
  ["wavefronts_load", "shared loads", "wavefronts"], ["wavefronts_store", "shared stores", "wavefronts"]];

/** Findings and counts of the inspector's JSON, whose objects have a type. */
export function inspected(objects, own) {
  const mine = objects.filter(o => o.file && ours(o.file, own));
  const findings = mine.filter(o => o.type === "finding").flatMap(o => {
    const times = o.times > 1 ? `, ${o.times.toLocaleString("en")} times` : "";
    const list = [{ line: o.line, kind: "finding", text: `${o.title}: ${o.detail}${times}. ${o.remedy || ""}`,
      step: { kernel: o.kernel, kind: o.kind } }];
    if (o.other_line && o.other_line !== o.line && ours(o.other_file || o.file, own))
      list.push({ line: o.other_line, kind: "finding", text: `${o.title}: the other access, see line ${o.line}` });
    return list;
  });
  const counts = new Map();
  for (const o of mine.filter(o => o.type === "line")) {
    const costs = COSTS.filter(([key]) => o[key] !== undefined);
    const lanes = o.active_lanes ?? 1, ratio = Math.max(1, ...costs.map(([key]) => o[key] / (o[`${key}_ideal`] || 1)));
    const heat = Math.max(Math.min(1, Math.log2(ratio) / 5), 1 - lanes);
    if (counts.has(o.line) && counts.get(o.line).heat >= heat) continue; // a line of several kernels, or a template: the worst one
    const short = costs.map(([key]) => `${number(o[key])}/${number(o[`${key}_ideal`])}`), share = `${Math.round(lanes * 100)} %`;
    counts.set(o.line, { line: o.line, heat, text: lanes < 0.995 ? [...short.slice(0, 1), share].join(" ") : short.slice(0, 2).join(" ") || share,
      title: `${o.kernel}: ${[`${share} of the lanes active`, ...costs.map(([key, what, unit]) =>
        `${what}: ${number(o[key])} ${unit} per request, at best ${number(o[`${key}_ideal`])}`)].join("; ")}` });
  }
  return { findings, counts: [...counts.values()] };
}
