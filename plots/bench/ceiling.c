// SPDX-License-Identifier: MIT
// What this machine can do at most: arithmetic by thread count, memory bandwidth by array size, the price of a fresh page.
// The measured ceilings are what the roofline plot and docs/performance.md hold the library's operations against.
#include "bench.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

// ---- arithmetic ---------------------------------------------------------------------------------------------------------

enum { CHAINS = 12, FMA_TURNS = 20000 }; // 12 independent chains: more than latency times throughput of any core

static volatile float fma_sink; // what is stored there cannot be left out

// Two operations per lane and chain. The factors pass through an empty asm in each turn, and each chain depends on its own
// last value, so no compiler can shorten the loop; the sum at the end keeps all chains alive.
#define DEFINE_FMA(name, attribute, bytes, constraint)                                                                 \
  attribute static double name(void) {                                                                                 \
    typedef float Vector __attribute__((vector_size(bytes)));                                                          \
    Vector sum[CHAINS], factor = (Vector){0} + 0.999f, term = (Vector){0} + 0.001f, total = (Vector){0};               \
    for (int i = 0; i < CHAINS; i++) {                                                                                 \
      sum[i] = (Vector){0} + (float)i;                                                                                 \
    }                                                                                                                  \
    for (int turn = 0; turn < FMA_TURNS; turn++) {                                                                     \
      __asm__ volatile("" : "+" constraint(factor), "+" constraint(term));                                             \
      for (int i = 0; i < CHAINS; i++) {                                                                               \
        sum[i] = sum[i] * factor + term;                                                                               \
      }                                                                                                                \
    }                                                                                                                  \
    for (int i = 0; i < CHAINS; i++) {                                                                                 \
      total += sum[i];                                                                                                 \
    }                                                                                                                  \
    fma_sink = total[0];                                                                                               \
    return 2.0 * (double)FMA_TURNS * CHAINS * (bytes / 4);                                                             \
  }

#if defined(__x86_64__)
DEFINE_FMA(fma_avx512, __attribute__((target("avx512f"))), 64, "v")
DEFINE_FMA(fma_avx2, __attribute__((target("avx2,fma"))), 32, "x")
DEFINE_FMA(fma_baseline, , 16, "x")
#elif defined(__aarch64__)
DEFINE_FMA(fma_baseline, , 16, "w")
#else
DEFINE_FMA(fma_baseline, , 16, "m")
#endif

// A measurement of AVX2 code on a newer processor says so to oneDNN (plots/README.md), and compares with AVX2's ceiling.
static bool is_limited_to_avx2(void) {
  const char *limit = getenv("ONEDNN_MAX_CPU_ISA");
  return limit && strcmp(limit, "AVX2") == 0;
}

static double (*widest_fma(const char **name))(void) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && !is_limited_to_avx2()) {
    *name = "AVX-512";
    return fma_avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    *name = "AVX2";
    return fma_avx2;
  }
#endif
  *name = "128 bits";
  return fma_baseline;
}

static void fma_part(int64_t begin, int64_t end, void *context) {
  double (*fma)(void) = *(double (**)(void))context;
  for (int64_t i = begin; i < end; i++) {
    fma();
  }
}

// `size` threads, each the same amount.
void setup_fma(Run *run) {
  const char *name;
  double (*fma)(void) = widest_fma(&name);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  run->threads = fy_get_num_threads();
  if (run->size > cores) {
    skip_run(run, "there are %ld cores", cores);
    return;
  }
  strncpy(run->label, name, sizeof run->label - 1);
  fy_set_num_threads((int)run->size);
  run->flops = fma() * (double)run->size;
}

void body_fma(Run *run) {
  const char *name;
  double (*fma)(void) = widest_fma(&name);
  fy_parallel_for(run->size, 1, fma_part, &fma);
}

// ---- bandwidth ----------------------------------------------------------------------------------------------------------

typedef struct Arrays {
  float *to;
  const float *from, *other; // other: NULL for a copy, the second operand of a triad
  bool streaming;            // stores that bypass the caches
} Arrays;

// The widest vector that the build's target has. Streaming stores need alignment, which the parts keep.
#if defined(__AVX512F__)
typedef __m512 Wide;
#define STREAM(to, value) _mm512_stream_ps((to), (value))
#elif defined(__AVX__)
typedef __m256 Wide;
#define STREAM(to, value) _mm256_stream_ps((to), (value))
#elif defined(__x86_64__)
typedef __m128 Wide;
#define STREAM(to, value) _mm_stream_ps((to), (value))
#else
typedef float Wide __attribute__((vector_size(16)));
#endif
enum { LINE = 64, LINE_FLOATS = LINE / 4, WIDE_FLOATS = (int)(sizeof(Wide) / 4) };

#ifdef STREAM
#define HAS_STREAMING 1
#define STORE(streaming, to, value) ((streaming) ? STREAM((to), (value)) : (void)(*(Wide *)(to) = (value)))
#else
#define HAS_STREAMING 0
#define STORE(streaming, to, value) (*(Wide *)(to) = (value))
#endif

