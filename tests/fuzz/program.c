// SPDX-License-Identifier: MIT
// Reads lines of a program: names, `key=value` arguments, and numbers behind a colon.
#include "program.h"
#include <stdlib.h>
#include <string.h>

static bool add_word(Statement *s, char *word, char **before_equals, int n_before) {
  if (strcmp(word, "=") == 0) {
    for (int i = 0; i < n_before; i++)
      s->outputs[s->n_outputs++] = before_equals[i];
    s->name = NULL;
    return true;
  }
  char *equals = strchr(word, '=');
  if (!equals) {
    s->name = word;
    return n_before < MAX_RESULTS;
  }
  if (s->n_arguments == MAX_ARGUMENTS)
    return false;
  *equals = '\0';
  s->arguments[s->n_arguments++] = (Argument){word, equals + 1};
  return true;
}

bool parse_statement(Statement *s, const char *line) {
  char *words[MAX_RESULTS + 1], *rest = NULL;
  int n = 0;
  memset(s, 0, sizeof *s);
  s->text = strdup(line);
  char *colon = strstr(s->text, " : ");
  if (colon) {
    *colon = '\0';
    s->values = colon + 3;
  }
  for (char *word = strtok_r(s->text, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
    if (!add_word(s, word, words, n))
      return false;
    if (n < MAX_RESULTS)
      words[n++] = word;
  }
  return s->name != NULL;
}

void free_statement(Statement *s) {
  free(s->text);
}

const char *argument(const Statement *s, const char *name) {
  for (int i = 0; i < s->n_arguments; i++)
    if (strcmp(s->arguments[i].name, name) == 0)
      return s->arguments[i].value;
  return NULL;
}

int slot_of(const char *name) {
  char *end;
  if (!name || !strchr("tmo", name[0]) || name[0] == '\0')
    return -1;
  long slot = strtol(name + 1, &end, 10);
  return *end == '\0' && end != name + 1 && slot >= 0 && slot < (name[0] == 't' ? MAX_TENSORS : MAX_OBJECTS) ? (int)slot
                                                                                                             : -1;
}

FyDevice device_named(const char *name) {
  return strcmp(name, "dev") == 0 ? machine.device : fy_device(name);
}

const char *device_text(FyDevice device) {
  return fy_device_equal(device, machine.device) ? "dev" : fy_device_name_of(device);
}

FyDType dtype_named(const char *name) {
  for (int i = 1; i < FY_DTYPE_COUNT; i++)
    if (strcmp(fy_dtype_name((FyDType)i) + strlen("torch."), name) == 0)
      return (FyDType)i;
  return FY_DEFAULT_DTYPE;
}
