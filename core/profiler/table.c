// SPDX-License-Identifier: MIT
// The table of a profile, in PyTorch's layout.
#include "base/text.h"
#include "profiler/impl.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 20, LEAST_NAME = 20, MOST_NAME = 48, MOST_SHAPES = 60, MOST_SOURCE = 40, CELL = 256 };

// ---- cells: in `cell`, which is returned ---------------------------------------------------------------------------------------

static const char *time_cell(char *cell, double us) {
  if (us >= 1e6)
    snprintf(cell, CELL, "%.3fs", us / 1e6);
  else if (us >= 1e3)
    snprintf(cell, CELL, "%.3fms", us / 1e3);
  else
    snprintf(cell, CELL, "%.3fus", us);
  return cell;
}

static const char *share_cell(char *cell, double part, double whole) {
  if (whole == 0)
    snprintf(cell, CELL, part == 0 ? "0.00%%" : "NaN");
  else
    snprintf(cell, CELL, "%.2f%%", 100 * part / whole);
  return cell;
}

static const char *memory_cell(char *cell, int64_t bytes) {
  const double size = fabs((double)bytes), kb = 1024, mb = kb * kb, gb = mb * kb;
  if (size >= gb)
    snprintf(cell, CELL, "%.2f GB", (double)bytes / gb);
  else if (size >= mb)
    snprintf(cell, CELL, "%.2f MB", (double)bytes / mb);
  else if (size >= kb)
    snprintf(cell, CELL, "%.2f KB", (double)bytes / kb);
  else
    snprintf(cell, CELL, "%lld B", (long long)bytes);
  return cell;
}

static const char *source_cell(char *cell, const FyAverage *row) {
  const char *slash = row->file ? strrchr(row->file, '/') : NULL;
  if (!row->file)
    return "";
  snprintf(cell, CELL, "%s:%d", slash ? slash + 1 : row->file, row->line);
  return cell;
}

// ---- columns -------------------------------------------------------------------------------------------------------------------

typedef enum Column {
  SELF_CPU_SHARE,
  SELF_CPU,
  CPU_SHARE,
  CPU,
  CPU_AVERAGE,
  SELF_CUDA,
  SELF_CUDA_SHARE,
  CUDA,
  CUDA_AVERAGE,
  CPU_MEMORY,
  SELF_CPU_MEMORY,
  CUDA_MEMORY,
  SELF_CUDA_MEMORY,
  CALLS,
  SHAPES,
  SOURCE,
  FLOPS,
} Column;

static const char *const titles[] = {
    [SELF_CPU_SHARE] = "Self CPU %",
    [SELF_CPU] = "Self CPU",
    [CPU_SHARE] = "CPU total %",
    [CPU] = "CPU total",
    [CPU_AVERAGE] = "CPU time avg",
    [SELF_CUDA] = "Self CUDA",
    [SELF_CUDA_SHARE] = "Self CUDA %",
    [CUDA] = "CUDA total",
    [CUDA_AVERAGE] = "CUDA time avg",
    [CPU_MEMORY] = "CPU Mem",
    [SELF_CPU_MEMORY] = "Self CPU Mem",
    [CUDA_MEMORY] = "CUDA Mem",
    [SELF_CUDA_MEMORY] = "Self CUDA Mem",
    [CALLS] = "# of Calls",
    [SHAPES] = "Input Shapes",
    [SOURCE] = "Source Location",
    [FLOPS] = "Total FLOPs",
};

typedef struct Layout {
  const FyKeyAverages *averages;
  const FyAverage **rows; // in the order to be printed
  int row_count;
  Column columns[MOST_COLUMNS];
  int count;
  int name_width, width[MOST_COLUMNS];
  double flops_unit;
  char flops_title[24];
} Layout;

static const char *cell_of(const Layout *layout, const FyAverage *row, Column column, char *cell) {
  const FyKeyAverages *a = layout->averages;
  const double calls = row->count ? (double)row->count : 1;
  switch (column) {
  case SELF_CPU_SHARE:
    return share_cell(cell, row->self_cpu_time_total, a->self_cpu_time_total);
  case SELF_CPU:
    return time_cell(cell, row->self_cpu_time_total);
  case CPU_SHARE:
    return share_cell(cell, row->cpu_time_total, a->self_cpu_time_total);
  case CPU:
    return time_cell(cell, row->cpu_time_total);
  case CPU_AVERAGE:
    return time_cell(cell, row->cpu_time_total / calls);
  case SELF_CUDA:
    return time_cell(cell, row->self_cuda_time_total);
  case SELF_CUDA_SHARE:
    return share_cell(cell, row->self_cuda_time_total, a->self_cuda_time_total);
  case CUDA:
    return time_cell(cell, row->cuda_time_total);
  case CUDA_AVERAGE:
    return time_cell(cell, row->cuda_time_total / calls);
  case CPU_MEMORY:
    return memory_cell(cell, row->cpu_memory_usage);
  case SELF_CPU_MEMORY:
    return memory_cell(cell, row->self_cpu_memory_usage);
  case CUDA_MEMORY:
    return memory_cell(cell, row->cuda_memory_usage);
  case SELF_CUDA_MEMORY:
    return memory_cell(cell, row->self_cuda_memory_usage);
  case CALLS:
    snprintf(cell, CELL, "%lld", (long long)row->count);
    return cell;
  case SHAPES:
    return row->input_shapes;
  case SOURCE:
    return source_cell(cell, row);
  case FLOPS:
    snprintf(cell, CELL, "%.3f", row->flops / layout->flops_unit);
    return row->flops > 0 ? cell : "--";
  }
  return "";
}

