// Room behind each shared array, in the assembly of an inspected file: an index that leaves an array through a pointer, of which
// the compiler knows no size, would else hit the next array, which is memory like any other. The room belongs to no array, so the
// inspector sees who comes there.
#include "inspect/report/inspection.h"
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4096 }; // bytes: a multiple of 128, so that each array stays in its banks

const char *inspect_section_of(const char *line) {
  static const char *const shorts[] = {"\t.text", "\t.data", "\t.bss"};
  if (strncmp(line, "\t.section\t", 10) == 0)
    return line + 10;
  for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
    if (strncmp(line, shorts[i], strlen(shorts[i])) == 0)
      return line + 1;
  return NULL;
}

// The call at each basic block, which the compiler expects to leave no register as it was, does so little that it is written out
// here: core/inspect/runtime/callbacks.c, whose __sanitizer_cov_trace_pc does the same, and inspect_block what is left. instrument/mix.c knows
// these instructions again: they begin with the address behind them.
#ifdef __x86_64__
static bool is_block_call(const char *line) {
  static const char call[] = "\tcall\t__sanitizer_cov_trace_pc";
  return strncmp(line, call, sizeof call - 1) == 0;
}

static const char block_told[] = "\tleaq\t0f(%rip), %rdi\n"
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
static const char block_told[] = "";
#endif

bool inspect_guard_arrays(const char *assembly, const char *guarded, bool judged) {
  FILE *in = fopen(assembly, "r"), *out = fopen(guarded, "w");
  char *line = NULL;
  size_t room = 0;
  bool shared = false, good = in && out;
  while (good && getline(&line, &room, in) > 0) {
    const char *section = inspect_section_of(line);
    if (section) // thread-local and zero, which is what shared arrays are compiled to
      shared = strncmp(section, ".tbss", 5) == 0;
    fputs(is_block_call(line) && !judged ? block_told : line, out);
    if (shared && strncmp(line, "\t.zero\t", 7) == 0)
      fprintf(out, "\t.zero\t%d\n", GUARD);
  }
  good = good && !ferror(in) && !ferror(out);
  free(line);
  if (in)
    fclose(in);
  return (!out || fclose(out) == 0) && good;
}

#ifdef INSPECT_GUARD
// A program of its own for make, which compiles the library's own kernels to be inspected.
int main(int argc, char **argv) {
  if (argc == 3 && inspect_guard_arrays(argv[1], argv[2], false))
    return 0;
  fprintf(stderr, "inspect_guard: %s\n", argc == 3 ? "the assembly cannot be read or written" : "two files are wanted");
  return 1;
}
#endif
