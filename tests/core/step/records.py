# SPDX-License-Identifier: MIT
"""Records of ./ferry step (docs/dev/step_record.md) written by hand, each with what one part of the player has to show."""

ALL = 0xFFFFFFFF
LANE = {"a": [0, 1]}
POINTER = ["&in[0]"]


class Record:
    """Statements are found in the source by their text; steps are added in order."""

    def __init__(self, kernel, source, threads, end="complete"):
        self.text, self.statements, self.known = source, [], {}
        self.json = {
            "format": "ferry-step 1", "kernel": kernel, "grid": [2, 1, 1], "block": [threads, 1, 1], "at": [1, 0, 0], "launch": 0, "end": end,
            "files": [{"name": "test.cu", "text": source}], "functions": [], "skipped": [], "statements": self.statements,
            "variables": [], "arrays": [], "findings": [], "steps": [],
        }

    def function(self, name, parameters, kernel=False):
        begin = next(i for i, line in enumerate(self.text.split("\n"), 1) if f"{name}(" in line)
        end = next(i for i, line in enumerate(self.text.split("\n"), 1) if i > begin and line == "}")
        self.json["functions"].append({"name": name, "file": 0, "line": begin, "end": end, "kernel": kernel, "parameters": parameters})
        return len(self.json["functions"]) - 1

    def variable(self, f, name, kind, count=1, *more):
        self.json["variables"].append([f, name, kind, count, *more])
        return len(self.json["variables"]) - 1

    def array(self, name, elements, shared=0, dims=(), size=4, bank=0, at=0):
        self.json["arrays"].append({"s": shared, "name": name, "bytes": elements * size, "e": size, "k": "f",
                                    "d": [*(dims or [elements]), 0, 0][:3], "bank": bank, "at": at})
        return len(self.json["arrays"]) - 1

    def statement(self, text, kind="expression", f=0):
        if text not in self.known:
            at = self.text.index(text)
            line = self.text[:at].count("\n") + 1
            self.known[text] = len(self.statements) + 1
            self.statements.append({"id": len(self.statements) + 1, "f": f, "k": kind, "l": line, "e": line + text.count("\n"),
                                    "c": at - self.text.rfind("\n", 0, at) - 1, "n": len(text), "loops": []})
        return self.known[text]

    def step(self, warp, text, mask=ALL, kind="expression", f=0, k="s", **more):
        self.json["steps"].append({"k": k, "w": warp, "s": self.statement(text, kind, f), "m": mask, **more})

    def begins(self, warp, f, values=(), mask=ALL, **more):
        self.json["steps"].append({"k": "s", "w": warp, "s": 0, "n": f, "m": mask, "v": list(values), **more})

    def event(self, k, warp=-1, mask=0, text=""):
        self.json["steps"].append({"k": k, "w": warp, "s": 0, "m": mask, **({"t": text} if text else {})})

    def finding(self, kind, text, step, thread, lanes, other_step=-1, other=-1, other_lanes=0, array=-1, i=-1):
        self.json["findings"].append({"k": kind, "step": step, "thread": thread, "other_step": other_step, "other": other, "lanes": lanes,
                                      "other_lanes": other_lanes, "array": array, "i": i, "text": text})
        for at in {step, other_step} - {-1}:
            self.json["steps"][at].setdefault("f", []).append(len(self.json["findings"]) - 1)


def race():
    """Two warps without a barrier: warp 0 reads what warp 1 has not written yet."""
    r = Record("hasty", """// one line
__global__ void hasty(float *out, const float *in) {
  __shared__ float piece[64];
  int t = threadIdx.x; // <!-- <script> </script><img src="http://example.invalid/x"> & "quoted"
  piece[t] = in[t];
  out[t] = piece[63 - t];
}
""", 64)
    r.function("hasty", ["out", "in"], True)
    out, inp, t = (r.variable(0, n, k) for n, k in (("out", "p64"), ("in", "p64"), ("t", "i32")))
    piece, ins, outs = r.array("piece", 64, 1), r.array("in", 64), r.array("out", 64)
    for w in range(2):
        at = {"a": [w * 128, 4]}
        r.begins(w, 0, [[out, 0, ALL, ["&out[0]"]], [inp, 0, ALL, POINTER]])
        r.step(w, "int t = threadIdx.x;", kind="declaration", v=[[t, 0, ALL, {"a": [w * 32, 1]}]])
        r.step(w, "piece[t] = in[t];", a=[["r", ins, 4, ALL, at, {"a": [w * 32 + 0.5, 1]}], ["w", piece, 4, ALL, at, {"a": [w * 32 + 0.5, 1]}]])
        back = {"a": [(63 - w * 32) * 4, -4]}
        values = [None] if w == 0 else {"a": [31.5, -1]}
        r.step(w, "out[t] = piece[63 - t];", a=[["r", piece, 4, ALL, back, values], ["w", outs, 4, ALL, at, values]])
        r.event("e", w, ALL)
    r.finding("data race within a block", "thread 63 writes piece[63], thread 0 read it (step 3)", 7, 63, ALL, 3, 0, ALL, piece, 63)
    return r.json


