// SPDX-License-Identifier: MIT
// Rewrites the assembly of an instrumented file. It adds a redzone after each shared array: the compiler cannot check
// an index through a pointer, which would otherwise reach the next array, where the access is legal. A redzone
// belongs to no array, so the inspector reports the access. It also inlines the fast path of a basic block's event,
// and has a read of a vector's member by name (members.c) call a function that says so.
#include "inspect/instrument/instrument.h"
#include "inspect/instrument/members.h"
#include <stdlib.h>
#include <string.h>

enum { REDZONE = 4096 }; // bytes: a multiple of 128, so that arrays keep their banks

const char *inspect_section_of(const char *line) {
  static const char *const shorts[] = {"\t.text", "\t.data", "\t.bss"};
  if (strncmp(line, "\t.section\t", 10) == 0)
    return line + 10;
  for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
    if (strncmp(line, shorts[i], strlen(shorts[i])) == 0)
      return line + 1;
  return NULL;
}

// The event of a basic block, inlined: a call would make the compiler save registers for a few instructions' work. It
// does what __sanitizer_cov_trace_pc does (core/inspect/runtime/callbacks.c); inspect_block is the slow path.
// instrument/mix.c recognizes these instructions: the first loads the address after the last.
#ifdef __x86_64__
static bool is_block_call(const char *line) {
  static const char call[] = "\tcall\t__sanitizer_cov_trace_pc";
  return strncmp(line, call, sizeof call - 1) == 0;
}

static const char block_event[] = "\tleaq\t0f(%rip), %rdi\n"
                                  "\tsubl\tprogram_loaded_at(%rip), %edi\n"
                                  "\tshll\t$5, %edi\n" // KIND_BITS
                                  "\tmovq\t%fs:inspect_tail@tpoff, %rax\n"
                                  "\tcmpq\t%fs:inspect_tail@tpoff+8, %rax\n"
                                  "\tjae\t1f\n"
                                  "\tcmpl\t%edi, (%rax)\n"
                                  "\tjne\t1f\n"
                                  "\taddq\t$4, %rax\n"
                                  "\tmovq\t%rax, %fs:inspect_tail@tpoff\n"
                                  "0:\n"
                                  "\t.subsection 1\n"
                                  "1:\n"
                                  "\tcall\tinspect_block\n"
                                  "\tjmp\t0b\n"
                                  "\t.subsection 0\n";
#else
static bool is_block_call(const char *line) {
  (void)line;
  return false;
}
static const char block_event[] = "";
#endif

#ifdef INSPECT_PAD_ARRAYS // the library's own kernels read whole vectors
#define members_line(line, bytes) 0
#define members_end() ((void)0)
#endif

bool inspect_pad_arrays(const char *assembly, const char *padded, bool judged) {
  FILE *in = fopen(assembly, "r"), *out = fopen(padded, "w");
  char *line = NULL;
  size_t room = 0;
  bool shared = false, good = in && out;
  while (good && getline(&line, &room, in) > 0) {
    const char *section = inspect_section_of(line);
    if (section) // thread-local and zero: the section of shared arrays
      shared = strncmp(section, ".tbss", 5) == 0;
    int bytes = 0;
    const int whole = members_line(line, &bytes);
    if (whole > bytes)
      fprintf(out, "\tcall\t__tsan_member_read%d_of%d\n", bytes, whole);
    else
      fputs(is_block_call(line) && !judged ? block_event : line, out);
    if (shared && strncmp(line, "\t.zero\t", 7) == 0)
      fprintf(out, "\t.zero\t%d\n", REDZONE);
  }
  members_end();
  good = good && !ferror(in) && !ferror(out);
  free(line);
  if (in)
    fclose(in);
  return (!out || fclose(out) == 0) && good;
}

#ifdef INSPECT_PAD_ARRAYS
// A program for make, which instruments the library's own kernels.
int main(int argc, char **argv) {
  if (argc == 3 && inspect_pad_arrays(argv[1], argv[2], false))
    return 0;
  fprintf(stderr, "pad_arrays: %s\n", argc == 3 ? "the assembly cannot be read or written" : "two files are wanted");
  return 1;
}
#endif
