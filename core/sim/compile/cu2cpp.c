// SPDX-License-Identifier: MIT
// cu2cpp [--gcc] [--judge] [--unroll] [--split [--instrument]] IN OUT: turns CUDA C++ (.cu, .cuh) into C++ for the simulator.
//
// Outside comments and literals it rewrites
//     kernel<<<config>>>(args)       ->  ::cudasim::launch(kernel, [=](auto... p) { kernel(p...); }, "kernel", config)(args)
//     extern __shared__ T name[];    ->  T *name = (T *)cudasim_dynamic_shared();
//     threadIdx.x                    ->  (+threadIdx.x)
//     (__shared__ T *parameter       ->  (T *parameter
// and copies everything else as it stands, line breaks included, so that the #line it begins with holds to the end. A kernel that is
// cast to void * becomes ::cudasim::kernel_pointer(kernel). With --gcc, #pragma unroll becomes what g++ calls it. With --judge,
// shared arrays have guards (include/cudasim_judged.h), and a launch of a function that is not marked __global__ is refused, as nvcc
// does. With --split, kernels with barriers get a second version, for all threads of a block at once: see compile/regions.c; with
// CU2CPP_TELL in the environment it says of each kernel what became of it; with --instrument an inspector is instrumented of each thread's turn in it.
// With --step TABLE, OUT is IN with a call before each statement, still CUDA C++: see compile/step_hooks.c. With --hooked, IN is such a
// text.
// A kernel that is called without <<<>>> is an error to the compiler: see compile/unconfigured_calls.c.
// With --unroll, loops of constant length are unrolled as nvcc does: see compile/unroll.c.
// What nvcc refuses and g++ accepts, such as a host function's call in a kernel, is an error to the compiler, too: see
// compile/execution_spaces.c.
// With --program, IN is a whole program, preprocessed with -DCUDASIM_PROGRAM: see compile/program.c; --source names the
// file that it was made from, and --relaxed-constexpr stands for nvcc's --expt-relaxed-constexpr.
#include "sim/compile/cu2cpp.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compile/execution_spaces.h"
#include "sim/compile/kernel.h"
#include "sim/compile/step_hooks.h"

static int for_gcc;

// Whether a kernel's name stands in the text for its definition and for launches alone: then nobody asks for its address.
static int is_only_launched(const struct text *in, const char *kernel) {
  const size_t length = strcspn(kernel, "<");
  int others = 0;
  for (size_t i = 0; i < in->length;) {
    const size_t after = skip_opaque(in, i);
    size_t end = i + length;
    if (after != i || strncmp(in->bytes + i, kernel, length) != 0 || (i > 0 && is_word(in->bytes[i - 1])) ||
        is_word(in->bytes[end])) {
      i = after != i ? after : i + 1;
      continue;
    }
    end = skip_space(in, end);
    if (in->bytes[end] == '<' && strncmp(in->bytes + end, "<<<", 3) != 0) { // template arguments
      end += strcspn(in->bytes + end, ">;{");
      end = skip_space(in, end < in->length ? end + 1 : end);
    }
    others += in->bytes[end] == '(' ? 1 : strncmp(in->bytes + end, "<<<", 3) == 0 ? 0 : 2;
    i += length;
  }
  return others == 1; // kernel(...): its definition
}

// Rewrites the launch whose <<< is at i; the position after its >>>.
static size_t rewrite_launch(const struct text *in, size_t i, struct text *out) {
  static size_t launched; // where the launch before this one ends
  struct launch l = parse_launch(in, i, in->length, out, launched, false);
  const char *kernel = l.kernel.bytes;
  expect_arguments(in, l.close + 3);
  if (is_plain_name(kernel))
    expect_global(in, i, kernel);
  out->length = l.begin;
  append_launcher(out, &l, for_gcc && is_only_launched(in, kernel) ? ONLY_LAUNCHED : BY_NAME, for_gcc);
  append(out, in->bytes + i + 3, l.close - i - 3);
  append_string(out, ")");
  launched = out->length;
  const size_t past = l.close + 3;
  launch_free(&l);
  return past;
}

// extern __shared__ T name[]; whose first word is at i.
static size_t rewrite_shared_declaration(const struct text *in, size_t i, struct text *out) {
  const bool begins = word_at(in, i, "extern") || word_at(in, i, "__shared__");
  return begins ? rewrite_dynamic_shared(in, i, "__shared__", false, out) : i;
}

// In an assert threadIdx.x stays as it is: the message has the words.
static size_t rewrite_thread(const struct text *in, size_t i, struct text *out) {
  static size_t assert_end;
  const char *p = in->bytes + i;
  if (strncmp(p, "assert", 6) == 0 && *skip_spaces(p + 6) == '(' && (i == 0 || !is_word(p[-1]))) {
    const char *end = strchr(p, ';');
    assert_end = end ? (size_t)(end - in->bytes) : in->length;
  }
  return i < assert_end ? i : rewrite_coordinate(in, i, out);
}

