// SPDX-License-Identifier: MIT
// The record: docs/dev/step_record.md. ./ferry adds the source text.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/step/step.h"

void step_write_quoted(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      fprintf(out, "\\%c", *text);
    else if ((unsigned char)*text < ' ')
      fprintf(out, "\\u%04x", (unsigned)*text);
    else
      fputc(*text, out);
  fputc('"', out);
}

// ---- values ------------------------------------------------------------------------------------------------------------------

static void write_float(FILE *out, const unsigned char *bytes, size_t size) {
  float single;
  double number;
  if (size == sizeof single) {
    memcpy(&single, bytes, sizeof single);
    number = (double)single;
  } else {
    memcpy(&number, bytes, sizeof number);
  }
  if (isnan(number) || isinf(number)) {
    fprintf(out, "\"%s\"", isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
    return;
  }
  if (number == floor(number) && fabs(number) < 1e15) {
    fprintf(out, "%.0f", number);
    return;
  }
  for (int digits = 1; digits <= 17; digits++) { // as few as tell it from its neighbors
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, number);
    const double back = strtod(text, NULL);
    if (back == number || (size == sizeof single && (float)back == (float)number)) {
      fputs(text, out);
      return;
    }
  }
  fprintf(out, "%.17g", number);
}

static void write_pointer(FILE *out, uint64_t pointer) {
  char *own = NULL;
  for (int i = 0; i < step_array_count; i++)
    if (pointer - step_arrays[i].address <= step_arrays[i].bytes) {
      fprintf(out, "\"&%s[%llu]\"", step_arrays[i].name,
              (unsigned long long)((pointer - step_arrays[i].address) / step_arrays[i].element));
      return;
    }
  if ((own = step_own_pointer(pointer)))
    step_write_quoted(out, own);
  else
    fprintf(out, "\"0x%llx\"", (unsigned long long)pointer);
  free(own);
}

static void write_integer(FILE *out, char kind, const unsigned char *bytes, size_t size) {
  uint64_t number = 0;
  memcpy(&number, bytes, size < sizeof number ? size : sizeof number);
  const unsigned unused = size < sizeof number ? (unsigned)(64 - 8 * size) : 0;
  if (kind == 'i' || kind == 'c')
    fprintf(out, "%lld", (long long)(number << unused) >> unused);
  else
    fprintf(out, "%llu", (unsigned long long)number);
}

static void write_element(FILE *out, const struct cudasim_step_type *type, const unsigned char *bytes);

static void write_typed(FILE *out, const struct cudasim_step_type *type, const unsigned char *bytes) {
  if (type->count == 1) {
    write_element(out, type, bytes);
    return;
  }
  for (unsigned i = 0; i < type->count; i++) {
    fputc(i ? ',' : '[', out);
    write_element(out, type, bytes + (size_t)i * type->bytes);
  }
  fputc(']', out);
}

static void write_bytes(FILE *out, const unsigned char *bytes, size_t count) {
  enum { MOST = 16 };
  fputc('"', out);
  for (size_t i = 0; i < count && i < MOST; i++)
    fprintf(out, "%02x", bytes[i]);
  fputs(count > MOST ? "...\"" : "\"", out);
}

static void write_element(FILE *out, const struct cudasim_step_type *type, const unsigned char *bytes) {
  uint64_t pointer;
  if (step_is_unset(bytes, type->bytes)) {
    fputs("null", out);
  } else if (type->kind == 'x' && type->members) {
    for (const struct cudasim_step_member *m = type->members; m->name; m++) {
      fputc(m == type->members ? '[' : ',', out);
      write_typed(out, &m->type, bytes + m->offset);
    }
    fputc(']', out);
  } else if (type->kind == 'f' && (type->bytes == 4 || type->bytes == 8)) {
    write_float(out, bytes, type->bytes);
  } else if (type->kind == 'p' && type->bytes == sizeof pointer) {
    memcpy(&pointer, bytes, sizeof pointer);
    write_pointer(out, pointer);
  } else if (type->kind == 'x' || type->bytes > 8) {
    write_bytes(out, bytes, type->bytes);
  } else {
    write_integer(out, type->kind, bytes, type->bytes);
  }
}

// ---- one entry for each lane ---------------------------------------------------------------------------------------------------

struct list {
  char *text[WARP];
  int count;
};

static FILE *begin_entry(struct list *list, size_t *bytes) {
  FILE *out = open_memstream(&list->text[list->count], bytes);
  if (out == NULL)
    inspect_give_up("out of memory");
  list->count++;
  return out;
}

static void add_number(struct list *list, long long number) {
  size_t bytes;
  FILE *out = begin_entry(list, &bytes);
  fprintf(out, "%lld", number);
  fclose(out);
}

