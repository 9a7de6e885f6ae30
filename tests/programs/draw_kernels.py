#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""draw_kernels.py SEED COUNT [warps | places] [names]: a CUDA program of random kernels with barriers, whose results do not depend on the threads' order.

Between two barriers a kernel reads one shared array anywhere and writes the other at the thread's own place. Loops and ifs round
barriers depend on what is the same for all threads, ifs round warp functions on the warp, too; everything else depends on the thread.
Some calls are of functions that have barriers and warp functions themselves. `places`: kernels without barriers that use a thread's
place in its row of the grid, and some of them its block, too. `names`: the functions have names that begin or are like those of the
device's library, and one of them looks at its thread."""
import random
import re
import sys

random.seed(int(sys.argv[1]))
count = int(sys.argv[2])
warps = len(sys.argv) > 3 and sys.argv[3] == "warps"
places = len(sys.argv) > 3 and sys.argv[3] == "places"
names = sys.argv[-1] == "names"
library = {"mix": "make_mix", "warp_sum": "atomicWarpSum", "swapped": "saturate", "mixed": "erfinv", "block_sum": "atomic_block_sum",
           "before": "make_before"}


def put(text):
    if names:
        for own, other in library.items():
            text = re.sub(rf"\b{own}\b", other, text)
    print(text)



