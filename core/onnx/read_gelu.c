// SPDX-License-Identifier: MIT
// The parts of a GELU, from its Erf on, put together again.
#include "onnx/read_gelu.h"
#include "op/elementwise/pointwise.h"
#include "op/host/host.h"
#include <math.h>
#include <string.h>

enum { ERF = 1, ERF_PLUS_1, HALF_OF_IT }; // FyOnnxKnown.part

// Half floats have the root of 2 with an error of 4e-4.
static bool is_about(double number, double wanted) {
  return fabs(number - wanted) < 1e-3 * wanted;
}

static bool is_number(const FyOnnxReader *r, int value, double wanted) {
  FyTensor *constant = fy_onnx_constant(r, value);
  return constant && constant->array.numel == 1 && fy_dtype_is_floating(fy_dtype_of(constant)) &&
         is_about(fy_item(constant), wanted);
}

// What was multiplied by `factor` to make `value`; -1: it was made otherwise.
static int unscaled(const FyOnnxReader *r, int value, double factor) {
  const int maker = r->known[value]->maker;
  if (maker < 0)
    return -1;
  const FyProgramStep *step = &r->program->steps[maker];
  const bool divides = step->op == &fy_op_div;
  const double wanted = divides ? 1 / factor : factor;
  if (!divides && step->op != &fy_op_mul)
    return -1;
  if (step->n_in == 1)
    return is_about(((const FyPointwise *)step->params)->a, wanted) ? step->in[0] : -1;
  if (is_number(r, step->in[1], wanted))
    return step->in[0];
  return !divides && is_number(r, step->in[0], wanted) ? step->in[1] : -1;
}

static int part_of(FyOnnxReader *r, int x, int part) {
  const FyArray *a = fy_onnx_array(r, x);
  const int value = fy_onnx_add_value(r, NULL, (FyDType)a->dtype, a->ndim, a->shape);
  r->known[value]->part = part;
  r->known[value]->part_of = x;
  return value;
}

void fy_onnx_read_erf(FyOnnxReader *r) {
  const int x = unscaled(r, fy_onnx_input(r, 0), 0.70710678118654752);
  if (x < 0)
    fy_onnx_unsupported("Erf is supported only as the part of a GELU: export for opset 20 or later, which has Gelu");
  fy_onnx_result(r, 0, part_of(r, x, ERF));
}

static int gelu(FyOnnxReader *r, int x) {
  return fy_onnx_emit(r, &fy_op_gelu, NULL, FY_VALUES(x));
}

// `part` times `other`; -1: that is no GELU.
static int multiplied(FyOnnxReader *r, int part, int other) {
  const int kind = r->known[part]->part, x = r->known[part]->part_of;
  if (kind == ERF_PLUS_1 && is_number(r, other, 0.5))
    return part_of(r, x, HALF_OF_IT);
  if ((kind == ERF_PLUS_1 && unscaled(r, other, 0.5) == x) || (kind == HALF_OF_IT && other == x))
    return gelu(r, x);
  if (kind == ERF_PLUS_1 && other == x) // the half of it comes next
    return fy_onnx_emit(r, &fy_op_mul, &(FyPointwise){.a = 2}, FY_VALUES(gelu(r, x)));
  return -1;
}

// x times 2 times 1/2.
static int twice_halved(FyOnnxReader *r, int a, int b) {
  const int x = is_number(r, b, 0.5) ? unscaled(r, a, 2) : -1;
  return x >= 0 && r->known[x]->maker >= 0 && r->program->steps[r->known[x]->maker].op == &fy_op_gelu ? x : -1;
}

bool fy_onnx_reads_as_gelu(FyOnnxReader *r, int a, int b) {
  const bool adds = strcmp(r->node->op_type, "Add") == 0, multiplies = strcmp(r->node->op_type, "Mul") == 0;
  int out = -1;
  if (r->known[b]->part || (multiplies && is_number(r, a, 0.5) && !fy_onnx_constant(r, b))) {
    const int swapped = a;
    a = b;
    b = swapped;
  }
  if (adds && r->known[a]->part == ERF && is_number(r, b, 1))
    out = part_of(r, r->known[a]->part_of, ERF_PLUS_1);
  else if (multiplies && r->known[a]->part)
    out = multiplied(r, a, b);
  else if (multiplies)
    out = twice_halved(r, a, b);
  if (out >= 0)
    fy_onnx_result(r, 0, out);
  return out >= 0;
}
