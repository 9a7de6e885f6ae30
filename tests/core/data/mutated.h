// SPDX-License-Identifier: MIT
// Readers of files under mutated input: each either reads, or raises an error that names the file; memory stays bounded by the
// file's size, and none is left behind. FERRY_FUZZ_COUNT sets how many inputs each reader gets (20,000 when not set),
// FERRY_FUZZ_SEED which ones. For the tests that include it: it counts what their program takes from the heap.
#ifndef FERRY_TEST_MUTATED_H
#define FERRY_TEST_MUTATED_H

#include "../nn/check.h"
#include "base/sanitized.h"
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGEST = 1 << 14, SLACK = 1 << 16 };

// ---- the heap's peak ---------------------------------------------------------------------------------------------------
// The C library's allocator, counted. Under a sanitizer, which has its own, tensors' memory is what is watched.

#if !defined(FY_SANITIZED) && defined(__GLIBC__)
#define COUNTED 1
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *pointer);

static _Thread_local long live, peak;

static void *count(void *pointer) {
  live += pointer ? (long)malloc_usable_size(pointer) : 0;
  peak = live > peak ? live : peak;
  return pointer;
}
void *malloc(size_t bytes) {
  return count(__libc_malloc(bytes));
}
void *calloc(size_t number, size_t bytes) {
  return count(__libc_calloc(number, bytes));
}
void *realloc(void *old, size_t bytes) {
  live -= old ? (long)malloc_usable_size(old) : 0;
  return count(__libc_realloc(old, bytes));
}
void *memalign(size_t alignment, size_t bytes) {
  return count(__libc_memalign(alignment, bytes));
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return count(__libc_memalign(alignment, bytes));
}
int posix_memalign(void **pointer, size_t alignment, size_t bytes) {
  *pointer = count(__libc_memalign(alignment, bytes));
  return *pointer ? 0 : 12; // ENOMEM
}
void free(void *pointer) {
  live -= pointer ? (long)malloc_usable_size(pointer) : 0;
  __libc_free(pointer);
}
#else
static long live, peak;
#endif

// ---- a file that is memory ---------------------------------------------------------------------------------------------

static int file = -1;
static char path[64];

static int set_up(void **state) {
  (void)state;
  file = memfd_create("fuzz", MFD_CLOEXEC);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return file < 0;
}

static void set_file(const unsigned char *bytes, size_t count_) {
  assert_int_equal(ftruncate(file, 0), 0);
  assert_int_equal(pwrite(file, bytes, count_, 0), count_);
}

// ---- mutations ---------------------------------------------------------------------------------------------------------

typedef struct Input {
  size_t length;
  unsigned char bytes[LARGEST];
} Input;

static uint64_t dice;

static size_t roll(size_t sides) {
  dice = dice * 6364136223846793005u + 1442695040888963407u;
  return sides ? (size_t)((dice >> 33) % sides) : 0;
}

// Numbers that go over edges, as text for the formats that are text.
static const char *const words[] = {
    "0",
    "-1",
    "1",
    "2",
    "16",
    "17",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e9",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\\u0000",
    "\\ud800",
    ",",
    ":",
    "(",
    ")",
    "'",
    "<f8",
    "|O",
    "True",
    "F64",
    "BOOL",
    "\"__metadata__\"",
    "[[[[",
    "nan",
    " ",
    "\n",
};

static void insert(Input *in, size_t at, const void *bytes, size_t n) {
  if (in->length + n > LARGEST)
    return;
  memmove(in->bytes + at + n, in->bytes + at, in->length - at);
  memcpy(in->bytes + at, bytes, n);
  in->length += n;
}

static void overwrite_number(Input *in, size_t at) {
  static const uint64_t edges[] = {0, 1, 127, 128, 255, 256, 65535, 1u << 31, UINT32_MAX, INT64_MAX, UINT64_MAX};
  uint64_t value = edges[roll(sizeof edges / sizeof *edges)] + roll(3) - 1;
  size_t width = (size_t)1 << roll(4);
  bool big = roll(2);
  for (size_t i = 0; i < width && at + i < in->length; i++)
    in->bytes[at + i] = (unsigned char)(value >> 8 * (big ? width - 1 - i : i));
}