class Kernel:
    def __init__(self, number):
        self.number, self.lines, self.depth, self.names = number, [], 1, 0
        self.uniform = [["n", "m", "gridDim.x", "blockIdx.x"]]  # readable, by scope
        self.assignable = [[]]
        self.thread = [["tid", "in[place]"]]
        self.changed = [[]]
        self.read, self.write = "a", "b"
        self.budget = random.randint(6, 16)

    def put(self, text):
        self.lines.append("  " * self.depth + text)

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def all(self, lists):
        return [name for scope in lists for name in scope]

    def same(self, depth=2):  # an expression that is the same for all threads
        if depth == 0 or random.random() < 0.3:
            return random.choice(self.all(self.uniform) + [str(random.randint(0, 9)), "STEP", "(int)blockDim.y"])
        left, right = self.same(depth - 1), self.same(depth - 1)
        return random.choice([f"({left} + {right})", f"({left} * {right})", f"({left} ^ {right})", f"({left} >> 1)",
                              f"(({left} & 3) > 1 ? {right} : {left})", f"min((int){left}, (int){right})"])

    def own(self, depth=3):  # an expression that differs from thread to thread
        if depth == 0 or random.random() < 0.2:
            return random.choice(self.all(self.thread) + self.all(self.thread) + self.all(self.uniform) + ["(+threadIdx.x)", "7u", "sizeof(int)"]).replace("(+threadIdx.x)", "threadIdx.x")
        left, right = self.own(depth - 1), self.own(depth - 1)
        return random.choice([f"({left} + {right})", f"({left} - {right})", f"({left} * {right})", f"({left} ^ {right})",
                              f"mix({left}, {right})", f"{self.read}[({left}) % 256u]", f"(({left} & 1) ? {right} : {left})",
                              f"TWICE({left})", f"in[({left}) % 1024u]"])

    def scope(self):
        for stack in (self.uniform, self.assignable, self.thread, self.changed):
            stack.append([])
        self.depth += 1

    def leave(self):
        for stack in (self.uniform, self.assignable, self.thread, self.changed):
            stack.pop()
        self.depth -= 1

    def declare(self):
        kind = random.random()
        if kind < 0.2:
            name = self.name("u")
            self.put(f"{random.choice(['int', 'const int', 'unsigned', 'auto'])} {name} = {self.same()};")
            self.uniform[-1].append(name)
        elif kind < 0.35:
            name = self.name("w")
            self.put(f"int {name} = {self.same()};")
            self.uniform[-1].append(name)
            self.assignable[-1].append(name)
        elif kind < 0.55:
            first, second = self.name("p"), self.name("p")
            self.put(f"int {first} = threadIdx.x + {self.same(1)}, {second} = {first} * 3 + {random.choice(['n', 'tid'])};")
            self.thread[-1] += [first, second]
        elif kind < 0.7:
            name = self.name("q")
            self.put(f"unsigned {name}[3] = {{{self.own(1)}, {self.own(1)}}};" if random.random() < 0.5 else
                     f"unsigned {name}[2][2]; {name}[0][0] = {name}[0][1] = {name}[1][0] = {name}[1][1] = {self.own(1)};")
            element = f"{name}[1]" if self.lines[-1].count("[") and "[3]" in self.lines[-1] else f"{name}[1][0]"
            self.thread[-1].append(element)
            self.changed[-1].append(element)
        elif kind < 0.8:
            name = self.name("c")
            self.put(f"const unsigned {name} = {self.own()};")
            self.thread[-1].append(name)
        elif kind < 0.85:
            name = self.name("f")
            self.put(f"float {name} = (float)({self.own(1)} & 63u);")
            self.thread[-1].append(f"(unsigned){name}")
        else:
            first, second = self.name("v"), self.name("v")
            self.put(f"unsigned {first} = {self.own()}, {second}; {second} = {first} ^ 5u;")
            self.thread[-1] += [first, second]
            self.changed[-1] += [first, second]

    def work(self, leaf=0):  # what a thread does by itself
        kind = random.random()
        targets = self.all(self.changed)
        if kind < 0.35 and targets:
            self.put(f"{random.choice(targets)} {random.choice(['=', '+=', '^=', '-='])} {self.own()};")
        elif kind < 0.55:
            self.put(f"{self.write}[tid] = {self.own()};")
        elif kind < 0.65:
            self.put(f"atomicAdd(&out[total + {random.randint(0, 3)}], {self.own(1)} & 255u);")
        elif kind < 0.8 and leaf < 2:
            self.put(f"if ({self.own(1)} % 3u == 1u) {{")
            self.scope()
            self.work(leaf + 1)
            self.leave()
            self.put("}" if random.random() < 0.6 else f"}} else if (tid > 5) {self.write}[tid] = {self.own(1)};")
        elif leaf < 2 and targets:
            name = random.choice(["i", "j"])
            self.put(f"for (int {name} = 0; {name} < {random.randint(1, 4)}; {name}++) {{")
            self.scope()
            self.put(f"if (({name} ^ tid) % 4 == 3) {random.choice(['continue', 'break'])};")
            self.put(f"{random.choice(targets)} += {self.own(1)} + {name};")
            self.leave()
            self.put("}")
        else:
            self.put(f"out[place * 4 + {random.randint(0, 3)}] ^= {self.own()};")

    def meet(self):  # lanes of a warp, or a block's threads in a function
        name = self.name("s")
        mask = random.choice(["ALL", "0xffffffffu", "~0u", "-1"])
        shuffle = random.choice([f"__shfl_sync({mask}, {self.own(1)}, {self.same(1)} & 31)",
                                 f"__shfl_up_sync({mask}, {self.own(1)}, {random.randint(0, 31)})",
                                 f"__shfl_down_sync({mask}, {self.own(1)}, {random.randint(0, 31)}, {random.choice([8, 16, 32])})",
                                 f"__shfl_xor_sync({mask}, {self.own(1)}, {self.own(0)} & 7)",
                                 f"__shfl_xor_sync({mask}, (unsigned long long)({self.own(1)}), 1, 16)",
                                 f"__ballot_sync({mask}, {self.own(1)} & 1)", f"__any_sync({mask}, {self.own(1)} % 9u == 1u)",
                                 f"__all_sync({mask}, {self.own(1)} % 9u != 1u)", "__activemask()"])
        kind = random.random()
        targets = self.all(self.changed)
        if kind < 0.35:
            self.put(f"unsigned {name} = {self.own(1)} + {shuffle};")
            self.thread[-1].append(name)
            self.changed[-1].append(name)
        elif kind < 0.5 and targets:
            self.put(f"{random.choice(targets)} {random.choice(['=', '+=', '^='])} {self.own(1)} ^ {shuffle};")
        elif kind < 0.6 and targets:
            count = random.choice(["16", "8 >> (n & 1)"])
            self.put(f"for (int {name} = {count}; {name} > 0; {name} /= 2) {{ unsigned x = {random.choice(targets)};")
            self.put(f"  x += __shfl_down_sync({mask}, x, {name}); {random.choice(targets)} ^= x; }}")
        elif kind < 0.68:
            self.put(f"{self.write}[tid] = {self.own(1)}; __syncwarp();")
            self.put(f"unsigned {name} = {self.write}[tid ^ {random.randint(1, 31)}]; __syncwarp();")
            self.thread[-1].append(name)
        elif kind < 0.82:
            call = random.choice([f"warp_sum({self.own(1)})", f"mixed<{random.choice([4, 16])}>({self.own(1)}, {random.choice(self.all(self.thread))})",
                                  f"swapped(ALL, {self.own(1)}, {self.same(1)} & 15)"])
            self.put(f"unsigned {name} = {self.own(1)} ^ {call};")
            self.thread[-1].append(name)
        else:
            condition = random.choice(["tid / 32 == 0", "tid < 64", "tid >= 32 && n > 3", "(tid >> 5) % 2 == (n & 1)"])
            self.put(f"if ({condition}) {{")
            self.scope()
            for _ in range(random.randint(1, 2)):
                self.work()
            self.put(f"unsigned {name} = {shuffle};")
            self.put(f"{self.write}[tid] = {name} + {self.own(1)};")
            if random.random() < 0.3:
                self.put("__syncwarp();")
            self.leave()
            self.put("}")

    def meet_all(self):  # the block's threads, in a function or a vote
        name = self.name("z")
        kind = random.random()
        if kind < 0.4:
            self.put(f"unsigned {name} = block_sum({self.own(1)}, tid);")
            self.thread[-1].append(name)
        elif kind < 0.7:
            rest = self.name("z")
            self.put(f"unsigned {rest}; unsigned {name} = {self.own(1)} + before({self.own(1)}, &{rest}, tid);")
            self.thread[-1] += [name, rest]
        else:
            self.put(f"int {name} = {random.choice(['__syncthreads_count', '__syncthreads_or', '__syncthreads_and'])}({self.own(1)} % 3u == 0);")
            self.uniform[-1].append(name)
            if random.random() < 0.5:
                self.put(f"if ({name} % 2 == 0) {{ {self.write}[tid] ^= 5u; __syncthreads(); }}")

    def barrier(self):
        self.put("__syncthreads();")
        if random.random() < 0.8:
            self.read, self.write = self.write, self.read

    def part(self, level):
        for _ in range(random.randint(1, 4)):
            if random.random() < 0.35:
                self.declare()
            elif random.random() < 0.25 and self.all(self.assignable):
                name = random.choice(self.all(self.assignable))
                self.put(random.choice([f"{name} += {self.same(1)};", f"{name} = {self.same(1)} & 1023;", f"{name}++;", f"{name} >>= 1;"]))
            elif warps and random.random() < 0.45:
                self.meet()
            elif warps and random.random() < 0.2:
                self.barrier()
                self.meet_all()
                self.barrier()
            else:
                self.work()
        if level < 3 and self.budget > 0 and random.random() < 0.7:
            self.together(level)
        self.barrier()

    def inside(self, level, begin=""):
        self.scope()
        self.barrier()
        if begin:
            self.put(begin)
        for _ in range(random.randint(1, 2)):
            self.part(level + 1)
        if level > 0 and random.random() < 0.2:
            self.put(f"if ({self.same(1)} % 5 == 2) {{ __syncthreads(); {random.choice(['break', 'continue'])}; }}" if self.loops else ";")
        self.leave()

    loops = 0

    def together(self, level):  # an if or a loop with barriers in it
        self.budget -= 3
        kind = random.random()
        if kind < 0.35:
            self.put(f"if ({self.same()} % 2 == {random.randint(0, 1)}) {{")
            self.inside(level)
            if random.random() < 0.5:
                self.put("} else {")
                self.inside(level)
            self.put("}")
            return
        self.loops += 1
        name = self.name("t")
        if kind < 0.75:
            self.put(f"for (int {name} = {random.choice(['0', 'n & 1'])}; {name} < {random.randint(1, 4)}; {name} += {random.choice(['1', 'STEP', '2'])}) {{")
            self.uniform.append([name])
            self.inside(level)
            self.uniform.pop()
            self.put("}")
        else:
            self.put(f"int {name} = {random.randint(1, 3)};")
            loop = random.random() < 0.5
            self.put(f"while ({name} > 0) {{" if loop else "do {")
            self.uniform.append([name])
            self.inside(level, f"{name}--;")
            self.uniform.pop()
            self.put("}" if loop else f"}} while ({name} > 0);")
        self.loops -= 1

    def text(self):
        own = random.random() < 0.3
        self.put("__shared__ unsigned a[256], b[256];")
        self.put("const int tid = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);")
        self.put("const int place = blockIdx.x * (blockDim.x * blockDim.y * blockDim.z) + tid, total = gridDim.x * 1024;")
        self.put("a[tid] = in[place]; b[tid] = tid * 3;")
        self.put("for (int i = blockDim.x * blockDim.y * blockDim.z + tid; i < 256; i += blockDim.x * blockDim.y * blockDim.z) a[i] = b[i] = i;")
        if own:
            self.put("in += tid & 7;")
        self.barrier()
        for _ in range(random.randint(2, 4)):
            self.part(0)
        if random.random() < 0.3:
            self.put("if (threadIdx.x > 2 && threadIdx.y < 5 && blockIdx.x * blockDim.x + threadIdx.x < 150) b[tid] ^= 9u;")
            self.barrier()
        if random.random() < 0.5:
            self.put(f"if ({self.own(1)} % 4u == 0u) return;")
        self.put(f"out[place * 4] += {' ^ '.join(set(self.all(self.thread) + ['a[tid]', 'b[tid]']))};")
        return f"__global__ void k{self.number}(unsigned *out, const unsigned *in, int n, int m) {{\n" + "\n".join(self.lines) + "\n}\n"