// Kept out of line and given a constant, so that each of the four loops is compiled as a loop of its own.
__attribute__((always_inline)) static inline void move(const Arrays *a, int64_t begin, int64_t end, bool triad,
                                                       bool streaming) {
  for (int64_t i = begin; i < end; i += WIDE_FLOATS) {
    Wide value = *(const Wide *)(a->from + i);
    if (triad) {
      value = value + 3.0f * *(const Wide *)(a->other + i);
    }
    STORE(streaming, a->to + i, value);
  }
}

// Lines [begin, end) of 64 bytes.
static void move_part(int64_t begin, int64_t end, void *context) {
  const Arrays *a = context;
  begin *= LINE_FLOATS;
  end *= LINE_FLOATS;
  if (a->other && a->streaming) {
    move(a, begin, end, true, true);
  } else if (a->other) {
    move(a, begin, end, true, false);
  } else if (a->streaming) {
    move(a, begin, end, false, true);
  } else {
    move(a, begin, end, false, false);
  }
#ifdef __x86_64__
  if (a->streaming) {
    _mm_sfence();
  }
#endif
  __asm__ volatile("" ::: "memory"); // what was stored counts as used
}

enum { SUMS = 8 };

// Lines [begin, end) of 64 bytes, in as many sums as hide the addition's latency.
static void read_part(int64_t begin, int64_t end, void *context) {
  const Arrays *a = context;
  const Wide *at = (const Wide *)(a->from + begin * LINE_FLOATS), *stop = (const Wide *)(a->from + end * LINE_FLOATS);
  Wide sums[SUMS] = {{0}};
  for (; stop - at >= SUMS; at += SUMS) {
    for (int i = 0; i < SUMS; i++) {
      sums[i] += at[i];
    }
  }
  for (; at < stop; at++) {
    sums[0] += *at;
  }
  for (int i = 1; i < SUMS; i++) {
    sums[0] += sums[i];
  }
  fma_sink = sums[0][0];
}

// Arrays of `size` bytes each, by all threads. Counts what the program reads and writes; that ordinary stores read a line
// before they write it is the machine's affair, and lowers what it reaches.
void setup_bandwidth(Run *run) {
  int kind = run->bench->variant;
  bool triad = kind == TRIAD_ORDINARY || kind == TRIAD_STREAMING;
  size_t bytes = (size_t)(run->size >= LINE ? run->size / LINE * LINE : LINE);
  if (!HAS_STREAMING && (kind == COPY_STREAMING || kind == TRIAD_STREAMING)) {
    skip_run(run, "streaming stores are written for x86-64 alone");
    return;
  }
  for (int i = 0; i < (triad ? 3 : kind == READ ? 1 : 2); i++) {
    run->memory[i] = aligned_alloc(LINE, bytes);
    fy_check(run->memory[i], FY_OUT_OF_MEMORY_ERROR, "no memory for an array of %zu bytes", bytes);
    memset(run->memory[i], 0, bytes); // pages are there before the clock starts
  }
  run->size = (int64_t)bytes;
  run->bytes = (triad || kind == UPDATE ? 3 : kind == READ ? 1 : 2) * (double)bytes;
  run->flops = (triad || kind == UPDATE ? 2 : kind == READ ? 1 : 0) * (double)bytes / 4;
}

void body_bandwidth(Run *run) {
  int kind = run->bench->variant;
  Arrays arrays = {run->memory[0], run->memory[1], run->memory[2], kind == COPY_STREAMING || kind == TRIAD_STREAMING};
  if (kind == UPDATE) {
    arrays.from = run->memory[0];
    arrays.other = run->memory[1];
  } else if (kind == READ) {
    arrays.from = run->memory[0];
  }
  // 16 KiB for a part at least: below that, sharing costs more than it brings.
  fy_parallel_for(run->size / LINE, 256, kind == READ ? read_part : move_part, &arrays);
}

void finish_bandwidth(Run *run) {
  for (int i = 0; i < 3; i++) {
    free(run->memory[i]);
  }
}

// ---- fresh pages --------------------------------------------------------------------------------------------------------

// `size` bytes fresh from the system, one byte of each 4 KiB touched, and given back: by one thread.
void setup_page_faults(Run *run) {
  run->items = (double)(run->size / 4096);
}

void body_page_faults(Run *run) {
  size_t bytes = (size_t)run->size, huge = 2u << 20;
  char *memory = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fy_check(memory != MAP_FAILED, FY_OUT_OF_MEMORY_ERROR, "no memory for %zu bytes", bytes);
  char *begin = (char *)(((size_t)memory + huge - 1) / huge * huge); // huge pages begin at their own multiples
  madvise(begin, bytes, run->bench->variant == PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  for (size_t i = 0; i < bytes; i += 4096) {
    *(volatile char *)(begin + i) = 1;
  }
  munmap(memory, bytes + huge);
}