// `__shared__ T *p` among parameters, where nvcc warns and ignores it.
static size_t rewrite_shared_parameter(const struct text *in, size_t i, struct text *out) {
  return word_at(in, i, "__shared__") && ends_in_parameter(out) ? i + strlen("__shared__") : i;
}

// As a builtin, g++ would expand it, and an inspector would see no access.
static size_t rewrite_builtin_copy(const struct text *in, size_t i, struct text *out) {
  static const char prefix[] = "__builtin_";
  if (!word_at(in, i, "__builtin_memcpy") && !word_at(in, i, "__builtin_memmove") &&
      !word_at(in, i, "__builtin_memset"))
    return i;
  append_string(out, "::");
  return i + sizeof prefix - 1;
}

static void append_line_directive(struct text *out) {
  append_string(out, "#line 1 ");
  append_quoted(out, input_name);
  append_string(out, "\n");
}

static void write_file(const char *name, const struct text *out) {
  FILE *file = fopen(name, "wb");
  if (file == NULL || fwrite(out->bytes, 1, out->length, file) != out->length || fclose(file) != 0)
    fail(name, "cannot be written");
}

static void transform(const struct text *in, struct text *out) {
  append_line_directive(out);
  for (size_t i = 0; i < in->length;) {
    size_t after = skip_opaque(in, i);
    if (after != i) {
      append(out, in->bytes + i, after - i);
      i = after;
    } else if (strncmp(in->bytes + i, "<<<", 3) == 0) {
      i = rewrite_launch(in, i, out);
    } else if ((after = rewrite_shared_parameter(in, i, out)) != i ||
               (after = rewrite_shared_declaration(in, i, out)) != i ||
               (for_gcc && (after = rewrite_unroll(in, i, out)) != i) || (after = rewrite_thread(in, i, out)) != i ||
               (after = rewrite_shared(in, i, out)) != i || (after = rewrite_builtin_copy(in, i, out)) != i ||
               (after = rewrite_kernel_cast(in, i, out)) != i) {
      i = after;
    } else {
      append_unroll(in, i, out);
      append(out, in->bytes + i, 1);
      i++;
    }
  }
}

int main(int argc, char **argv) {
  int program = 0, split = 0, instrumented = 0, relaxed = 0, hooked = 0;
  const char *table = NULL, *source = NULL;
  for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; argc--, argv++) {
    for_gcc |= strcmp(argv[1], "--gcc") == 0;
    check_bounds |= strcmp(argv[1], "--judge") == 0;
    program |= strcmp(argv[1], "--program") == 0;
    split |= strcmp(argv[1], "--split") == 0;
    instrumented |= strcmp(argv[1], "--instrument") == 0;
    unrolls |= strcmp(argv[1], "--unroll") == 0;
    hooked |= strcmp(argv[1], "--hooked") == 0;
    relaxed |= strcmp(argv[1], "--relaxed-constexpr") == 0;
    if (argc > 2 && (strcmp(argv[1], "--step") == 0 || strcmp(argv[1], "--source") == 0)) {
      *(argv[1][3] == 't' ? &table : &source) = argv[2];
      argc--, argv++;
    }
  }
  if (argc != 3) {
    fprintf(stderr,
            "usage: cu2cpp [--gcc] [--judge] [--hooked] [--unroll] [--split [--instrument]] IN.cu OUT.cpp\n"
            "       cu2cpp --step TABLE IN.cu OUT.cu\n"
            "       cu2cpp [--gcc] [--split [--instrument]] [--relaxed-constexpr] [--source IN.cu] --program IN.ii "
            "OUT.ii\n");
    return 2;
  }
  input_name = argv[1];
  struct text in = read_file(argv[1]), out = {0}, marked = {0}, with_loops = {0}, errors = {0};
  join_launch_signs(&in);
  if (source || (!program && !hooked)) {
    struct text checked = source ? read_file(source) : in;
    join_launch_signs(&checked);
    append_space_errors(&checked, source ? source : input_name, program, relaxed, &errors);
  }
  if (table) {
    append_line_directive(&out);
    write_step_hooks(&in, &out, table);
    append(&out, errors.bytes ? errors.bytes : "", errors.length);
    write_file(argv[2], &out);
    return 0;
  }
  if (mark_calls_of_kernels(&in, &marked, program))
    append_string(&out, "#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"\n");
  free(in.bytes);
  in = marked;
  if (split) {
    write_work_item_loops(&in, &with_loops, program, instrumented);
    free(in.bytes);
    in = with_loops;
  }
  if (program)
    convert_program(&in, &out, for_gcc);
  else
    transform(&in, &out);
  append(&out, errors.bytes ? errors.bytes : "", errors.length);
  write_file(argv[2], &out);
  free(in.bytes);
  free(out.bytes);
  return 0;
}
