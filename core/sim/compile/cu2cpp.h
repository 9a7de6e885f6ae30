// What the two converters of cu2cpp share.
#ifndef CU2CPP_H
#define CU2CPP_H

#include <stddef.h>

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

int is_word(char c);
int is_space(char c);

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

// compile/judge.c. expect_global fails where `kernel` is declared in the text without __global__; the others rewrite what is at i, and
// return the position after it, or i itself when it is something else.
extern int for_judge;
void expect_global(const struct text *in, size_t at, const char *kernel);
size_t rewrite_shared(const struct text *in, size_t i, struct text *out);      // __shared__ T a[4], b;
size_t rewrite_kernel_cast(const struct text *in, size_t i, struct text *out); // (const void *)kernel
// `"mov.u32 %0, %%laneid;" : "=r"(x)` as an assignment to x; false: it is something else.
int append_register(const char *text, struct text *out);

// compile/pointer.c. note_kernel: behind a __global__ at i, adds the function's name (the last word before its parameters) to the
// names. The other: (void *)kernel at i, whose parameters are noted by what is written instead; the position after it, or i itself.
void note_kernel(const struct text *in, size_t i, struct text *kernels);
size_t rewrite_kernel_pointer(const struct text *in, size_t i, const struct text *kernels, struct text *out);
// The same for a kernel that is an argument as it is, at `i`: its name goes with it.
size_t rewrite_kernel_argument(const struct text *in, size_t i, const struct text *kernels, struct text *out);

// compile/program.c. Whether that word stands at i; past white space and lines # 12 "file"; past the bracket that closes the one at i;
// text on one line, without such lines; a call.
int word_at(const struct text *in, size_t i, const char *word);
size_t skip_space(const struct text *in, size_t i);
size_t skip_group(const struct text *in, size_t i);
void append_flat(struct text *out, const char *bytes, size_t length);
void append_call(struct text *out, const char *before, const char *kernel, const char *after);

// compile/launch.c. Visual Studio's formatter writes k << <1, 2 >> > (x), which nvcc takes for k<<<1, 2>>>(x): moves the signs together,
// each launch's text keeping its length. Then: the position of the >>> that ends the configuration beginning at `begin`. expect_kernel
// fails where what a launch at `at` would launch, [begin, end) of what is written so far, is nothing, or begins before `launched`, the
// last launch's end; expect_arguments where no arguments come after the >>> that ends at `at`.
void join_launch_signs(struct text *in);
size_t config_end(const struct text *in, size_t begin, size_t end);
void expect_kernel(const struct text *in, size_t at, const struct text *out, size_t begin, size_t end, size_t launched);
void expect_arguments(const struct text *in, size_t at);

// compile/ptx.c: one instruction of PTX, in the same form, as a call; false: it is something else.
int append_ptx(const char *text, struct text *out);

// compile/program.c: a program that has been preprocessed with -DCUDASIM_PROGRAM.
void convert_program(const struct text *in, struct text *out, int always_inline);

#endif
