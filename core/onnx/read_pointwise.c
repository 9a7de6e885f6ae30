// SPDX-License-Identifier: MIT
// What Ferry's pointwise ops make of ONNX's.
#include "onnx/read.h"
#include "onnx/read_gelu.h"
#include "op/elementwise/pointwise.h"
#include "op/host/host.h"
#include <math.h>
#include <string.h>

typedef struct Same {
  const char *name;
  const FyOp *op;
} Same;

// Of the same meaning, and with no attributes.
static const Same same_unary[] = {
    {"Neg", &fy_op_neg},   {"Abs", &fy_op_abs},   {"Exp", &fy_op_exp},         {"Log", &fy_op_log},
    {"Sqrt", &fy_op_sqrt}, {"Tanh", &fy_op_tanh}, {"Sigmoid", &fy_op_sigmoid}, {"Relu", &fy_op_relu},
};
static const Same same_binary[] = {
    {"Add", &fy_op_add}, {"Sub", &fy_op_sub}, {"Mul", &fy_op_mul}, {"Div", &fy_op_div}, {"Pow", &fy_op_pow},
};
static const Same same_comparison[] = {
    {"Equal", &fy_op_eq},   {"Less", &fy_op_lt},           {"LessOrEqual", &fy_op_le},
    {"Greater", &fy_op_gt}, {"GreaterOrEqual", &fy_op_ge}, {"Xor", &fy_op_ne},
};

#define FIND(list, name) find(list, sizeof(list) / sizeof *(list), name)
static const FyOp *find(const Same *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i].name, name) == 0)
      return list[i].op;
  return NULL;
}

static FyDType dtype_of(const FyOnnxReader *r, int value) {
  return (FyDType)fy_onnx_array(r, value)->dtype;
}