class Places:
    def __init__(self, number):
        self.number, self.values = number, ["i", "r", "n", "m", "in[i]", "gridDim.x", "7u"]

    def value(self, depth=3):
        if depth == 0 or random.random() < 0.2:
            return random.choice(self.values)
        left, right = self.value(depth - 1), self.value(depth - 1)
        return random.choice([f"({left} + {right})", f"({left} * {right})", f"mix({left}, {right})", f"({left} ^ {right})",
                              f"in[({left}) % 1024u]", f"(({left} & 1) ? {right} : {left})"])

    def work(self, depth=0):
        kind = random.random()
        if kind < 0.4 or depth > 2:
            return f"x {random.choice(['=', '+=', '^='])} {self.value()};"
        if kind < 0.6:
            return f"out[at] {random.choice(['=', '+=', '^='])} {self.value()};"
        if kind < 0.8:
            return f"if ({random.choice(['i', 'r', 'x'])} % {random.randint(2, 4)} == 1) {{ {self.work(depth + 1)} {self.work(depth + 1)} }}"
        name = f"k{depth}"
        return f"for (int {name} = 0; {name} < {random.choice(['3', 'm', 'n & 3'])}; {name}++) {{ {self.work(depth + 1)} x += {name}; }}"

    def text(self):
        place = random.choice(["blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x + blockIdx.x * blockDim.x",
                               "blockDim.x * blockIdx.x + threadIdx.x", "(blockIdx.x * blockDim.x) + threadIdx.x",
                               "(int)threadIdx.x + (int)(blockIdx.x * blockDim.x)", "blockIdx.x * 16 + threadIdx.x",
                               "threadIdx.x + 16 * blockIdx.x"])
        guard = random.choice(["", f"if (i >= {random.choice(['n * 20', '200', 'm'])}) return;",
                               "if (i < 1 || r > 2 || i > n * 30) return;", "if (i == 0) return; if (i >= 70 + n || r == m % 3) return;",
                               "if (i > m && i < 40 * n && r < 2)"])
        apart = random.choice(["blockIdx.x", "threadIdx.x", "in[threadIdx.x]", "(i - threadIdx.x)"])
        spoiled = random.random() < 0.25
        self.values += ["x"] + ([apart] if spoiled else [])
        lines = [f"const int i = {place}, r = blockIdx.y * blockDim.y + threadIdx.y;", guard, "{",
                 "const int at = r * (int)(gridDim.x * blockDim.x) + i;", f"unsigned x = {apart if spoiled else 'i'};"]
        lines += [self.work() for _ in range(random.randint(2, 6))] + ["out[at] ^= x;", "}"]
        return (f"__global__ void k{self.number}(unsigned *out, const unsigned *in, int n, int m) {{\n  " + "\n  ".join(lines) +
                "\n}\n")