static bool whole(const char *text, long long *number) {
  char *end;
  *number = strtoll(text, &end, 10);
  return *text && *end == '\0' && strlen(text) < 18;
}

static void drop_list(struct list *list) {
  for (int i = 0; i < list->count; i++)
    free(list->text[i]);
}

// Equal values as one, and numbers in equal steps as the first and the difference.
static void write_list(FILE *out, struct list *list) {
  bool same = true, regular = list->count > 2;
  long long first = 0, second = 0, number;
  for (int i = 0; i < list->count; i++)
    same &= strcmp(list->text[i], list->text[0]) == 0;
  regular = regular && whole(list->text[0], &first) && whole(list->text[1], &second);
  for (int i = 2; i < list->count && regular; i++)
    regular = whole(list->text[i], &number) && number == first + i * (second - first);
  if (same)
    fprintf(out, "[%s]", list->text[0]);
  else if (regular)
    fprintf(out, "{\"a\":[%lld,%lld]}", first, second - first);
  else
    for (int i = 0; i < list->count; i++)
      fprintf(out, "%s%s%s", i ? "," : "[", list->text[i], i + 1 == list->count ? "]" : "");
  drop_list(list);
}

static void write_change(FILE *out, const struct step_change *c) {
  struct list list = {0};
  size_t bytes;
  fprintf(out, "[%d,%d,%u,", c->variable, c->depth, c->lanes);
  for (int lane = 0; lane < WARP; lane++)
    if (c->lanes >> lane & 1) {
      FILE *entry = begin_entry(&list, &bytes);
      write_typed(entry, &step_variables[c->variable].type, c->values + (size_t)lane * c->bytes);
      fclose(entry);
    }
  write_list(out, &list);
  fputc(']', out);
}

// An access may be of several elements, or of a part of one.
static void write_accessed(FILE *out, const struct step_access *a, const unsigned char *value) {
  const struct step_array *array = &step_arrays[a->array];
  struct cudasim_step_type type = {
      .kind = array->kind, .bytes = (unsigned short)a->bytes, .count = 1, .members = array->members};
  if (array->kind == 'x' && a->bytes != array->element) {
    const struct cudasim_step_member *first = array->members; // the others are mostly like it
    type = (struct cudasim_step_type){.kind = 'u', .bytes = (unsigned short)(a->bytes < 4 ? a->bytes : 4)};
    type.count = a->bytes / type.bytes;
    if (first && first->type.bytes == type.bytes)
      type.kind = first->type.kind;
  } else if (a->bytes > array->element) {
    type.bytes = (unsigned short)array->element;
    type.count = a->bytes / array->element;
  } else if (a->bytes < array->element && array->kind == 'f') {
    type.kind = 'u';
  }
  write_typed(out, &type, value);
}

static void write_values(FILE *out, const struct step_access *a, const unsigned char (*values)[STEP_ACCESS_BYTES]) {
  struct list list = {0};
  size_t bytes;
  for (int lane = 0; lane < WARP; lane++)
    if (a->lanes >> lane & 1) {
      FILE *entry = begin_entry(&list, &bytes);
      write_accessed(entry, a, values[lane]);
      fclose(entry);
    }
  write_list(out, &list);
}

static void write_access(FILE *out, const struct step_access *a) {
  struct list offsets = {0};
  fprintf(out, "[\"%c\",%d,%u,%u,", a->kind, a->array, a->bytes, a->lanes);
  for (int lane = 0; lane < WARP; lane++)
    if (a->lanes >> lane & 1)
      add_number(&offsets, a->offset[lane]);
  write_list(out, &offsets);
  fputc(',', out);
  write_values(out, a, a->value);
  if (a->kind == 'a') {
    fputc(',', out);
    write_values(out, a, a->before);
  }
  fputc(']', out);
}

static void write_met(FILE *out, const struct step *s) {
  struct list brings = {0}, from = {0};
  bool of_one = false;
  size_t bytes;
  for (int lane = 0; lane < WARP; lane++) {
    unsigned char value[8];
    if (!(s->met_lanes >> lane & 1))
      continue;
    memcpy(value, &s->brings[lane], sizeof value);
    FILE *entry = begin_entry(&brings, &bytes);
    write_typed(entry, &s->met_type, value);
    fclose(entry);
    add_number(&from, s->from[lane]);
    of_one |= s->from[lane] >= 0;
  }
  fprintf(out, ",\"met\":[%u,", s->met_mask);
  write_list(out, &brings);
  if (of_one) {
    fputc(',', out);
    write_list(out, &from);
  } else {
    drop_list(&from);
  }
  fputc(']', out);
}

// ---- steps ---------------------------------------------------------------------------------------------------------------------

