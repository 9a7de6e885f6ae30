// SPDX-License-Identifier: MIT
#include "golden.h"

#include "op/creation/factory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void bad(const char *name, int line, const char *what) {
  fprintf(stderr, "golden file %s, line %d: %s\n", name, line, what);
  exit(2);
}

const char *golden_directory(void) {
  const char *directory = getenv("FERRY_GOLDEN");
  return directory ? directory : "tests/golden";
}

static FILE *open_golden(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.txt", golden_directory(), name);
  FILE *file = fopen(path, "r");
  if (!file) {
    fprintf(stderr, "%s: cannot open (run the tests from the project's folder, or set FERRY_GOLDEN)\n", path);
    exit(2);
  }
  return file;
}

static FyDType dtype_named(const char *word) {
  if (strcmp(word, "x") == 0 || strcmp(word, "float") == 0)
    return FY_DEFAULT_DTYPE;
  for (int d = FY_BOOL; d < FY_DTYPE_COUNT; d++)
    if (strcmp(fy_dtype_name((FyDType)d) + strlen("torch."), word) == 0)
      return (FyDType)d;
  return FY_DTYPE_COUNT;
}

static FySize parse_shape(const char *word) {
  FySize shape = {.ndim = 0};
  if (strcmp(word, "-") == 0)
    return shape;
  for (char *end; *word; word = *end ? end + 1 : end)
    shape.dim[shape.ndim++] = strtoll(word, &end, 10);
  return shape;
}

static void parse_values(GoldenTensor *t, char *text, const char *name, int line) {
  t->numel = 1;
  for (int i = 0; i < t->shape.ndim; i++)
    t->numel *= t->shape.dim[i];
  t->values = calloc((size_t)t->numel + 1, sizeof *t->values);
  t->present = true;
  char *at = text ? text : "";
  for (int64_t i = 0; i < t->numel; i++) {
    char *end;
    t->values[i] = strtod(at, &end);
    if (end == at)
      bad(name, line, "too few values");
    at = end;
  }
}

// `line` after its first words: the shape word, then " : values".
static void parse_tensor(GoldenTensor *t, char *shape_word, char *text, const char *name, int line) {
  t->shape = parse_shape(shape_word);
  parse_values(t, text, name, line);
}

static void parse_line(GoldenCase *c, char *line, char *text, const char *name, int number) {
  char a[64] = "", b[192] = "", d[64] = "";
  sscanf(line, "%*s %63s %191s %63s", a, b, d);
  if (strncmp(line, "input ", 6) == 0) {
    GoldenTensor *t = &c->in[c->n_in++];
    t->dtype = dtype_named(a);
    t->grad = strcmp(d, "grad") == 0;
    parse_tensor(t, b, text, name, number);
  } else if (strncmp(line, "output ", 7) == 0) {
    GoldenTensor *t = &c->out[c->n_out++];
    t->dtype = dtype_named(a);
    parse_tensor(t, b, text, name, number);
  } else if (strncmp(line, "grad_output ", 12) == 0) {
    parse_tensor(&c->grad_output, a, text, name, number);
  } else if (strncmp(line, "grad ", 5) == 0) {
    parse_tensor(&c->grad[atoi(a)], b, text, name, number);
  } else {
    bad(name, number, "unknown kind of line");
  }
}

static void start_case(GoldenCase *c, const char *line, const char *name, int number) {
  char dtype[32];
  int used = 0;
  memset(c, 0, sizeof *c);
  if (sscanf(line, "case %31s %47s %31s %n", c->op, c->id, dtype, &used) < 3)
    bad(name, number, "case OP ID DTYPE expected");
  c->dtype = dtype_named(dtype);
  snprintf(c->args, sizeof c->args, "%s", line + used);
}

GoldenCase *golden_read(const char *name, int *count) {
  FILE *file = open_golden(name);
  GoldenCase *cases = NULL, *c = NULL;
  char *line = NULL;
  size_t size = 0;
  *count = 0;
  for (int number = 1; getline(&line, &size, file) > 0; number++) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "case ", 5) == 0) {
      cases = realloc(cases, (size_t)(*count + 1) * sizeof *cases);
      c = &cases[(*count)++];
      start_case(c, line, name, number);
    } else if (strncmp(line, "raises ", 7) == 0) {
      char *text = strstr(line, ": ");
      if (!c || !text)
        bad(name, number, "raises CLASS: TEXT expected");
      snprintf(c->error, sizeof c->error, "%.*s", (int)(text - line - 7), line + 7);
      snprintf(c->raises, sizeof c->raises, "%s", text + 2);
    } else if (strcmp(line, "end") != 0) {
      char *colon = strstr(line, " :");
      if (!c || !colon)
        bad(name, number, "' :' expected");
      *colon = '\0';
      parse_line(c, line, colon + 2, name, number);
    }
  }
  free(line);
  fclose(file);
  return cases;
}

void golden_free(GoldenCase *cases, int count) {
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < GOLDEN_INPUTS; k++) {
      free(cases[i].in[k].values);
      free(cases[i].grad[k].values);
    }
    for (int k = 0; k < GOLDEN_OUTPUTS; k++)
      free(cases[i].out[k].values);
    free(cases[i].grad_output.values);
  }
  free(cases);
}

static const char *value_of(const GoldenCase *c, const char *key) {
  size_t length = strlen(key);
  for (const char *at = c->args; at && *at; at = strchr(at, ' ')) {
    at += *at == ' ';
    if (strncmp(at, key, length) == 0 && at[length] == '=')
      return at + length + 1;
  }
  return NULL;
}

double golden_number(const GoldenCase *c, const char *key, double fallback) {
  const char *value = value_of(c, key);
  return value ? strtod(value, NULL) : fallback;
}

FySize golden_shape(const GoldenCase *c, const char *key) {
  char word[128];
  const char *value = value_of(c, key);
  if (!value || sscanf(value, "%127s", word) != 1) {
    fprintf(stderr, "golden case %s %s has no %s\n", c->op, c->id, key);
    exit(2);
  }
  return parse_shape(word);
}

bool golden_has(const GoldenCase *c, const char *key, const char *wanted) {
  const char *value = value_of(c, key);
  size_t length = strlen(wanted);
  return value && strncmp(value, wanted, length) == 0 && (value[length] == ' ' || !value[length]);
}

FyTensor *golden_tensor(const char *name, const char *key) {
  FILE *file = open_golden(name);
  FyTensor *tensor = NULL;
  char *line = NULL;
  size_t size = 0;
  while (!tensor && getline(&line, &size, file) > 0) {
    char found[64], dtype[32], shape[64];
    if (sscanf(line, "tensor %63s %31s %63s", found, dtype, shape) != 3 || strcmp(found, key) != 0)
      continue;
    GoldenTensor t = {.dtype = dtype_named(dtype)};
    parse_tensor(&t, shape, strstr(line, " :") + 2, name, 0);
    tensor = fy_tensor(t.values, t.shape, .dtype = t.dtype);
    free(t.values);
  }
  free(line);
  fclose(file);
  if (!tensor) {
    fprintf(stderr, "golden file %s has no tensor %s\n", name, key);
    exit(2);
  }
  return tensor;
}