static void add_column(Layout *layout, Column column, int most) {
  const char *title = column == FLOPS ? layout->flops_title : titles[column];
  int width = (int)strlen(title);
  for (int i = 0; i < layout->row_count; i++) {
    char cell[CELL];
    int length = (int)strlen(cell_of(layout, layout->rows[i], column, cell));
    width = length > width ? length : width;
  }
  layout->width[layout->count] = width < most ? width : most;
  layout->columns[layout->count++] = column;
}

// The least of the rows' says which unit all of them are in.
static bool choose_flops_unit(Layout *layout) {
  static const char *const units[] = {"FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"};
  double least = 0;
  for (int i = 0; i < layout->averages->count; i++) {
    double flops = layout->averages->rows[i].flops;
    if (flops > 0 && (least == 0 || flops < least))
      least = flops;
  }
  int unit = 0;
  for (layout->flops_unit = 1; unit < 5 && least >= 1000 * layout->flops_unit; unit++)
    layout->flops_unit *= 1000;
  snprintf(layout->flops_title, sizeof layout->flops_title, "Total %s", units[unit]);
  return least > 0;
}

static void choose_columns(Layout *layout) {
  const FyKeyAverages *a = layout->averages;
  bool cuda = a->self_cuda_time_total > 0, cuda_memory = false, shapes = false;
  for (int i = 0; i < a->count; i++) {
    cuda_memory |= a->rows[i].self_cuda_memory_usage != 0;
    shapes |= a->rows[i].input_shapes[0] != '\0';
  }
  for (Column c = SELF_CPU_SHARE; c <= CPU_AVERAGE; c++)
    add_column(layout, c, CELL);
  for (Column c = SELF_CUDA; cuda && c <= CUDA_AVERAGE; c++)
    add_column(layout, c, CELL);
  for (Column c = CPU_MEMORY; a->options.profile_memory && c <= (cuda_memory ? SELF_CUDA_MEMORY : SELF_CPU_MEMORY); c++)
    add_column(layout, c, CELL);
  add_column(layout, CALLS, CELL);
  if (shapes)
    add_column(layout, SHAPES, MOST_SHAPES);
  if (a->options.with_stack)
    add_column(layout, SOURCE, MOST_SOURCE);
  if (a->options.with_flops && choose_flops_unit(layout))
    add_column(layout, FLOPS, CELL);
}

// ---- sorting ---------------------------------------------------------------------------------------------------------------------

typedef double Measure(const FyAverage *row);

#define MEASURE(name, value)                                                                                           \
  static double name(const FyAverage *row) {                                                                           \
    return (double)(value);                                                                                            \
  }
MEASURE(by_cpu, row->cpu_time_total)
MEASURE(by_self_cpu, row->self_cpu_time_total)
MEASURE(by_cpu_time, row->cpu_time_total / (double)row->count)
MEASURE(by_cuda, row->cuda_time_total)
MEASURE(by_self_cuda, row->self_cuda_time_total)
MEASURE(by_cuda_time, row->cuda_time_total / (double)row->count)
MEASURE(by_cpu_memory, row->cpu_memory_usage)
MEASURE(by_self_cpu_memory, row->self_cpu_memory_usage)
MEASURE(by_cuda_memory, row->cuda_memory_usage)
MEASURE(by_self_cuda_memory, row->self_cuda_memory_usage)
MEASURE(by_count, row->count)
MEASURE(by_flops, row->flops)

static const struct {
  const char *name;
  Measure *measure;
} measures[] = {
    {"cpu_time_total", by_cpu},
    {"self_cpu_time_total", by_self_cpu},
    {"cpu_time", by_cpu_time},
    {"cuda_time_total", by_cuda},
    {"self_cuda_time_total", by_self_cuda},
    {"cuda_time", by_cuda_time},
    {"cpu_memory_usage", by_cpu_memory},
    {"self_cpu_memory_usage", by_self_cpu_memory},
    {"cuda_memory_usage", by_cuda_memory},
    {"self_cuda_memory_usage", by_self_cuda_memory},
    {"count", by_count},
    {"flops", by_flops},
};
enum { MEASURES = sizeof measures / sizeof *measures };