def deadlock():
    """Some threads wait at one barrier, the others at another."""
    r = Record("half_way", """__global__ void half_way(float *out) {
  int t = threadIdx.x;
  if (t < 40)
    __syncthreads();
  else
    out[t] = 0;
  this_block().sync();
}
""", 64, "deadlock")
    r.function("half_way", ["out"], True)
    t, out = r.variable(0, "t", "i32"), r.array("out", 64)
    for w in range(2):
        r.begins(w, 0)
        r.step(w, "int t = threadIdx.x;", kind="declaration", v=[[t, 0, ALL, {"a": [w * 32, 1]}]])
        r.step(w, "if (t < 40)", kind="if")
        first = 0xFF if w else ALL
        r.step(w, "__syncthreads();", first, "barrier")
        if w:
            r.step(w, "out[t] = 0;", ALL ^ first, a=[["w", out, 4, ALL ^ first, {"a": [160, 4]}, [0]]])
            r.step(w, "this_block().sync();", ALL ^ first, "barrier")
    r.event("d", text="24 threads wait at line 7, 40 at line 4")
    r.finding("deadlock at a barrier", "thread 40 waits at line 7, thread 0 at line 4", len(r.json["steps"]) - 1, 40, 0xFFFFFF00)
    return r.json


def bounds():
    """A guard that is off by one: the last lane writes behind the array. A strided load beside it."""
    r = Record("guard", """__global__ void guard(float *out, const float *in, int n) {
  int i = threadIdx.x;
  if (i <= n)
    out[i] = 2 * in[i * 8];
}
""", 32)
    r.function("guard", ["out", "in", "n"], True)
    n, i = r.variable(0, "n", "i32"), r.variable(0, "i", "i32")
    out, inp = r.array("out", 20), r.array("in", 4096, at=64)
    r.begins(0, 0, [[n, 0, ALL, [20]]])
    r.step(0, "int i = threadIdx.x;", kind="declaration", v=[[i, 0, ALL, LANE]])
    r.step(0, "if (i <= n)", kind="if")
    some = (1 << 21) - 1
    r.step(0, "out[i] = 2 * in[i * 8];", some, a=[["r", inp, 4, some, {"a": [0, 32]}, [1.25]], ["w", out, 4, some, {"a": [0, 4]}, [2.5]]])
    r.event("e", 0, ALL)
    r.finding("out-of-bounds access", "thread 20 writes out[20], which has 20 elements", 3, 20, 1 << 20, array=out, i=20)
    return r.json


