// SPDX-License-Identifier: MIT
// print(tensor), character for character as PyTorch does it (its _tensor_str.py has the rules).
//
// One width is found for all elements; more than 1000 elements are summarized to three at each edge; lines hold 80
// characters; device, dtype, grad_fn follow as suffixes.
#include "base/text.h"
#include "graph/history.h"
#include "op/ops.h"
#include "tensor/element.h"
#include "tensor/impl.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_WIDTH = 80, EDGE_ITEMS = 3, THRESHOLD = 1000, PRECISION = 4 };

static void append_spaces(FyText *t, int n) {
  fy_text_add(t, "%*s", n, "");
}

// ---- elements ----------------------------------------------------------------------------------------------------------

typedef struct Formatter {
  const FyTensor *tensor; // on the CPU
  bool floating, whole, scientific, summarize;
  int width;
} Formatter;

static void element_text(const Formatter *f, int64_t offset, char *text, size_t size) {
  FyDType dtype = f->tensor->array.dtype;
  const void *data = f->tensor->array.data;
  if (dtype == FY_BOOL) {
    snprintf(text, size, "%s", ((const uint8_t *)data)[offset] ? "True" : "False");
    return;
  }
  if (!f->floating) {
    snprintf(text, size, "%lld", (long long)fy_element_int64(data, dtype, offset));
    return;
  }
  double value = fy_element_double(data, dtype, offset);
  if (isnan(value))
    snprintf(text, size, "nan");
  else if (isinf(value))
    snprintf(text, size, value < 0 ? "-inf" : "inf");
  else if (f->scientific)
    snprintf(text, size, "%.*e", PRECISION, value);
  else if (f->whole)
    snprintf(text, size, "%.0f.", value);
  else
    snprintf(text, size, "%.*f", PRECISION, value);
}

// Calls visit for the offset of every element that is shown.
static void visit_shown(Formatter *f, int dim, int64_t offset, void (*visit)(Formatter *, int64_t, void *),
                        void *context) {
  const FyArray *a = &f->tensor->array;
  if (dim == a->ndim) {
    visit(f, offset, context);
    return;
  }
  int64_t n = a->shape[dim];
  for (int64_t i = 0; i < n; i++) {
    if (f->summarize && n > 2 * EDGE_ITEMS && i == EDGE_ITEMS)
      i = n - EDGE_ITEMS;
    visit_shown(f, dim + 1, offset + i * a->stride[dim], visit, context);
  }
}

typedef struct Range {
  double smallest, largest; // of the absolute values that are finite and not zero
  bool any, whole;
} Range;

static void visit_range(Formatter *f, int64_t offset, void *context) {
  Range *range = context;
  double value = fy_element_double(f->tensor->array.data, f->tensor->array.dtype, offset);
  if (!isfinite(value) || value == 0)
    return;
  double size = fabs(value);
  range->whole &= value == ceil(value);
  range->smallest = !range->any || size < range->smallest ? size : range->smallest;
  range->largest = !range->any || size > range->largest ? size : range->largest;
  range->any = true;
}

static void visit_width(Formatter *f, int64_t offset, void *context) {
  (void)context;
  char text[512];
  if (f->floating) {
    double value = fy_element_double(f->tensor->array.data, f->tensor->array.dtype, offset);
    if (!isfinite(value) || value == 0)
      return; // they do not count: PyTorch measures finite non-zero values only
  }
  element_text(f, offset, text, sizeof text);
  int length = (int)strlen(text);
  f->width = length > f->width ? length : f->width;
}

static void find_format(Formatter *f) {
  Range range = {.whole = true};
  f->floating = fy_dtype_is_floating(f->tensor->array.dtype);
  f->width = 1;
  f->whole = true;
  if (f->floating) {
    visit_shown(f, 0, 0, visit_range, &range);
    if (!range.any)
      return;
    double ratio = range.largest / range.smallest;
    f->whole = range.whole;
    f->scientific = ratio > 1000.0 || range.largest > 1e8 || (!range.whole && range.smallest < 1e-4);
  }
  visit_shown(f, 0, 0, visit_width, NULL);
}

// ---- brackets and lines ------------------------------------------------------------------------------------------------

static void append_element(FyText *t, const Formatter *f, int64_t offset) {
  char text[512];
  element_text(f, offset, text, sizeof text);
  fy_text_add(t, "%*s", f->width, text);
}