put("""#include <cuda_runtime.h>
#include <stdio.h>
#define TWICE(x) ((x) * 2u)
enum { STEP = 1, BLOCKS = 3, COUNT = BLOCKS * 1024 + 4 };
__device__ unsigned mix(unsigned x, unsigned y) {
  x = x * 2654435761u ^ y""" + (" ^ threadIdx.x" if names else "") + """;
  return x ^ x >> 15;
}
#define ALL 0xffffffffu
__device__ unsigned warp_sum(unsigned x) {
  for (int apart = 16; apart > 0; apart >>= 1)
    x += __shfl_xor_sync(ALL, x, apart);
  return x;
}
__device__ unsigned swapped(unsigned mask, unsigned x, int bits) {
  const unsigned other = __shfl_xor_sync(mask, x, bits);
  __syncwarp();
  return x * 3u ^ other;
}
template <int WIDTH> __device__ unsigned mixed(unsigned x, unsigned y) {
  unsigned sum = 0;
  for (int i = 0; i < 2; i++) {
    sum += __shfl_down_sync(ALL, x + i, 1, WIDTH);
    x ^= y;
  }
  return mix(sum, x);
}
__device__ unsigned block_sum(unsigned x, int tid) {
  __shared__ unsigned of_warp[32];
  const int count = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
  x = warp_sum(tid < 200 ? x : 7u);
  if (tid % 32 == 0)
    of_warp[tid / 32] = x;
  __syncthreads();
  if (tid < 32)
    x += warp_sum(tid < count ? of_warp[tid] : 0);
  __syncthreads();
  return x;
}
__device__ unsigned before(unsigned x, unsigned *rest, int tid) {
  unsigned all = block_sum(x, tid);
  *rest = all - x;
  const unsigned other = block_sum(x ^ all, tid);
  return other + *rest;
}
""")
for number in range(count):
    put((Places if places else Kernel)(number).text())
print("""static unsigned *out, *in;
static void tell(const char *name) {
  unsigned long long sum = 0;
  if (cudaDeviceSynchronize() != cudaSuccess)
    printf("%s failed\\n", name);
  for (int i = 0; i < COUNT; i++)
    sum = sum * 6364136223846793005ull + out[i];
  printf("%s %016llx\\n", name, sum);
}
int main() {
  const dim3 shapes[] = {""" + ("dim3(16), dim3(30), dim3(16, 2), dim3(7, 3), dim3(12), dim3(1)" if places else
                           "dim3(64), dim3(256), dim3(33), dim3(16, 8), dim3(5, 3, 4), dim3(1)") + """};
  cudaMallocManaged(&out, COUNT * 4);
  cudaMallocManaged(&in, 4096 * 4);
  for (int i = 0; i < 4096; i++)
    in[i] = i * 2654435761u >> 7;
  for (int s = 0; s < 6; s++) {
    memset(out, 0, COUNT * 4);""")
for number in range(count):
    print(f'    k{number}<<<{"dim3(40, 2)" if places else "BLOCKS"}, shapes[s]>>>(out, in, s + 3, 7 - s); tell("k{number}");')
print("  }\n}")