char *step_text(const struct step *s) {
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  if (out == NULL)
    inspect_give_up("out of memory");
  fprintf(out, "{\"k\":\"%c\",\"w\":%d,\"s\":%d,\"m\":%u", s->kind, s->warp, s->statement, s->lanes);
  if (s->kind == 's' && s->statement == 0)
    fprintf(out, ",\"n\":%d", s->function);
  for (int i = 0; i < s->depth; i++)
    fprintf(out, "%s%d%s", i ? "," : ",\"c\":[", s->calls[i], i + 1 == s->depth ? "]" : "");
  if (s->note) {
    fputs(",\"t\":", out);
    step_write_quoted(out, s->note);
  }
  if (s->met_mask)
    write_met(out, s);
  for (int i = 0; i < s->change_count; i++) {
    fputs(i ? "," : ",\"v\":[", out);
    write_change(out, &s->changes[i]);
  }
  fputs(s->change_count ? "]" : "", out);
  for (int i = 0; i < s->access_count; i++) {
    fputs(i ? "," : ",\"a\":[", out);
    write_access(out, &s->accesses[i]);
  }
  fputs(s->access_count ? "]}" : "}", out);
  fclose(out);
  return text;
}

// ---- the whole -----------------------------------------------------------------------------------------------------------------

static void write_type(FILE *out, const struct cudasim_step_type *type) {
  if (type->kind == 'x')
    fputs("\"x\"", out);
  else
    fprintf(out, "\"%c%u\"", type->kind, 8u * type->bytes);
  fprintf(out, ",%u", type->count);
}

static void write_variable(FILE *out, const struct step_variable *v) {
  fprintf(out, "[%d,", v->function);
  step_write_quoted(out, v->name);
  fputc(',', out);
  write_type(out, &v->type);
  if (v->type.members || v->type.rank > 1) {
    fputs(",[", out);
    for (const struct cudasim_step_member *m = v->type.members; m && m->name; m++) {
      fputs(m == v->type.members ? "[" : ",[", out);
      step_write_quoted(out, m->name);
      fputc(',', out);
      write_type(out, &m->type);
      fputc(']', out);
    }
    fputc(']', out);
  }
  for (unsigned i = 0; v->type.rank > 1 && i < v->type.rank && i < CUDASIM_STEP_DIMENSIONS; i++)
    fprintf(out, "%s%u%s", i ? "," : ",[", v->type.dimensions[i], i + 1 == v->type.rank ? "]" : "");
  fputc(']', out);
}

static void write_array(FILE *out, const struct step_array *a) {
  fprintf(out, "{\"s\":%d,\"name\":", a->shared);
  step_write_quoted(out, a->name);
  fprintf(out, ",\"bytes\":%llu,\"e\":%u,\"k\":\"%c\",\"d\":[%u,%u,%u],\"bank\":%u,\"at\":%u}",
          (unsigned long long)a->bytes, a->element, a->kind, a->dimensions[0], a->dimensions[1], a->dimensions[2],
          (unsigned)(a->address / 4 % WARP), (unsigned)(a->address % 128));
}

static void write_three(FILE *out, const char *name, unsigned x, unsigned y, unsigned z) {
  fprintf(out, "\"%s\":[%u,%u,%u],", name, x, y, z);
}

void step_write_record(void) {
  const char *path = getenv("FERRY_STEP_RECORD");
  FILE *out = path ? fopen(path, "w") : NULL;
  if (out == NULL)
    inspect_give_up("the record cannot be written");
  fputs("\"kernel\":", out);
  step_write_quoted(out, step_block.kernel);
  fputs(",\n", out);
  write_three(out, "grid", step_block.grid.x, step_block.grid.y, step_block.grid.z);
  write_three(out, "block", step_block.block.x, step_block.block.y, step_block.block.z);
  write_three(out, "at", step_block.at[0], step_block.at[1], step_block.at[2]);
  fprintf(out, "\n\"launch\":%u,\"end\":\"%s\",\"limit\":%d,\n", step_block.launch, step_block.end, step_block.limit);
  step_table_write(out);
  fputs("\"variables\":[", out);
  for (int i = 0; i < step_variable_count; i++) {
    fputs(i ? "," : "", out);
    write_variable(out, &step_variables[i]);
  }
  fputs("],\n\"arrays\":[", out);
  for (int i = 0; i < step_array_count; i++) {
    fputs(i ? ",\n" : "", out);
    write_array(out, &step_arrays[i]);
  }
  fputs("],\n", out);
  step_findings_write(out);
  fputs("\"steps\":[\n", out);
  for (int i = 0; i < step_count; i++)
    fprintf(out, "%s%s", i ? ",\n" : "", step_steps[i].text);
  fputs("\n]}\n", out);
  if (fclose(out) != 0)
    inspect_give_up("the record cannot be written");
}
