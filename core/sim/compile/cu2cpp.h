// SPDX-License-Identifier: MIT
// What cu2cpp's two modes share: the rewriting of source text (cu2cpp.c) and of preprocessed programs (program.c).
#ifndef CU2CPP_H
#define CU2CPP_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/compile/c_tokens.h"

struct text {
  char *bytes; // always NUL-terminated
  size_t length, capacity;
};

extern const char *input_name;

_Noreturn void fail(const char *name, const char *why);
_Noreturn void fail_at(const struct text *in, size_t at, const char *why);
struct text read_file(const char *name);

void append(struct text *text, const char *bytes, size_t length);
void append_string(struct text *text, const char *string);
void append_quoted(struct text *out, const char *string); // as a C string, on one line

// The end of the comment or literal that begins at i; i itself when none does.
size_t skip_opaque(const struct text *in, size_t i);

// #pragma unroll at i, alone or with a number, as g++ calls it: all of a loop is at most 64 steps here. The position after what was
// rewritten; i itself when it is something else.
size_t rewrite_unroll(const struct text *in, size_t i, struct text *out);

// threadIdx.x at i, for reading: (+threadIdx.x) is an unsigned int for auto and templates, too, where threadIdx.x is an object that
// knows where to look. The position after it; i itself when it is something else.
size_t rewrite_coordinate(const struct text *in, size_t i, struct text *out);

const char *skip_spaces(const char *p);
// Past __align__(n) and alignas(n): shared memory is aligned to 128 bytes anyway.
const char *skip_alignment(const char *p);

// ---- compile/text.c ----

int word_at(const struct text *in, size_t i, const char *word);
size_t skip_space(const struct text *in, size_t i); // also past lines # 12 "file"
size_t skip_group(const struct text *in, size_t i); // past the bracket that closes the one at i
// Looking back from `end`: before white space and lines # 12 "file"; before a word; whether that word is `word`.
size_t back_over_space(const struct text *out, size_t end);
size_t back_over_word(const struct text *out, size_t end);
int ends_with_word(const struct text *out, size_t end, const char *word);
// Whether what comes next belongs to a parameter: __shared__ of a pointer there says nothing that a compiler needs.
bool ends_in_parameter(const struct text *out);
void append_flat(struct text *out, const char *bytes, size_t length); // on one line, without lines # 12 "file"
void append_call(struct text *out, const char *before, const char *kernel, const char *after);

// ---- compile/bounds_check.c ----

extern int check_bounds;                                                  // --judge
size_t rewrite_shared(const struct text *in, size_t i, struct text *out); // __shared__ T a[4], b;

// ---- compile/unroll.c ----

extern bool unrolls; // --unroll
void append_unroll(const struct text *in, size_t i, struct text *out);

// ---- compile/kernel_pointer.c: each returns the position after what it rewrote, or i ----

// After a __global__ at i: adds the function's name (the last word before its parameters) to the names.
void note_kernel(const struct text *in, size_t i, struct text *kernels);
size_t rewrite_kernel_pointer(const struct text *in, size_t i, const struct text *kernels,
                              struct text *out); // (void *)k
size_t rewrite_kernel_argument(const struct text *in, size_t i, const struct text *kernels, struct text *out); // k
// In source text. Whether a function of that name is declared: 0 no, 1 without __global__, 2 with it.
int declared_as_kernel(const struct text *in, const char *name, size_t length);
size_t rewrite_kernel_cast(const struct text *in, size_t i, struct text *out); // (const void *)kernel

// ---- compile/launch_rewriter.c ----

// A launch kernel<<<config>>> whose kernel has been written to the output already.
struct launch {
  size_t begin;        // of the kernel's expression in the output
  struct text written; // that expression as it is there
  struct text kernel;  // the same on one line
  size_t close;        // of the >>> in the input
};

// How a launch gets its kernel: by name; by name, and nothing else uses the kernel's address; by a call that chooses the overload.
enum launcher { BY_NAME, ONLY_LAUNCHED, BY_CALL };

// The launch whose <<< is at i and whose >>> is before `limit`. `launched`: where in `out` the last launch ends. Fails with nvcc's
// message if nothing, or a launch, stands before the <<<, or if there is no >>>. The caller frees the launch.
struct launch parse_launch(const struct text *in, size_t i, size_t limit, const struct text *out, size_t launched,
                           bool preprocessed);
void launch_free(struct launch *l);
// Writes `::cudasim::launch(kernel, ..., "kernel", `, to be followed by the configuration.
void append_launcher(struct text *out, const struct launch *l, enum launcher form, bool always_inline);
bool is_plain_name(const char *kernel); // ns::name<T>, not an expression
// Fails unless arguments come after the >>> that ends at `at`.
void expect_arguments(const struct text *in, size_t at);
// With --judge, fails if `kernel` is declared in the text without __global__.
void expect_global(const struct text *in, size_t at, const char *kernel);
// Visual Studio's formatter writes k << <1, 2 >> > (x), which nvcc takes for k<<<1, 2>>>(x): moves the signs together. The text keeps
// its length.
void join_launch_signs(struct text *in);
// `extern __shared__ T name[];` whose first word is at i, up to its semicolon: a pointer to the block's dynamic shared memory. `shared`
// is the spelling of __shared__; `global`: the declaration is outside of all functions. Returns i if it is something else.
size_t rewrite_dynamic_shared(const struct text *in, size_t i, const char *shared, bool global, struct text *out);

// compile/ptx.c. `"mov.u32 %0, %%laneid;" : "=r"(x)` as an assignment to x; false: it is something else.
int append_register(const char *text, struct text *out);
// compile/ptx.c: one instruction of PTX, in the same form, as a call; false: it is something else.
int append_ptx(const char *text, struct text *out);

// compile/program.c: a program that has been preprocessed with -DCUDASIM_PROGRAM.
void convert_program(const struct text *in, struct text *out, int always_inline);

#endif