static void mutate_once(Input *in) {
  size_t at = roll(in->length), other = roll(in->length), n = 1 + roll(8);
  unsigned char copy[16];
  switch (roll(9)) {
  case 0: // a bit
    if (in->length)
      in->bytes[at] ^= (unsigned char)(1 << roll(8));
    break;
  case 1: // a byte
    if (in->length)
      in->bytes[at] = (unsigned char)roll(256);
    break;
  case 2:
    overwrite_number(in, at);
    break;
  case 3: // cut off
    in->length = roll(4) ? in->length - roll(in->length < 16 ? in->length + 1 : 16) : at;
    break;
  case 4: // something behind
    for (size_t i = 0; i < n && in->length < LARGEST; i++)
      in->bytes[in->length++] = (unsigned char)roll(256);
    break;
  case 5: // a part removed
    n = n > in->length - at ? in->length - at : n;
    memmove(in->bytes + at, in->bytes + at + n, in->length - at - n);
    in->length -= n;
    break;
  case 6: // a part twice
    n = n > in->length - other ? in->length - other : n;
    memcpy(copy, in->bytes + other, n);
    insert(in, at, copy, n);
    break;
  default: { // a word, in place of a byte or between two
    const char *word = words[roll(sizeof words / sizeof *words)];
    if (roll(2) && in->length) {
      memmove(in->bytes + at, in->bytes + at + 1, in->length - at - 1);
      in->length--;
    }
    insert(in, at, word, strlen(word));
  }
  }
}

// ---- reading -----------------------------------------------------------------------------------------------------------

typedef struct Reader {
  const char *name;
  void (*read)(void); // reads `path` and looks at all that it got
  size_t ratio;       // bytes of content that a byte of the file may stand for
  int seeds;
  Input *seed;
  void (*repair)(Input *in);           // after the mutations: what would otherwise stop nearly every input at once
  bool (*may_raise)(FyErrorKind kind); // NULL: FY_VALUE_ERROR, which names the file, and FY_RUNTIME_ERROR
} Reader;

static unsigned char folded;

static void look_at(FyTensor *t) {
  const unsigned char *bytes = fy_data_ptr(t);
  assert_int_equal(fy_device_of(t).type, FY_CPU);
  for (size_t i = 0; i < fy_nbytes(t); i++)
    folded ^= bytes[i];
}

typedef struct Outcome {
  long good, refused, worst; // the most memory beyond the file's size
} Outcome;

static __attribute__((noinline)) FyError read_it(const Reader *reader) {
  FyError error;
  fy_trap(error) {
    fy_scope {
      reader->read();
    }
  }
  return error;
}

static void try_one(const Reader *reader, const Input *in, Outcome *outcome) {
  set_file(in->bytes, in->length);
  size_t tensors = fy_memory_allocated(FY_CPU_DEVICE);
  fy_reset_peak_memory_stats(FY_CPU_DEVICE);
  long before = live;
  peak = live;
  FyError error = read_it(reader);
  long heap = peak - before, of_tensors = (long)(fy_max_memory_allocated(FY_CPU_DEVICE) - tensors);
  long beyond = (heap > of_tensors ? heap : of_tensors) - (long)(in->length * reader->ratio);
  outcome->worst = beyond > outcome->worst ? beyond : outcome->worst;
  outcome->good += !error.kind;
  outcome->refused += error.kind != FY_NO_ERROR;
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), tensors);
  const bool usual = error.kind == FY_VALUE_ERROR || error.kind == FY_RUNTIME_ERROR;
  if (error.kind && !(reader->may_raise ? reader->may_raise(error.kind) : usual))
    fail_msg("%s: %s", fy_error_name(error.kind), error.message);
  if (error.kind == FY_VALUE_ERROR && !strstr(error.message, path))
    fail_msg("an error that does not name the file: %s", error.message);
}

static void fuzz(const Reader *reader) {
  const char *wanted = getenv("FERRY_FUZZ_COUNT"), *seed = getenv("FERRY_FUZZ_SEED");
  long count_ = wanted && atol(wanted) > 0 ? atol(wanted) : 20000;
  Outcome outcome = {0};
  static Input in;
  for (int i = 0; i < reader->seeds; i++)
    try_one(reader, &reader->seed[i], &outcome);
  assert_int_equal(outcome.good, reader->seeds); // what is mutated is a good file
  for (long i = 0; i < count_; i++) {
    dice = (seed ? strtoull(seed, NULL, 10) : 1) * 0x9E3779B97F4A7C15u + (uint64_t)i;
    roll(1);
    in = reader->seed[roll((size_t)reader->seeds)];
    for (size_t times = 1 + roll(4); times > 0; times--)
      mutate_once(&in);
    if (reader->repair && roll(4))
      reader->repair(&in);
    try_one(reader, &in, &outcome);
  }
  print_message("%s: %ld read, %ld refused, at most %ld bytes beyond the file's\n", reader->name, outcome.good,
                outcome.refused, outcome.worst);
  assert_true(outcome.refused > count_ / 20 && outcome.good > 0);
  assert_true(outcome.worst <= SLACK);
}

// ---- good files ----------------------------------------------------------------------------------------------------------

static Input of_file(const char *name) {
  Input in;
  int fd = open(name, O_RDONLY);
  ssize_t n = read(fd, in.bytes, LARGEST);
  assert_true(fd >= 0 && n > 0);
  close(fd);
  in.length = (size_t)n;
  return in;
}

#endif
