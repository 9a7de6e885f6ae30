// SPDX-License-Identifier: MIT
// Two versions of one file in one program: the instrumented one, and an uninstrumented one for blocks that --blocks
// leaves out. Host code and all variables are the uninstrumented version's. Each version has functions of its own,
// since the linker would keep only one of those with the same name. Both are assembly here, so that a static variable
// can be given a name that the other version finds, and a function be hidden from it.
#include "tool/compile/files.h"
#include "inspect/instrument/instrument.h"
#include <stdlib.h>
#include <string.h>

typedef struct Names {
  char **items;
  int count;
} Names;

static bool has(const Names *n, const char *name) {
  for (int i = 0; i < n->count; i++)
    if (strcmp(n->items[i], name) == 0)
      return true;
  return false;
}

static void add(Names *n, char *name) {
  n->items = inspect_grown(n->items, n->count, sizeof *n->items);
  n->items[n->count++] = name;
}

static void names_free(Names *n) {
  for (int i = 0; i < n->count; i++)
    free(n->items[i]);
  free(n->items);
}

// The name in a line such as "\t.local\tname", allocated; NULL: it is another line.
static char *name_after(const char *line, const char *directive) {
  const size_t length = strlen(directive);
  return strncmp(line, directive, length) == 0 ? strndup(line + length, strcspn(line + length, ",\n")) : NULL;
}

// "\t.type\tname, @object"; other machines write %.
static bool is_of_type(const char *line, const char *name, const char *type) {
  const char *at = line + strlen("\t.type\t") + strlen(name);
  return strncmp(at, ", ", 2) == 0 && (at[2] == '@' || at[2] == '%') && strncmp(at + 3, type, strlen(type)) == 0;
}

// The file's static variables. Shared arrays (thread_local) are left out: a block uses those of the version that it
// runs.
static Names own_variables(const char *text) {
  Names own = {0}, others = {0};
  bool thread_local_data = false;
  for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    char *name = NULL;
    const char *section = inspect_section_of(line);
    if (section) {
      thread_local_data = strncmp(section, ".tbss", 5) == 0 || strncmp(section, ".tdata", 6) == 0;
      continue;
    }
    if ((name = name_after(line, "\t.globl\t")) || (name = name_after(line, "\t.weak\t")))
      add(&others, name);
    else if ((name = name_after(line, "\t.local\t")) ||
             (!thread_local_data && (name = name_after(line, "\t.type\t")) && is_of_type(line, name, "object")))
      add(&own, name);
    else
      free(name);
  }
  int kept = 0;
  for (int i = 0; i < own.count; i++)
    if (strncmp(own.items[i], "_Z", 2) == 0 && !has(&others, own.items[i]))
      own.items[kept++] = own.items[i];
    else
      free(own.items[i]);
  own.count = kept;
  names_free(&others);
  return own;
}

// ---- variables that both have ----------------------------------------------------------------------------------------------------

// Does the line define one of the shared variables, or, in the uninstrumented version, make it local? Such lines are
// left out.
static bool defines(const char *line, const Names *shared, bool plain) {
  static const char *const says[] = {"\t.local\t", "\t.comm\t", "\t.type\t", "\t.size\t"};
  char *name = NULL;
  for (size_t i = 0; i < (plain ? 1 : sizeof says / sizeof *says) && !name; i++)
    name = name_after(line, says[i]);
  const size_t label = strcspn(line, ":\t\n ");
  if (!name && !plain && line[label] == ':')
    name = strndup(line, label);
  const bool found = name && has(shared, name);
  free(name);
  return found;
}

// ---- functions that each has for itself ------------------------------------------------------------------------------------------

// The group of a section of which the linker keeps one (`,"axG",@progbits,GROUP,comdat`), allocated; NULL: the
// section is not in a group.
static char *group_of(const char *line) {
  const char *end = line + strcspn(line, "\n");
  if (strncmp(line, "\t.section\t", 10) != 0 || end - line < 7 || strncmp(end - 7, ",comdat", 7) != 0)
    return NULL;
  const char *begin = end - 7;
  while (begin > line && begin[-1] != ',')
    begin--;
  return strndup(begin, (size_t)(end - 7 - begin));
}

typedef struct Functions {
  Names names, groups;
} Functions;

static Functions functions_of(const char *text) {
  Functions f = {{0}, {0}};
  for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    char *name = name_after(line, "\t.type\t"), *group = group_of(line);
    if (name && is_of_type(line, name, "function"))
      add(&f.names, name);
    else
      free(name);
    if (group && strncmp(line + 10, ".text", 5) == 0)
      add(&f.groups, group);
    else
      free(group);
  }
  return f;
}

// Writes the line of a section without its group; false: it is not the section of a function in a group.
static bool write_ungrouped(FILE *out, const char *line, const Functions *f) {
  char *group = group_of(line);
  const bool alone = group && has(&f->groups, group);
  if (alone) {
    const char *flags = strchr(line, '"'), *rest = flags ? strchr(flags + 1, '"') : NULL;
    const size_t tail = strcspn(line, "\n") - strlen(group) - sizeof ",,comdat" + 1;
    for (const char *c = line; c < line + tail; c++)
      if (*c != 'G' || c < flags || c > rest)
        putc(*c, out);
    putc('\n', out);
  }
  free(group);
  return alone;
}

static bool exports(const char *line, const Functions *f) {
  char *name = name_after(line, "\t.globl\t");
  name = name ? name : name_after(line, "\t.weak\t");
  const bool found = name && has(&f->names, name);
  free(name);
  return found;
}

// ---- both ------------------------------------------------------------------------------------------------------------------------

// Symbols that both versions define are weak in the instrumented one. objcopy's --weaken does not do: it also weakens
// references, so a library's function that only this version calls (__popcountdi2) would not be linked, and be called
// at address 0.
static void write_line(FILE *out, const char *line, size_t length, bool plain) {
  char *global = plain ? NULL : name_after(line, "\t.globl\t");
  if (global)
    fprintf(out, "\t.weak\t%s\n", global);
  else
    fwrite(line, 1, length, out);
  free(global);
}

static bool write_copy(const char *path, const char *text, const Names *shared, bool plain) {
  FILE *out = fopen(path, "w");
  if (!out)
    return false;
  Functions f = {{0}, {0}};
  if (!plain)
    f = functions_of(text);
  for (const char *line = text; *line;) {
    const size_t length = strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
    if (!defines(line, shared, plain) && !exports(line, &f) && !write_ungrouped(out, line, &f))
      write_line(out, line, length, plain);
    line += length;
  }
  for (int i = 0; i < shared->count && plain; i++)
    fprintf(out, "\t.globl\t%s\n", shared->items[i]);
  names_free(&f.names);
  names_free(&f.groups);
  return fclose(out) == 0;
}

bool inspect_merge_versions(const char *instrumented, const char *plain) {
  char *instrumented_text = file_read(instrumented, NULL), *plain_text = file_read(plain, NULL);
  bool good = instrumented_text && plain_text;
  if (good) {
    Names of_instrumented = own_variables(instrumented_text), of_plain = own_variables(plain_text), shared = {0};
    for (int i = 0; i < of_instrumented.count; i++)
      if (has(&of_plain, of_instrumented.items[i]) && !has(&shared, of_instrumented.items[i]))
        add(&shared, strdup(of_instrumented.items[i]));
    good = write_copy(instrumented, instrumented_text, &shared, false) && write_copy(plain, plain_text, &shared, true);
    names_free(&of_instrumented);
    names_free(&of_plain);
    names_free(&shared);
  }
  free(instrumented_text);
  free(plain_text);
  return good;
}
