// Room behind each shared array, in the assembly of an inspected file: an index that leaves an array through a pointer, of which
// the compiler knows no size, would else hit the next array, which is memory like any other. The room belongs to no array, so the
// inspector sees who comes there.
#include "inspect.h"
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4096 }; // bytes: a multiple of 128, so that each array stays in its banks

// "\t.section\t.tbss._ZZ...": thread-local and zero, which is what shared arrays are compiled to.
static bool begins_section(const char *line, bool *shared) {
  static const char *const others[] = {"\t.text", "\t.data", "\t.bss"};
  if (strncmp(line, "\t.section\t", 10) == 0) {
    *shared = strncmp(line + 10, ".tbss", 5) == 0;
    return true;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strncmp(line, others[i], strlen(others[i])) == 0) {
      *shared = false;
      return true;
    }
  return false;
}

bool inspect_guard_arrays(const char *assembly, const char *guarded) {
  FILE *in = fopen(assembly, "r"), *out = fopen(guarded, "w");
  char *line = NULL;
  size_t room = 0;
  bool shared = false, good = in && out;
  while (good && getline(&line, &room, in) > 0) {
    begins_section(line, &shared);
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