static int unary(FyOnnxReader *r, const FyOp *op, int value) {
  return fy_onnx_emit(r, op, NULL, FY_VALUES(value));
}
static int binary(FyOnnxReader *r, const FyOp *op, int a, int b) {
  return fy_onnx_emit(r, op, &(FyPointwise){0}, FY_VALUES(a, b));
}
static int with_number(FyOnnxReader *r, const FyOp *op, int a, double number) {
  return fy_onnx_emit(r, op, &(FyPointwise){.a = number}, FY_VALUES(a));
}
static int clamped(FyOnnxReader *r, int a, double low, double high) {
  return fy_onnx_emit(r, &fy_op_clamp, &(FyPointwise){low, high}, FY_VALUES(a));
}
static int chosen(FyOnnxReader *r, int condition, int a, int b) {
  return fy_onnx_emit(r, &fy_op_where, NULL, FY_VALUES(condition, a, b));
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------------

// A number beside a tensor is a parameter of the op, as `x * 2` records it; not where a double could not hold it.
static bool is_number(const FyOnnxReader *r, int value, double *number) {
  FyTensor *constant = fy_onnx_constant(r, value);
  if (!constant || constant->array.ndim || constant->array.dtype == FY_BOOL)
    return false;
  *number = fy_item(constant);
  return fabs(*number) < 0x1p53 || fy_dtype_is_floating(fy_dtype_of(constant));
}

static void read_unary(FyOnnxReader *r) {
  fy_onnx_result(r, 0, unary(r, FIND(same_unary, r->node->op_type), fy_onnx_input(r, 0)));
}

// Whole numbers are divided only where shapes are worked out.
static int divided(FyOnnxReader *r, int a, int b) {
  int64_t x[FY_MAX_DIM], y[FY_MAX_DIM], quotient[FY_MAX_DIM];
  if (!fy_onnx_constant(r, a) || !fy_onnx_constant(r, b) || fy_onnx_array(r, a)->ndim > 1 ||
      fy_onnx_array(r, b)->ndim > 1)
    fy_onnx_unsupported("whole numbers cannot be divided: Ferry's division makes floats of them");
  const int n = fy_onnx_integers_of(r, a, "the dividend", x, FY_MAX_DIM);
  const int m = fy_onnx_integers_of(r, b, "the divisor", y, FY_MAX_DIM);
  const int count = n == 1 ? m : n;
  if (n != m && n != 1 && m != 1)
    fy_onnx_malformed("%d numbers cannot be divided by %d", n, m);
  for (int i = 0; i < count; i++) {
    const int64_t divisor = y[m == 1 ? 0 : i];
    if (divisor == 0)
      fy_onnx_malformed("a division by 0");
    quotient[i] = divisor == -1 ? (int64_t)(0 - (uint64_t)x[n == 1 ? 0 : i]) : x[n == 1 ? 0 : i] / divisor;
  }
  const bool scalar = fy_onnx_array(r, a)->ndim == 0 && fy_onnx_array(r, b)->ndim == 0;
  FyTensor *tensor = fy_empty(scalar ? FY_SCALAR : fy_shape(count), .dtype = FY_INT64);
  if (count)
    memcpy(fy_data_ptr(tensor), quotient, (size_t)count * sizeof *quotient);
  return fy_onnx_converted(r, fy_onnx_add_constant(r, NULL, tensor), dtype_of(r, a));
}

static void read_arithmetic(FyOnnxReader *r) {
  const FyOp *op = FIND(same_binary, r->node->op_type);
  const int a = fy_onnx_input(r, 0), b = fy_onnx_input(r, 1);
  const FyDType dtype = dtype_of(r, a);
  double number;
  int out;
  if (fy_onnx_reads_as_gelu(r, a, b) || fy_onnx_reads_as_bias(r, a, b) || fy_onnx_reads_as_bias(r, b, a))
    return;
  if (op == &fy_op_div && !fy_dtype_is_floating(dtype))
    out = divided(r, a, b);
  else if (!fy_onnx_constant(r, a) && is_number(r, b, &number) && (dtype == dtype_of(r, b) || op == &fy_op_pow))
    out = with_number(r, op, a, number);
  else
    out = binary(r, op, a, b);
  fy_onnx_result(r, 0, fy_onnx_converted(r, out, dtype));
}

static void read_comparison(FyOnnxReader *r) {
  fy_onnx_result(r, 0, binary(r, FIND(same_comparison, r->node->op_type), fy_onnx_input(r, 0), fy_onnx_input(r, 1)));
}

// Of any number of inputs.
static void read_sum(FyOnnxReader *r) {
  const bool maximum = strcmp(r->node->op_type, "Max") == 0, minimum = strcmp(r->node->op_type, "Min") == 0;
  int out = fy_onnx_input(r, 0);
  for (size_t i = 1; i < r->node->n_input; i++) {
    const int next = fy_onnx_input(r, i);
    if (maximum || minimum)
      out = chosen(r, binary(r, maximum ? &fy_op_gt : &fy_op_lt, out, next), out, next);
    else
      out = binary(r, &fy_op_add, out, next);
  }
  fy_onnx_result(r, 0, out);
}

// ---- logic -----------------------------------------------------------------------------------------------------------------

static void check_bool(const FyOnnxReader *r, int value) {
  if (dtype_of(r, value) != FY_BOOL)
    fy_onnx_malformed("a bool was expected, but it is %s", fy_dtype_name(dtype_of(r, value)));
}

static void read_logic(FyOnnxReader *r) {
  const char *op = r->node->op_type;
  const int a = fy_onnx_input(r, 0);
  if (strcmp(op, "IsNaN") == 0) {
    fy_onnx_result(r, 0, binary(r, &fy_op_ne, a, a));
    return;
  }
  check_bool(r, a);
  if (strcmp(op, "Not") == 0) {
    fy_onnx_result(r, 0, binary(r, &fy_op_eq, a, fy_onnx_add_number(r, FY_BOOL, 0)));
    return;
  }
  const int b = fy_onnx_input(r, 1);
  check_bool(r, b);
  fy_onnx_result(r, 0, binary(r, strcmp(op, "And") == 0 ? &fy_op_mul : &fy_op_add, a, b));
}

static void read_where(FyOnnxReader *r) {
  fy_onnx_result(r, 0, chosen(r, fy_onnx_input(r, 0), fy_onnx_input(r, 1), fy_onnx_input(r, 2)));
}

// ---- functions -------------------------------------------------------------------------------------------------------------

// A bound is an attribute before opset 11, then an input.
static double bound(FyOnnxReader *r, const char *name, size_t input, double otherwise) {
  if (r->opset < 11)
    return fy_onnx_read_float(r, name, otherwise);
  const int value = fy_onnx_optional(r, input);
  double number;
  if (value >= 0 && !is_number(r, value, &number))
    fy_onnx_unsupported("its %s is no number that the file fixes", name);
  return value < 0 ? otherwise : number;
}

static void read_clip(FyOnnxReader *r) {
  const double low = bound(r, "min", 1, -INFINITY), high = bound(r, "max", 2, INFINITY);
  fy_onnx_result(r, 0, clamped(r, fy_onnx_input(r, 0), low, high));
}

static void read_gelu(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0);
  if (fy_onnx_text_is(r, "approximate", "none", true)) {
    fy_onnx_result(r, 0, unary(r, &fy_op_gelu, x));
    return;
  }
  if (!fy_onnx_text_is(r, "approximate", "tanh", false))
    fy_onnx_unsupported("its approximation is neither none nor tanh");
  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  const int cube = with_number(r, &fy_op_mul, with_number(r, &fy_op_pow, x, 3), 0.044715);
  const int inner = with_number(r, &fy_op_mul, binary(r, &fy_op_add, x, cube), 0.79788456080286536);
  const int outer = with_number(r, &fy_op_add, unary(r, &fy_op_tanh, inner), 1);
  fy_onnx_result(r, 0, binary(r, &fy_op_mul, with_number(r, &fy_op_mul, x, 0.5), outer));
}

