#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cu2cpp: what it rewrites, what it leaves alone, and how it refuses.
# run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
set -u
cu2cpp=${FERRY_BUILD:-build}/cu2cpp
[ -x "$cu2cpp" ] || cu2cpp=build/cu2cpp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

check() { # NAME GOT WANT
  if [ "$2" = "$3" ]; then
    echo "ok $1"
  else
    printf 'not ok %s\n  got  %s\n  want %s\n' "$1" "$2" "$3"
    failed=1
  fi
}

transform() { # the transform of stdin, without the #line it begins with
  cat >"$work/in.cu"
  "$cu2cpp" "$work/in.cu" "$work/out.cpp" && tail -n +2 "$work/out.cpp"
}

launch() { # what a launch of a plain kernel name becomes
  printf '::cudasim::launch(%s, [=](auto... cudasim_p) { %s(cudasim_p...); }, "%s", %s)%s' "$1" "$1" "$1" "$2" "$3"
}

judged() { # the same, to be judged
  cat >"$work/in.cu"
  "$cu2cpp" --judge "$work/in.cu" "$work/out.cpp" 2>&1 && tail -n +2 "$work/out.cpp"
}

guarded() { # a shared array with guards: TYPE NAME DIMENSIONS
  printf 'typedef %s cudasim_t_%s %s; __shared__ ::cudasim::guarded<cudasim_t_%s> cudasim_of_%s; ' "$1" "$2" "$3" "$2" "$2"
  printf '[[maybe_unused]] auto &%s = cudasim_of_%s.of("%s")' "$2" "$2" "$2"
}

inspected() { # whether a launch, to be inspected, says that nobody asks for the kernel's address: 1 or 0
  cat >"$work/in.cu"
  "$cu2cpp" --gcc "$work/in.cu" "$work/out.cpp" 2>&1 && grep -c CUDASIM_ONLY_LAUNCHED "$work/out.cpp"
}