static Measure *measure_named(const char *name) {
  for (int i = 0; i < MEASURES; i++)
    if (strcmp(measures[i].name, name) == 0)
      return measures[i].measure;
  FyText *all = fy_text_new();
  for (int i = 0; i < MEASURES; i++)
    fy_text_add(all, "%s%s", i ? ", " : "", measures[i].name);
  fy_raise(FY_VALUE_ERROR, "fy_key_averages_table: nothing to sort by is named '%s'; it can be %s", name, all->bytes);
}

// Equal ones stay in their order, as in Python.
static void sort(const FyAverage **rows, int count, Measure *measure) {
  for (int i = 1; i < count; i++) {
    const FyAverage *row = rows[i];
    int place = i;
    for (; place > 0 && measure(rows[place - 1]) < measure(row); place--)
      rows[place] = rows[place - 1];
    rows[place] = row;
  }
}

// ---- writing -----------------------------------------------------------------------------------------------------------------

static void write_rule(FyText *text, const Layout *layout) {
  static const char dashes[] = "------------------------------------------------------------";
  fy_text_add(text, "%.*s", layout->name_width, dashes);
  for (int i = 0; i < layout->count; i++)
    fy_text_add(text, "  %.*s", layout->width[i], dashes);
  fy_text_add(text, "\n");
}

// A name too long is cut, as PyTorch does.
static void write_name(FyText *text, const Layout *layout, const char *name) {
  int width = layout->name_width;
  if ((int)strlen(name) > width)
    fy_text_add(text, "%.*s...", width - 3, name);
  else
    fy_text_add(text, "%*s", width, name);
}

static void write_row(FyText *text, const Layout *layout, const FyAverage *row) {
  char cell[CELL];
  write_name(text, layout, row ? row->key : "Name");
  for (int i = 0; i < layout->count; i++) {
    Column column = layout->columns[i];
    const char *title = column == FLOPS ? layout->flops_title : titles[column];
    fy_text_add(text, "  %*.*s", layout->width[i], layout->width[i], row ? cell_of(layout, row, column, cell) : title);
  }
  fy_text_add(text, "\n");
}

static void write_sums(FyText *text, const FyKeyAverages *a) {
  char cell[CELL];
  fy_text_add(text, "Self CPU time total: %s\n", time_cell(cell, a->self_cpu_time_total));
  if (a->self_cuda_time_total > 0)
    fy_text_add(text, "Self CUDA time total: %s%s\n", time_cell(cell, a->self_cuda_time_total),
                a->model       ? " (modeled)"
                : a->simulated ? " (simulated)"
                               : "");
  if (a->dropped)
    fy_text_add(text, "Not kept: %lld ranges\n", (long long)a->dropped);
}

static void write_table(FyText *text, Layout *layout) {
  int longest = 0;
  for (int i = 0; i < layout->row_count; i++) {
    int length = (int)strlen(layout->rows[i]->key);
    longest = length > longest ? length : longest;
  }
  layout->name_width = longest < LEAST_NAME ? LEAST_NAME : longest > MOST_NAME ? MOST_NAME : longest;
  choose_columns(layout);
  if (layout->averages->model && layout->averages->self_cuda_time_total > 0)
    fy_text_add(text, "CUDA times are %s.\n", layout->averages->model);
  else if (layout->averages->simulated && layout->averages->self_cuda_time_total > 0)
    fy_text_add(text, "CUDA times are those of a simulated device, not of a GPU.\n");
  write_rule(text, layout);
  write_row(text, layout, NULL);
  write_rule(text, layout);
  for (int i = 0; i < layout->row_count; i++)
    write_row(text, layout, layout->rows[i]);
  write_rule(text, layout);
  write_sums(text, layout->averages);
}

typedef struct RowList {
  FyObject object;
  const FyAverage **rows;
} RowList;

static void free_list(void *object) {
  free(((RowList *)object)->rows);
  free(object);
}

static const FyAverage **sorted_rows(const FyKeyAverages *a, Measure *measure) {
  RowList *list = fy_object_new(sizeof *list, free_list);
  list->rows = malloc(((size_t)a->count + 1) * sizeof *list->rows);
  fy_check(list->rows, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a table of %d rows", a->count);
  for (int i = 0; i < a->count; i++)
    list->rows[i] = &a->rows[i];
  if (measure)
    sort(list->rows, a->count, measure);
  return list->rows;
}

const char *fy_key_averages_table_with(FyKeyAveragesTable options) {
  const FyKeyAverages *a = options.averages;
  fy_check(a, FY_TYPE_ERROR, "fy_key_averages_table: the averages are NULL");
  FyText *text = fy_text_new();
  if (!a->count)
    return text->bytes;
  fy_scope {
    Layout layout = {.averages = a};
    int limit = options.row_limit > 0 ? options.row_limit : 100;
    layout.rows = sorted_rows(a, options.sort_by ? measure_named(options.sort_by) : NULL);
    layout.row_count = a->count < limit ? a->count : limit;
    write_table(text, &layout);
  }
  return text->bytes;
}