static void read_leaky_relu(FyOnnxReader *r) {
  const int x = fy_onnx_input(r, 0), zero = fy_onnx_add_number(r, dtype_of(r, x), 0);
  const int below = with_number(r, &fy_op_mul, x, fy_onnx_read_float(r, "alpha", 0.01));
  fy_onnx_result(r, 0, chosen(r, binary(r, &fy_op_ge, x, zero), x, below));
}

static void read_hard(FyOnnxReader *r) {
  const bool swish = strcmp(r->node->op_type, "HardSwish") == 0;
  const double alpha = swish ? 1.0 / 6 : fy_onnx_read_float(r, "alpha", 0.2);
  const double beta = swish ? 0.5 : fy_onnx_read_float(r, "beta", 0.5);
  const int x = fy_onnx_input(r, 0);
  const int gate = clamped(r, with_number(r, &fy_op_add, with_number(r, &fy_op_mul, x, alpha), beta), 0, 1);
  fy_onnx_result(r, 0, swish ? binary(r, &fy_op_mul, x, gate) : gate);
}

static void read_reciprocal(FyOnnxReader *r) {
  fy_onnx_result(r, 0, with_number(r, &fy_op_pow, fy_onnx_input(r, 0), -1));
}

// ---- what changes nothing, or the dtype ------------------------------------------------------------------------------------

static void read_identity(FyOnnxReader *r) {
  fy_onnx_result(r, 0, fy_onnx_input(r, 0));
}

// For inference it is the identity. That it is for training is said by an attribute that is not there, or by its third input.
static void read_dropout(FyOnnxReader *r) {
  fy_onnx_read_float(r, "ratio", 0.5);
  fy_onnx_read_int(r, "seed", 0);
  const int training = r->opset >= 12 ? fy_onnx_optional(r, 2) : -1;
  if (training >= 0) {
    FyTensor *constant = fy_onnx_constant(r, training);
    if (!constant || fy_numel(constant) != 1 || fy_item(constant) != 0)
      fy_onnx_unsupported("it is in training mode: export the network in evaluation mode");
  }
  fy_onnx_result(r, 0, fy_onnx_input(r, 0));
}

static void read_cast(FyOnnxReader *r) {
  const bool like = strcmp(r->node->op_type, "CastLike") == 0;
  fy_onnx_read_int(r, "saturate", 1); // for types of 8 bits
  const int64_t type = like ? 0 : fy_onnx_read_int(r, "to", 0);
  const FyDType dtype = like ? dtype_of(r, fy_onnx_input(r, 1)) : type >= 0 && type < 64 ? fy_onnx_dtype((int)type) : 0;
  if (!dtype)
    fy_onnx_unsupported("a cast to %s is not supported",
                        type >= 0 && type < 64 ? fy_onnx_type_name((int)type) : "a type of no known number");
  fy_onnx_result(r, 0, fy_onnx_converted(r, fy_onnx_input(r, 0), dtype));
}

FyOnnxRead *fy_onnx_pointwise_reader(const char *op) {
  static const struct {
    const char *name;
    FyOnnxRead *read;
  } readers[] = {
      {"Sum", read_sum},
      {"Max", read_sum},
      {"Min", read_sum},
      {"IsNaN", read_logic},
      {"Not", read_logic},
      {"And", read_logic},
      {"Or", read_logic},
      {"Where", read_where},
      {"Clip", read_clip},
      {"Gelu", read_gelu},
      {"LeakyRelu", read_leaky_relu},
      {"HardSigmoid", read_hard},
      {"HardSwish", read_hard},
      {"Reciprocal", read_reciprocal},
      {"Identity", read_identity},
      {"Dropout", read_dropout},
      {"Cast", read_cast},
      {"CastLike", read_cast},
      {"Erf", fy_onnx_read_erf},
  };
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (strcmp(readers[i].name, op) == 0)
      return readers[i].read;
  return FIND(same_unary, op)        ? read_unary
         : FIND(same_binary, op)     ? read_arithmetic
         : FIND(same_comparison, op) ? read_comparison
                                     : NULL;
}