static void append_vector(FyText *t, const Formatter *f, int64_t offset, int indent) {
  const FyArray *a = &f->tensor->array;
  int64_t n = a->shape[a->ndim - 1], stride = a->stride[a->ndim - 1];
  bool summarize = f->summarize && n > 2 * EDGE_ITEMS;
  int per_line = (LINE_WIDTH - indent) / (f->width + 2), on_line = 0;
  if (per_line < 1)
    per_line = 1;
  fy_text_add(t, "[");
  for (int64_t i = 0, shown = 0; i < n; i++, shown++, on_line++) {
    if (on_line == per_line) {
      fy_text_add(t, ",\n");
      append_spaces(t, indent + 1);
      on_line = 0;
    } else if (shown) {
      fy_text_add(t, ", ");
    }
    if (summarize && i == EDGE_ITEMS) {
      fy_text_add(t, " ...");
      i = n - EDGE_ITEMS - 1;
      continue;
    }
    append_element(t, f, offset + i * stride);
  }
  fy_text_add(t, "]");
}

static void append_nested(FyText *t, const Formatter *f, int dim, int64_t offset, int indent) {
  const FyArray *a = &f->tensor->array;
  if (a->ndim == 0) {
    append_element(t, f, offset);
    return;
  }
  if (dim == a->ndim - 1) {
    append_vector(t, f, offset, indent);
    return;
  }
  int64_t n = a->shape[dim];
  bool summarize = f->summarize && n > 2 * EDGE_ITEMS;
  fy_text_add(t, "[");
  for (int64_t i = 0; i < n; i++) {
    if (i) {
      fy_text_add(t, ",");
      for (int k = 0; k < a->ndim - dim - 1; k++)
        fy_text_add(t, "\n");
      append_spaces(t, indent + 1);
    }
    if (summarize && i == EDGE_ITEMS) {
      fy_text_add(t, "...");
      i = n - EDGE_ITEMS - 1;
      continue;
    }
    append_nested(t, f, dim + 1, offset + i * a->stride[dim], indent + 1);
  }
  fy_text_add(t, "]");
}

// ---- suffixes ------------------------------------------------------------------------------------------------------------

static void append_suffix(FyText *t, int *line, const char *suffix) {
  int length = (int)strlen(suffix), indent = (int)strlen("tensor(");
  if (*line + length + 2 > LINE_WIDTH) {
    fy_text_add(t, ",\n");
    append_spaces(t, indent);
    fy_text_add(t, "%s", suffix);
    *line = indent + length;
  } else {
    fy_text_add(t, ", %s", suffix);
    *line += length + 2;
  }
}

static void append_suffixes(FyText *t, const FyTensor *tensor) {
  char suffix[512];
  const FyArray *a = &tensor->array;
  const char *newline = strrchr(t->bytes, '\n');
  int line = (int)(newline ? strlen(newline) + 1 : t->length + 2);
  if (a->numel == 0 && a->ndim != 1) {
    const char *sizes = fy_sizes_of(tensor); // in brackets
    snprintf(suffix, sizeof suffix, "size=(%.*s)", (int)strlen(sizes) - 2, sizes + 1);
    append_suffix(t, &line, suffix);
  }
  if (tensor->device.type != FY_CPU) {
    snprintf(suffix, sizeof suffix, "device='%s'", fy_device_name_of(tensor->device));
    append_suffix(t, &line, suffix);
  }
  bool usual = a->dtype == FY_FLOAT32 || (a->numel && (a->dtype == FY_INT64 || a->dtype == FY_BOOL));
  if (!usual) {
    snprintf(suffix, sizeof suffix, "dtype=%s", fy_dtype_name(a->dtype));
    append_suffix(t, &line, suffix);
  }
  const char *history = fy_history_name(tensor);
  if (history) {
    snprintf(suffix, sizeof suffix, "grad_fn=<%s>", history);
    append_suffix(t, &line, suffix);
  } else if (fy_has_gradient(tensor)) {
    append_suffix(t, &line, "requires_grad=True");
  }
}

char *fy_repr(const FyTensor *t) {
  char *bytes = NULL;
  fy_scope {
    FyText *text = fy_text_new();
    Formatter f = {.tensor = fy_cpu(fy_detach(t)), .summarize = t->array.numel > THRESHOLD};
    fy_text_add(text, "tensor(");
    if (t->array.numel == 0) {
      fy_text_add(text, "[]");
    } else {
      find_format(&f);
      append_nested(text, &f, 0, 0, (int)strlen("tensor("));
    }
    append_suffixes(text, t);
    fy_text_add(text, ")");
    bytes = fy_text_take(text);
  }
  return bytes;
}

void fy_fprint(FILE *file, const FyTensor *t) {
  char *text = fy_repr(t);
  fprintf(file, "%s\n", text);
  free(text);
}

void fy_print(const FyTensor *t) {
  fy_fprint(stdout, t);
}
