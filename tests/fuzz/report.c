// SPDX-License-Identifier: MIT
// What a program leaves behind, as text: one line for each tensor, gradient and hook.
#include "program.h"
#include "tensor/element.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_list(FILE *out, int n, int64_t (*at)(const FyTensor *, int), const FyTensor *t) {
  fputc(' ', out);
  if (n == 0)
    fputc('-', out);
  for (int i = 0; i < n; i++)
    fprintf(out, "%s%lld", i ? "," : "", (long long)at(t, i));
}

// dtype, shape, strides, device; of a variable also offset, requires_grad, is_leaf, grad_fn, _version, is_contiguous.
static void write_shape(FILE *out, const FyTensor *t) {
  fprintf(out, " %s", fy_dtype_name(fy_dtype_of(t)) + strlen("torch."));
  write_list(out, fy_dim(t), fy_size_at, t);
  write_list(out, fy_dim(t), fy_stride_at, t);
  fprintf(out, " %s", device_text(fy_device_of(t)));
}

static void write_variable(FILE *out, const FyTensor *t) {
  const char *grad_fn = fy_grad_fn_name(t);
  write_shape(out, t);
  fprintf(out, " %lld %d %d %s %u %d", (long long)fy_storage_offset(t), fy_requires_grad(t), fy_is_leaf(t),
          grad_fn ? grad_fn : "-", fy_version_of(t), fy_is_contiguous(t));
}

static void write_number(FILE *out, double v, FyDType dtype) {
  if (isnan(v))
    fputs(" nan", out);
  else if (fabs(v) < 2147483648.0 && v == (double)(int)v)
    fprintf(out, signbit(v) && v == 0 ? " -0" : " %d", (int)v);
  else
    fprintf(out, dtype == FY_FLOAT64 || !fy_dtype_is_floating(dtype) ? " %.17g" : " %.9g", v);
}

static void write_values(FILE *out, const FyTensor *t) {
  fputs(" :", out);
  FyDType dtype = fy_dtype_of(t);
  void *data = malloc(fy_nbytes(t) + 1);
  fy_copy_to_host(t, data);
  for (int64_t i = 0; i < fy_numel(t); i++)
    write_number(out, fy_element_double(data, dtype, i), dtype);
  free(data);
  fputc('\n', out);
}

void write_made(FILE *out, const Statement *s, int index) {
  for (int i = 0; i < s->n_outputs; i++) {
    if (s->outputs[i][0] != 't')
      continue;
    fprintf(out, "made %d %s", index, s->outputs[i]);
    if (i < s->n_results && s->results[i])
      write_variable(out, s->results[i]);
    fputc('\n', out);
  }
}

static void report_tensor(FILE *out, const char *name, const FyTensor *t) {
  fprintf(out, "var %s", name);
  write_variable(out, t);
  write_values(out, t);
  FyTensor *grad = fy_grad(t);
  if (grad) {
    fprintf(out, "grad %s", name);
    write_shape(out, grad);
    write_values(out, grad);
  }
}

static void report_module(FILE *out, int slot) {
  char name[32];
  FyTensorList *lists[] = {fy_parameters_of(machine.modules[slot]), fy_buffers_of(machine.modules[slot])};
  for (int kind = 0; kind < 2; kind++)
    for (int i = 0; i < lists[kind]->count; i++) {
      snprintf(name, sizeof name, "m%d.%c%d", slot, "pb"[kind], i);
      report_tensor(out, name, lists[kind]->items[i]);
    }
}

static void report_hook(FILE *out, int number) {
  const Hook *hook = machine.hooks[number];
  fprintf(out, "hook %d %d\n", number, hook->calls);
  for (int i = 0; i < 2; i++)
    if (hook->seen[i]) {
      fprintf(out, "saw %d.%d", number, i);
      write_shape(out, hook->seen[i]);
      write_values(out, hook->seen[i]);
    }
}

static void report_all(FILE *out) {
  char name[16];
  for (int d = 0; d < fy_cuda_device_count(); d++)
    fy_synchronize(fy_cuda_device(d));
  for (int i = 0; i < MAX_TENSORS; i++)
    if (machine.tensors[i]) {
      snprintf(name, sizeof name, "t%d", i);
      report_tensor(out, name, machine.tensors[i]);
    }
  for (int i = 0; i < MAX_OBJECTS; i++)
    if (machine.modules[i])
      report_module(out, i);
  for (int i = 0; i < machine.n_hooks; i++)
    report_hook(out, i);
}

void report(FILE *out) {
  FyError error;
  fy_trap(error)
    report_all(out);
  if (error.kind)
    fprintf(out, "failed %s %s\n", fy_error_name(error.kind), error.message);
}

// ---- comparing with what was recorded ------------------------------------------------------------------------------------

static double tolerance(const char *line) {
  return strstr(line, " bfloat16 ") ? 3e-2 : strstr(line, " float16 ") ? 4e-3 : strstr(line, " float64 ") ? 1e-7 : 2e-5;
}

static double largest(const char *p) {
  double scale = 1;
  char *end;
  for (double v = strtod(p, &end); end != p; v = strtod(p = end, &end))
    if (isfinite(v) && fabs(v) > scale)
      scale = fabs(v);
  return scale;
}

bool same_line(const char *got, const char *want) {
  if (strcmp(got, want) == 0)
    return true;
  const char *a = strstr(got, " :"), *b = strstr(want, " :");
  if (!a || !b || a - got != b - want || strncmp(got, want, (size_t)(a - got)) != 0)
    return false;
  double allowed = tolerance(want) * largest(b + 2);
  char *end_a, *end_b;
  for (a += 2, b += 2;; a = end_a, b = end_b) {
    double x = strtod(a, &end_a), y = strtod(b, &end_b);
    if (end_a == a || end_b == b)
      return end_a == a && end_b == b;
    bool same = isnan(x) || isnan(y) ? isnan(x) && isnan(y) : x == y || fabs(x - y) <= allowed;
    if (!same)
      return false;
  }
}
