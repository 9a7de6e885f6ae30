// Room behind each shared array, in the assembly of an inspected file: an index that leaves an array through a pointer, of which
// the compiler knows no size, would else hit the next array, which is memory like any other. The room belongs to no array, so the
// inspector sees who comes there.
#include "inspect.h"
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

bool inspect_guard_arrays(const char *assembly, const char *guarded) {
  FILE *in = fopen(assembly, "r"), *out = fopen(guarded, "w");
  char *line = NULL;
  size_t room = 0;
  bool shared = false, good = in && out;
  while (good && getline(&line, &room, in) > 0) {
    const char *section = inspect_section_of(line);
    if (section) // thread-local and zero, which is what shared arrays are compiled to
      shared = strncmp(section, ".tbss", 5) == 0;
    fputs(line, out);
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
  if (argc == 3 && inspect_guard_arrays(argv[1], argv[2]))
    return 0;
  fprintf(stderr, "inspect_guard: %s\n", argc == 3 ? "the assembly cannot be read or written" : "two files are wanted");
  return 1;
}
#endif
