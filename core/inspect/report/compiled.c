// SPDX-License-Identifier: MIT
// What nvcc makes of the kernels: their registers, as ptxas reports them, and their machine code, as nvdisasm prints it.
#include "tool/compile/files.h"
#include "tool/print/style.h"
#include "inspect/registers.h"
#include "inspect/report/inspection.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- registers ---------------------------------------------------------------------------------------------------------

typedef struct Used {
  int registers, local, spilled;
} Used;

static int greater(int a, int b) {
  return a > b ? a : b;
}

// The figures of the kernel itself replace those of another instance of its template, of which the maximum counts.
static void set_used(InspectKernel *k, bool exact, Used used) {
  if (exact)
    k->registers = k->local = k->spilled = 0;
  k->registers = greater(k->registers, used.registers);
  k->local = greater(k->local, used.local);
  k->spilled = greater(k->spilled, used.spilled);
}

void inspection_registers(Inspection *i, const char *said) {
  char line[4096], function[2048] = "";
  bool *exact = calloc((size_t)i->kernel_count + 1, sizeof *exact);
  Used used = {0};
  FILE *in = exact ? fopen(said, "r") : NULL;
  while (in && fgets(line, sizeof line, in)) {
    const char *compiling = strstr(line, "entry function '"), *count = strstr(line, "Used ");
    const char *architecture = compiling ? strstr(compiling, "' for '") : NULL;
    if (compiling) {
      snprintf(function, sizeof function, "%.*s", (int)strcspn(compiling + 16, "'"), compiling + 16);
      used = (Used){0};
    }
    if (architecture)
      snprintf(i->ptxas, sizeof i->ptxas, "%.*s", (int)strcspn(architecture + 7, "'"), architecture + 7);
    sscanf(line, " %d bytes stack frame, %d bytes spill stores", &used.local, &used.spilled);
    if (!count)
      continue;
    used.registers = atoi(count + 5);
    for (int k = 0; k < i->kernel_count; k++) {
      InspectKernel *kernel = &i->kernels[k];
      const bool own = kernel->symbol && strcmp(kernel->symbol, function) == 0;
      if (own || (!exact[k] && registers_have_name(function, kernel->launch)))
        set_used(kernel, own, used);
      exact[k] |= own;
    }
  }
  if (in)
    fclose(in);
  free(exact);
}

// ---- machine code ------------------------------------------------------------------------------------------------------

// A kernel's part of a listing, from its label on. NULL: there is none.
static const char *code_of(const InspectKernel *k, const char *text) {
  const char *found = NULL;
  for (const char *at = text; (at = strstr(at, "\n.text.")); at++) {
    char name[2048];
    const size_t length = strcspn(at + 7, ":\n");
    snprintf(name, sizeof name, "%.*s", (int)length, at + 7);
    if (at[7 + length] != ':' || length >= sizeof name)
      continue;
    const bool own = k->symbol && strcmp(name, k->symbol) == 0;
    if (own || (!found && registers_have_name(name, k->launch)))
      found = at + 7 + length + 1;
    if (own)
      break;
  }
  return found;
}

static const char *base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// `//## File "/a/b.cu", line 12`, or with ` inlined at "...", line 20` after it. The line where the file is the inspected one, else 0.
static int line_of(const Inspection *i, const char *note) {
  char file[1024];
  int line;
  if (sscanf(note, " //## File \"%1023[^\"]\", line %d", file, &line) != 2 || strcmp(base(file), base(i->source)) != 0)
    return 0;
  return line;
}

static void add(InspectKernel *k, InspectSass one) {
  k->sass = inspect_grown(k->sass, k->sass_count, sizeof *k->sass);
  k->sass[k->sass_count++] = one;
}

// The line of the last note before a kernel's code: nvdisasm does not repeat it where the next kernel's code has the same line.
static int line_before(const Inspection *i, const char *text, const char *code) {
  for (const char *at = code; --at > text;)
    if (*at == '\n' && strncmp(at + 1, "\t//## ", 6) == 0)
      return line_of(i, at + 1);
  return 0;
}