kernel='__global__ void work(int *x) {} // work'
check 'a kernel that is only launched' "$(echo "$kernel
void run(int *x) { work<<<1, 2>>>(x); /* work */ work <<<3, 4>>>(x); puts(\"work\"); workers(); }" | inspected)" 1
check 'a template that is only launched' "$(echo "template <int N> $kernel
void run(int *x) { work<4><<<1, 2>>>(x); }" | inspected)" 1
check 'a kernel whose address is taken' "$(echo "$kernel
void run(int *x) { cudaFuncSetAttribute(work, A, 1); work<<<1, 2>>>(x); }" | inspected)" 0
check 'a kernel that is declared before' "$(echo "__global__ void work(int *x);
$kernel
void run(int *x) { work<<<1, 2>>>(x); }" | inspected)" 0
check 'two kernels of one name' "$(echo "$kernel
__global__ void work(float *x) {}
void run(int *x) { work<<<1, 2>>>(x); }" | inspected)" 0
check 'a kernel as an argument of a macro' "$(echo "#define RUN(k, x) k<<<1, 2>>>(x)
$kernel
void run(int *x) { RUN(work, x); }" | inspected)" 0

marks() { # how many statements may be calls of kernels without <<<>>>
  cat >"$work/in.cu"
  "$cu2cpp" "$work/in.cu" "$work/out.cpp" 2>&1 && grep -c 'diagnostic error' "$work/out.cpp"
}
for text in 'work(x);' 'return work(x);' '(void)work(x);' 'if (x) work(x); else f();' '::work(x);' 'do work(x); while (0);'; do
  check "may call a kernel: $text" "$(printf '%s\n%s\n' "$kernel" "void f(int *x) { $text }" | marks)" 1
done
for text in 'void work(int);' 'f(work);' 'work<<<1, 1>>>(x);' 'a.work(x);' 'x = work;' 'int work(3);' 'auto f = &work; f(x);' '// work(x);'; do
  check "calls no kernel: $text" "$(printf '%s\n%s\n' "$kernel" "void f(int *x) { $text }" | marks)" 0
done
check 'calls no kernel: a macro' "$(echo "$kernel
#define work(x) work<<<1, 2>>>(x)
void f(int *x) { work(x); }" | marks)" 0
check 'calls no kernel: a constructor' "$(echo "struct work { work(int x); };
namespace n { $kernel
}" | marks)" 0

check 'shared arrays, judged' "$(echo '__shared__ float a[4][T + 1], b;' | judged | tr -s ' ')" \
  "$(guarded float a '[4][T + 1]'); $(guarded float b '' | tr -s ' ');"
check 'shared arrays, not judged' "$(echo '__shared__ float a[4];' | transform)" '__shared__ float a[4];'
check 'a function that is no kernel' "$(echo 'void k(int n) { } void f() { k<<<1, 1>>>(3); }' | judged | grep -c 'not marked __global__')" 1
check 'a kernel as a void pointer' \
  "$(echo '__global__ void k() { } void *p = (void *)k, *q = (void *)x;' | transform)" \
  '__global__ void k() { } void *p = ::cudasim::kernel_pointer(k, "k"), *q = (void *)x;'
check 'a launch' "$(echo 'add<<<n / 256, 256>>>(a, b);' | transform)" "$(launch add 'n / 256, 256' '(a, b);')"
check 'a template' "$(echo 'if (x) mul<16, T><<<g, b, 0, s>>>(a);' | transform)" \
  "if (x) $(launch 'mul<16, T>' 'g, b, 0, s' '(a);')"
check 'a namespace' "$(echo 'ns::k <<<1, 2>>>();' | transform)" "$(launch ns::k '1, 2' '();')"
check 'a value' "$(echo 'table[i].f<<<1, 2>>>(x);' | transform)" '::cudasim::launch_pointer(table[i].f, "table[i].f", 1, 2)(x);'
check 'shifts and brackets in a configuration' "$(echo 'k<<<dim3(n >> 2, (m >>> 1)), f("<<<", 1)>>>();' | transform)" \
  "$(launch k 'dim3(n >> 2, (m >>> 1)), f("<<<", 1)' '();')"
check 'two launches' "$(echo 'a<<<1, 1>>>(); b<<<2, 2>>>();' | transform)" "$(launch a '1, 1' '();') $(launch b '2, 2' '();')"

# As Visual Studio's formatter writes them.
check 'signs apart' "$(echo 'k << <1, 2 >> >(x); k <<<1, 2 >> > (x);' | transform | tr -s ' ')" "$(launch k '1, 2 ' ' (x);') $(launch k '1, 2 ' ' (x);')"
check 'signs on two lines' "$(printf 'k <<\n<1, 2 >>\n> (x);' | transform | tr '\n' '|')" "$(launch k '|1, 2 ' '| (x);')"
check 'signs apart round shifts' "$(echo 't<8> << < (a << b) >> 3, n >> 2 >> > (x << 1);' | transform | tr -s ' ')" \
  "$(launch 't<8>' '(a << b) >> 3, n >> 2 ' ' (x << 1);')"

check 'shared memory' "$(echo 'extern __shared__ float part[];' | transform)" 'float *part = (float *)cudasim_dynamic_shared();'
check 'shared memory, the type first' "$(echo 'extern float __shared__ part[];' | transform)" 'float  *part = (float  *)cudasim_dynamic_shared();'
check 'shared memory of two dimensions' "$(echo 'extern __shared__ float tile[][33];' | transform)" \
  'float (*tile)[33] = (float (*)[33])cudasim_dynamic_shared();'
unrolled() {
  cat >"$work/in.cu"
  "$cu2cpp" --gcc --unroll "$work/in.cu" "$work/out.cpp" && tail -n +2 "$work/out.cpp"
}
check 'a loop without a pragma, to be unrolled' "$(echo 'x; for (int i = 0; i < 3; i++) f(i);' | unrolled)" \
  'x; _Pragma("GCC unroll 64") for (int i = 0; i < 3; i++) f(i);'
check 'a loop that has one' "$(printf '{\n#pragma unroll 2\nfor (;;) f();' | unrolled)" "$(printf '{\n#pragma GCC unroll 2\nfor (;;) f();')"
check 'a loop that has one on a condition' "$(printf '{\n#if A\n#pragma unroll 2\n#endif\n for (;;) f();' | unrolled)" \
  "$(printf '{\n#if A\n#pragma GCC unroll 2\n#else\n#pragma GCC unroll 64\n#endif\n#line 5\n for (;;) f();')"
check 'a loop that is no statement of a block' "$(echo '{ if (x) for (;;) f();' | unrolled)" '{ if (x) for (;;) f();'
check 'a parameter in shared memory' "$(echo 'void f(__shared__ float *p, const volatile __shared__ int *q, float __shared__ *r);' | transform)" \
  'void f( float *p, const volatile  int *q, float  *r);'
check 'an array of a lambda in shared memory' "$(echo 'run([=] { __shared__ T a[4]; }, b<c, d> __shared__ e);' | transform)" \
  'run([=] { __shared__ T a[4]; }, b<c, d> __shared__ e);'
check 'aligned shared memory' "$(echo 'extern __shared__ __align__(16) unsigned char raw[ ];' | transform)" \
  'unsigned char *raw = (unsigned char *)cudasim_dynamic_shared();'
check 'other externs' "$(echo 'extern "C" int f(void); extern int shared[];' | transform)" 'extern "C" int f(void); extern int shared[];'

check 'coordinates' "$(echo 'f(a>threadIdx.x, threadIdx.y==0);' | transform)" 'f(a>(+threadIdx.x), (+threadIdx.y)==0);'

for same in 'p.threadIdx.x, q->threadIdx.y, my_threadIdx.x, threadIdx.xy' 'threadIdx.x = 1;' 'assert(threadIdx.x < 32);' \
  'uint3 t = threadIdx;' '// k<<<1, 1>>>();' '/* k<<<1, 1>>>(); */ x' 'const char *s = "k<<<1, 1>>>()\" extern __shared__";' \
  "char c = '\"'; int i = 1'000;" 'auto r = R"x(k<<<1, 1>>>() )" )x";' 'auto r = u8R"(" k<<<1, 1>>>() )";' \
  "auto c = u8'\"'; const char *s = \"k<<<1, 1>>>()\";" "case'\"': f(\"k<<<1, 1>>>()\");" "int i = 0xf'f'f'0; char c = '\"';" 'a << b >> c;' 'a << b < c >> d;' \
  'x = a < b >> c > (d);' 'operator<< <char>(out, c);' '// k << <1, 1 >> > ();' 'f(a << b, c >> d > (e));'; do
  check "left alone: $same" "$(printf '%s\n' "$same" | transform)" "$same"
done

printf 'a\nb\n' >"$work/in.cu"
"$cu2cpp" "$work/in.cu" "$work/out.cpp"
check 'the first line' "$(head -n 1 "$work/out.cpp")" "#line 1 \"$work/in.cu\""
check 'line breaks in a launch' "$(printf 'k<<<1,\n2>>>(\nx);\n' | transform | wc -l | tr -d ' ')" 3

# --split, on a text that is not preprocessed: what it says of kernel k.
told() {
  { printf '#define SYNC __syncthreads()\n#define EMPTY(x)\n#define MORE n\n#define LEAVE return\n'; cat; } >"$work/in.cu"
  CU2CPP_TELL=1 "$cu2cpp" --split "$work/in.cu" "$work/out.cpp" 2>&1 | sed 's/^[0-9]*: //'
}
kernel() { # BODY
  echo "__global__ void k(float *x, int n) { $1 }" | told
}
check 'split: a barrier' "$(kernel 'x[n] = 1; __syncthreads(); x[n]++;')" 'k: split'
check 'split: a barrier in a raw string' "$(kernel 'const char *s = u8R"(" __syncthreads(); /* )"; x[n] = *s; __syncthreads(); x[n]++;')" 'k: split'
check 'split: its second version' "$(grep -c 'if (::cudasim::whole_block(' "$work/out.cpp")" 1
check 'split: no barrier' "$(kernel 'x[n] = 1;')" 'k: no barrier'
check 'split: a barrier in a macro' "$(kernel 'x[n] = 1; SYNC; __syncthreads();' | cut -d: -f1-2)" \
  'k: a word that waits, or a macro that does more than compute'
check 'split: a barrier behind a macro without a semicolon' "$(kernel '__syncthreads(); EMPTY(x) __syncthreads();')" \
  'k: a barrier or a jump that is no statement of its own'
check 'split: a jump behind a macro without a semicolon' "$(kernel 'for (int i = 0; i < 2; i++) { __syncthreads(); EMPTY(x) break; }')" \
  'k: a barrier or a jump that is no statement of its own'
check 'split: a return in a macro' "$(kernel 'if (x[0] > 0) LEAVE; __syncthreads();' | cut -d: -f1-2)" \
  'k: a word that waits, or a macro that does more than compute'
check 'split: a macro that names a variable' "$(kernel 'x[0] = MORE; __syncthreads();' | cut -d: -f1-2)" \
  "k: a macro that names a variable of the kernel's"
check 'split: an unknown file' "$({ echo '#include "none.h"'; echo '__global__ void k() { __syncthreads(); }'; } | told)" \
  'k: an included file that cannot be found'
check 'split: a function nobody knows' "$(kernel 'x[0] = other(n); __syncthreads();')" 'k: a call of what may wait: other'
own() { # DECLARATION BODY: the same, with a declaration of the program's own before the kernel
  { echo "$1"; echo "__global__ void k(float *x, int n) { $2 }"; } | told
}
check 'split: a macro by the name of a function' "$(own '__device__ int table[4];
#define umin(a, b) table[a]' 'for (int i = umin(1, 2); i < n; i++) __syncthreads();')" \
  'k: a condition before a barrier that may differ from thread to thread: i'
check 'split: a function by the name of another' "$(own '__device__ int umin(int a, int b) { return threadIdx.x; }' \
  'for (int i = umin(1, 2); i < n; i++) __syncthreads();')" \
  'k: a condition before a barrier that may differ from thread to thread: i'
check 'split: a function of another file by that name' "$(own '__device__ float saturate(float x);' 'x[n] = saturate(x[0]); __syncthreads();')" \
  'k: a call of what may wait: saturate'
check 'split: the device'"'s own function" "$(kernel 'for (int i = umin(1, 2); i < n; i++) __syncthreads();')" 'k: split'
check 'split: a type of the program by the name of another' "$(own 'struct float3 { float x; float3(int n); };' \
  'float3 a = float3(n); __syncthreads(); x[n] = a.x;' | cut -d: -f1-2)" 'k: a call of what may wait'
check 'split: a type that is another'"'s" "$(own 'typedef unsigned int uint;' 'uint a = n; __syncthreads(); x[n] = a;')" 'k: split'
check 'split: a warp function of the program' "$(own 'struct V { float x; }; __device__ float __shfl_down_sync(unsigned m, V v, int d) { return v.x; }' \
  'V v = {x[n]}; x[n] = __shfl_down_sync(~0u, v, 1); __syncthreads();' | cut -d: -f1-2)" 'k: a word that waits, or a macro that does more than compute'
check 'split: functions of one name that differ in their types' "$(own '__device__ float f(float x) { __syncthreads(); return x; }
__device__ float f(int x);' 'x[n] = f(n);')" 'k: a call of what may wait: f'
check 'split: one function that is declared twice' "$(own '__device__ float f(float); __device__ float f(float x);
__device__ float f(float y) { __syncthreads(); return y; }' 'x[n] = f(n);')" 'k: split'
check 'split: template arguments that have arguments' "$(own 'template <class A, class B> struct Two { A a; B b; };
template <class P, int N> __device__ float f(float x) { __syncthreads(); P p; return N; }' 'x[n] = f<Two<int, Two<int, int>>, 4>(x[0]);')" 'k: split'
calls=$(for i in $(seq 2 60); do
  echo "__device__ int f$i(int x) { return f$((i - 1))(x) + f$((i - 1))(x + 1) + f$((i - 1))(x + 2) + f$((i - 1))(x + 3); }"
done)
check 'split: each function is looked at once' "$(own "__device__ int f1(int x) { return x; } $calls" 'x[n] = f60(n); __syncthreads();')" 'k: split'
check 'split: threads of their own loop' "$(kernel 'for (int i = threadIdx.x; i < n; i += 2) __syncthreads();' | cut -d: -f1-2)" \
  'k: a condition before a barrier that may differ from thread to thread'
check 'split: too large for each thread' "$(kernel 'float a[1000]; a[0] = x[0]; __syncthreads(); x[0] = a[0];')" \
  'k: a variable that cannot be kept for each thread'

# Which loops of single threads the compiler is asked to write out.
steps() { # LOOP
  kernel "__syncthreads(); $1 x[k] = n;" >/dev/null
  sed -n 's/^#pragma GCC unroll //p' "$work/out.cpp" | tr '\n' ' '
}
check 'split: few steps are written out' "$(steps 'for (int k = 0; k < 32; k += 8)')" '4 '
check 'split: few steps, not a whole number of them' "$(steps 'for (int k = 1; k < 8; k += 3)')" '3 '
check 'split: few steps by one' "$(steps 'for (int k = 2; k < 10; ++k)')" '8 '
for loop in 'for (int k = 0; k < 9; k++)' 'for (int k = 0; k < n; k++)' 'for (int k = n; k < 4; k++)' 'for (int k = 0; k < 8; k += n)' \
  'for (int k = 0; k < 8; k += 0)' 'for (int k = 8; k < 8; k++)' 'for (int k = 0; k < 2; k++) for (int j = 0; j < n; j++)'; do
  check "split: not written out: $loop" "$(steps "$loop")" ''
done

unclosed='error: expected ">>>": a launch is kernel<<<blocks, threads>>>(x, n)'
printf 'x\nk<<<1, 2;\n' >"$work/in.cu"
check 'a launch that is not closed' "$("$cu2cpp" "$work/in.cu" "$work/out.cpp" 2>&1)" "$work/in.cu:2: $unclosed"
refused() { # TEXT: what is said of it, with each option, if that is one answer
  for mode in --judge --gcc --split '--gcc --split --instrument' --program '--program --split'; do
    printf 'void f(int *p) {\n %s' "$1" >"$work/in.cu"
    # shellcheck disable=SC2086
    timeout 20 "$cu2cpp" $mode "$work/in.cu" "$work/out.cpp" 2>&1 || true
  done | sort -u | sed "s@^$work/@@"
}
nothing='in.cu:2: error: expected an expression: <<< needs a kernel'"'s name before it"
no_arguments='in.cu:2: error: expected a "(": a launch needs its arguments, as in kernel<<<blocks, threads>>>(x, n)'
no_end="in.cu:2: $unclosed"
for text in '<float><<<1, 1>>>(0); }' '<><<<>>>' '<<<1, 1>>>(p);'; do
  check "refused: $text" "$(refused "$text")" "$nothing"
done
for text in 'k<<<1, 1>>>; }' 'k<<<1, 1>>>' "k$(printf '<<<1, 1>>>%.0s' $(seq 30))(p); }"; do
  check "refused: $text" "$(refused "$text")" "$no_arguments"
done
for text in 'k<<<1, 2; }' 'k<<<1, 2)>>>(p); }' 'k<<<' 'k << <' 'k << <1, 2 >> > 3;'; do
  check "refused: $text" "$(refused "$text")" "$no_end"
done
check 'a name before the end of the text' "$(refused '} k<')" ''
nested=p
for _ in $(seq 40); do nested="k<<<1, 1>>>($nested)"; done
check 'launches within launches' "$(refused "$nested; }")" "in.cu:2: error: too many launches, one within another's arguments"
check 'a launch in a macro' "$(printf '#define RUN(k) k<<<1, 2>>>\n#define ARGUMENTS (x)\nRUN(k)(x); k<<<1, 2>>>ARGUMENTS;\n' | transform | wc -l | tr -d ' ')" 3

check 'a missing file' "$("$cu2cpp" "$work/none.cu" "$work/out.cpp" 2>&1)" "cu2cpp: $work/none.cu: cannot be opened"
"$cu2cpp" 2>/dev/null
check 'no arguments' "$?" 2

exit $failed