def warp():
    """A shuffle of half the lanes, a vote, a 32-way bank conflict, an atomic, and a write of two words a lane."""
    r = Record("exchange<float>", """template <typename T> __global__ void exchange(T *out) {
  __shared__ T tile[32][32];
  T x = threadIdx.x;
  x += __shfl_xor_sync(0xffff, x, 1);
  unsigned who = __ballot_sync(~0u, x > 4);
  tile[threadIdx.x][0] = x;
  atomicAdd(out, x);
  ((float2 *)tile)[threadIdx.x] = make_float2(x, 1);
}
""", 32)
    r.function("exchange", ["out"], True)
    x, who = r.variable(0, "x", "f32"), r.variable(0, "who", "u32")
    tile, out = r.array("tile", 1024, 1, (32, 32)), r.array("out", 1)
    half = 0xFFFF
    r.begins(0, 0)
    r.step(0, "T x = threadIdx.x;", kind="declaration", v=[[x, 0, ALL, LANE]])
    pairs = [lane ^ 1 for lane in range(16)]
    r.step(0, "x += __shfl_xor_sync(0xffff, x, 1);", half, met=[half, LANE, pairs], v=[[x, 0, half, [2 * (lane // 2) + 1 for lane in range(16) for _ in [0]]]])
    r.step(0, "unsigned who = __ballot_sync(~0u, x > 4);", kind="declaration", met=[ALL, [0, 0, 0, 0] + [1] * 28], v=[[who, 0, ALL, [0xFFFFFFF0]]])
    r.step(0, "tile[threadIdx.x][0] = x;", a=[["w", tile, 4, ALL, {"a": [0, 128]}, {"a": [1, 1]}]])
    r.step(0, "atomicAdd(out, x);", a=[["a", out, 4, ALL, [0], {"a": [1, 1]}, LANE]])
    r.step(0, "((float2 *)tile)[threadIdx.x] = make_float2(x, 1);", a=[["w", tile, 8, ALL, {"a": [0, 8]}, [[lane, 1] for lane in range(32)]]])
    r.event("e", 0, ALL)
    return r.json


def calls():
    """A call, a struct, a local array, a loop whose variable goes out of scope, polling, a function that is stepped over; the record ends early."""
    r = Record("outer", """__device__ float inner(float v) {
  float twice = v * 2;
  return twice;
}
__device__ void odd(int *p) {
  asm("...");
}
__global__ void outer(float *out, volatile int *flag) {
  struct { float re; int n; } z;
  z.re = threadIdx.x;
  float window[4];
  for (int k = 0; k < 2; k++)
    window[k] = k;
  z.re += inner(z.re);
  while (!*flag)
    odd(0);
  if (threadIdx.x < 8)
    return;
  out[0] = z.re;
}
""", 32, "limit")
    outer, inner = r.function("outer", ["out", "flag"], True), r.function("inner", ["v"])
    z = r.variable(outer, "z", "x", 1, [["re", "f32", 1], ["n", "i32", 1]])
    window, k = r.variable(outer, "window", "f32", 4), r.variable(outer, "k", "i32")
    big = r.variable(outer, "big", "u64")
    v, twice = r.variable(inner, "v", "f32"), r.variable(inner, "twice", "f32")
    r.json["skipped"].append({"name": "odd", "file": 0, "line": 5, "why": "it has inline assembly"})
    r.begins(0, outer)
    r.step(0, "z.re = threadIdx.x;", v=[[z, 0, ALL, [[lane, None] for lane in range(32)]]])
    r.step(0, "float window[4];", kind="declaration", v=[[window, 0, ALL, [[None] * 4]]])
    r.step(0, "for (int k = 0;", kind="for", v=[[k, 0, ALL, [0]]])
    r.step(0, "k < 2", kind="condition")
    r.step(0, "window[k] = k;", v=[[window, 0, ALL, [[0, None, None, None]]]])
    call = r.statement("z.re += inner(z.re);")
    r.begins(0, inner, [[v, 1, ALL, LANE]], c=[call])
    r.step(0, "float twice = v * 2;", kind="declaration", f=inner, c=[call], v=[[twice, 1, ALL, {"a": [0, 2]}]])
    r.step(0, "return twice;", kind="return", f=inner, c=[call])
    r.step(0, "z.re += inner(z.re);", k="r", v=[[z, 0, ALL, [[3 * lane, None] for lane in range(32)]]])
    r.step(0, "odd(0);", p=312)
    r.step(0, "if (threadIdx.x < 8)", kind="if")
    r.step(0, "return;", 0xFF, "return")
    r.event("e", 0, 0xFF)
    r.step(0, "out[0] = z.re;", ALL ^ 0xFF, v=[[big, 0, ALL ^ 0xFF, {"a": [2**64 - 100, 3]}]])
    r.begins(0, inner, [[v, 1, ALL ^ 0xFF, [7]]], ALL ^ 0xFF, c=[call])
    return r.json


def large(steps=20000, threads=1024):
    """As many steps as a record may have, over 1,024 words of shared memory, with a value of their own in each lane."""
    r = Record("large", """__global__ void large(float *out, const float *in) {
  __shared__ float tile[32][32];
  int t = threadIdx.x;
  for (int k = 0; k < 1000; k++)
    tile[k % 32][t % 32] = in[t * 17 % 4096];
}
""", threads, "limit")
    r.function("large", ["out", "in"], True)
    t, k = r.variable(0, "t", "i32"), r.variable(0, "k", "i32")
    tile, inp = r.array("tile", 1024, 1, (32, 32)), r.array("in", 4096)
    warps = threads // 32
    for w in range(warps):
        r.step(w, "int t = threadIdx.x;", kind="declaration", v=[[t, 0, ALL, {"a": [32 * w, 1]}]])
    n = 0
    while len(r.json["steps"]) < steps:
        n += 1
        row, w = n % 32, n % warps
        r.step(w, "k++", kind="step", v=[[k, 0, ALL, [n]]])
        places = [(32 * w + lane) * 17 % 4096 * 4 for lane in range(32)]
        values = [((n * 37 + lane * 101) % 9973) / 8 for lane in range(32)]
        r.step(w, "tile[k % 32][t % 32] = in[t * 17 % 4096];", a=[["r", inp, 4, ALL, places, values], ["w", tile, 4, ALL, {"a": [row * 128, 4]}, values]])
    return r.json