// Cuts k->code into instructions, in place. A note of the form above holds for what follows it; of several in a row, the first that
// names the inspected file.
static void cut_code(const Inspection *i, InspectKernel *k, int line) {
  bool in_notes = false;
  unsigned address;
  for (char *at = k->code, *next; *at; at = next) {
    char *end = at + strcspn(at, "\n"), *comment;
    next = *end ? end + 1 : end;
    *end = '\0';
    if (strstr(at, "//## ")) {
      line = in_notes && line ? line : line_of(i, at);
      in_notes = true;
    } else if (sscanf(at, " /*%x*/", &address) == 1 && (comment = strstr(at, "*/"))) {
      char *text = comment + 2 + strspn(comment + 2, " \t"), *stop = strrchr(text, ';');
      while (stop && stop > text && stop[-1] == ' ')
        stop--;
      if (stop)
        *stop = '\0';
      add(k, (InspectSass){address, line, text});
      in_notes = false;
    }
  }
  while (k->sass_count && strcmp(k->sass[k->sass_count - 1].text, "NOP") == 0) // up to the end of a cache line
    k->sass_count--;
}

// The address of the instruction after the label "\n.L_x_1:" in `code`; false: there is no such label.
static bool address_of_label(const char *code, const char *label, size_t length, unsigned *address) {
  for (const char *at = code; (at = strstr(at, "\n.L")); at++)
    if (strncmp(at + 1, label, length) == 0 && at[1 + length] == ':') {
      const char *next = strstr(at, "/*");
      return next && sscanf(next, "/*%x*/", address) == 1;
    }
  return false;
}

// Branches: "BRA `(.L_x_1)" becomes "BRA 0x5f0", which is shorter.
static void resolve_branches(char *text, const char *code) {
  for (char *at = text, *end; (at = strstr(at, "`(.L")) && (end = strchr(at, ')')); at++) {
    char target[16], rest[256];
    unsigned address;
    if (!address_of_label(code, at + 2, (size_t)(end - at - 2), &address))
      continue;
    snprintf(target, sizeof target, "0x%x", address);
    snprintf(rest, sizeof rest, "%s", end + 1);
    if (strlen(target) <= (size_t)(end + 1 - at))
      sprintf(at, "%s%s", target, rest); // NOLINT: no longer than what it replaces
  }
}

void inspection_sass(Inspection *i, const char *listing) {
  size_t bytes;
  char *text = file_read(listing, &bytes);
  for (InspectKernel *k = i->kernels; text && k < i->kernels + i->kernel_count; k++) {
    const char *code = code_of(k, text), *end = code ? strstr(code, "\n//-----") : NULL;
    char *whole = !code ? NULL : end ? strndup(code, (size_t)(end - code)) : strdup(code);
    k->code = whole ? strdup(whole) : NULL;
    if (k->code)
      cut_code(i, k, line_before(i, text, code));
    for (int n = 0; n < k->sass_count; n++)
      resolve_branches(k->sass[n].text, whole);
    free(whole);
  }
  free(text);
}

int inspect_sass_of_line(const InspectKernel *k, int line, int *next) {
  while (*next < k->sass_count && k->sass[*next].line != line)
    (*next)++;
  return *next < k->sass_count ? (*next)++ : -1;
}

static void print_sass_of(const Inspection *i, const InspectKernel *k, int line) {
  char source[64];
  for (int next = 0, n, first = 1; (n = inspect_sass_of_line(k, line, &next)) >= 0; first = 0) {
    if (first && line) {
      inspect_source_line(i, (Spot){i->source, line}, source, sizeof source);
      printf("%5d  %s%s%s\n", line, style(DIM), source, style(PLAIN));
    } else if (first)
      printf("       %sfrom other files%s\n", style(DIM), style(PLAIN));
    printf("         %04x  %.60s\n", k->sass[n].address, k->sass[n].text);
  }
}

void inspect_print_sass(const Inspection *i, const InspectKernel *k) {
  int most = 0;
  if (!k->sass_count)
    return;
  printf("\n");
  inspect_wrapped(2, "SASS (%s): %d instructions, by source line, each with its address", i->ptxas, k->sass_count);
  for (int n = 0; n < k->sass_count; n++)
    most = k->sass[n].line > most ? k->sass[n].line : most;
  for (int line = 1; line <= most; line++)
    print_sass_of(i, k, line);
  print_sass_of(i, k, 0);
}
