// SPDX-License-Identifier: MIT
// Making and keeping oneDNN's convolution primitives, with the API of oneDNN 2 or 3.
//
// Every primitive takes its scratch memory from the caller: the library's own is shared by all threads of a primitive.
#include "op/convolution/conv_dnn.h"
#include <stdlib.h>

// ---- what differs between oneDNN 2 and 3 -------------------------------------------------------------------------------

typedef struct Geometry {
  dnnl_dims_t strides, dilations, padding;
} Geometry;

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t describe(dnnl_primitive_desc_t *out, FyDnnKind kind, FyDnnDesc x, FyDnnDesc weight, FyDnnDesc bias,
                              FyDnnDesc y, const Geometry *g, dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr) {

  const dnnl_alg_kind_t alg = dnnl_convolution_direct;
  switch (kind) {
  case FY_DNN_FORWARD:
    return dnnl_convolution_forward_primitive_desc_create(out, fy_dnn_engine(), dnnl_forward_training, alg, x, weight,
                                                          bias, y, g->strides, g->dilations, g->padding, g->padding,
                                                          attr);
  case FY_DNN_BACKWARD_INPUT:
    return dnnl_convolution_backward_data_primitive_desc_create(out, fy_dnn_engine(), alg, x, weight, y, g->strides,
                                                                g->dilations, g->padding, g->padding, hint, attr);
  default:
    return dnnl_convolution_backward_weights_primitive_desc_create(
        out, fy_dnn_engine(), alg, x, weight, NULL, y, g->strides, g->dilations, g->padding, g->padding, hint, attr);
  }
}

#else

static dnnl_status_t describe(dnnl_primitive_desc_t *out, FyDnnKind kind, FyDnnDesc x, FyDnnDesc weight, FyDnnDesc bias,
                              FyDnnDesc y, const Geometry *g, dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr) {

  const dnnl_alg_kind_t alg = dnnl_convolution_direct;
  dnnl_convolution_desc_t desc;
  dnnl_status_t status;
  if (kind == FY_DNN_FORWARD)
    status = dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, alg, x, weight, bias, y,
                                                        g->strides, g->dilations, g->padding, g->padding);
  else if (kind == FY_DNN_BACKWARD_INPUT)
    status = dnnl_dilated_convolution_backward_data_desc_init(&desc, alg, x, weight, y, g->strides, g->dilations,
                                                              g->padding, g->padding);
  else
    status = dnnl_dilated_convolution_backward_weights_desc_init(&desc, alg, x, weight, NULL, y, g->strides,
                                                                 g->dilations, g->padding, g->padding);
  return status == dnnl_success ? dnnl_primitive_desc_create(out, &desc, attr, fy_dnn_engine(), hint) : status;
}

#endif

// ---- making a plan -----------------------------------------------------------------------------------------------------

static Geometry geometry_of(const FyConvShape *s) {
  return (Geometry){
      .strides = {s->stride, s->stride},
      .dilations = {s->dilation - 1, s->dilation - 1},
      .padding = {s->padding, s->padding},
  };
}

static dnnl_data_type_t type_of(FyDType dtype) {
  return dtype == FY_BFLOAT16 ? dnnl_bf16 : dnnl_f32;
}

// The descriptions of the three arrays as a pass has them: x and the output with the given layouts, the weight row-major
// (`plain`) or left to oneDNN.
static bool make_descs(const FyDnnKey *key, dnnl_format_tag_t x_tag, dnnl_format_tag_t tag, bool plain,
                       FyDnnDesc *descs) {
  const FyConvShape *s = &key->shape;
  dnnl_data_type_t type[FY_DNN_ROLES];
  for (int i = 0; i < FY_DNN_ROLES; i++)
    type[i] = type_of(fy_dnn_dtype(key, i));
  bool grouped = s->groups > 1;
  dnnl_dims_t x = {s->n, s->c, s->h, s->w}, y = {s->n, s->o, s->oh, s->ow};
  dnnl_dims_t whole = {s->o, s->c, s->kh, s->kw};
  dnnl_dims_t groups = {s->groups, s->o / s->groups, s->c / s->groups, s->kh, s->kw};
  dnnl_format_tag_t weight = plain ? grouped ? dnnl_abcde : dnnl_abcd : dnnl_format_tag_any;
  descs[FY_DNN_X] = fy_dnn_desc(type[FY_DNN_X], 4, x, x_tag);
  descs[FY_DNN_OUT] = fy_dnn_desc(type[FY_DNN_OUT], 4, y, tag);
  descs[FY_DNN_WEIGHT] = fy_dnn_desc(type[FY_DNN_WEIGHT], grouped ? 5 : 4, grouped ? groups : whole, weight);
  return descs[FY_DNN_X] && descs[FY_DNN_OUT] && descs[FY_DNN_WEIGHT];
}

// Of x and the output as the primitive has them.
static dnnl_format_tag_t inner_tag(const FyDnnKey *key) {
  return key->channels_last ? dnnl_acdb : dnnl_format_tag_any;
}

// Gradients are described with the forward that they belong to.
static dnnl_status_t describe_forward(const FyDnnPlan *plan, dnnl_primitive_desc_t *hint, const Geometry *g,
                                      dnnl_format_tag_t tag, dnnl_primitive_attr_t attr) {
  FyDnnKey key = plan->key;
  FyDnnDesc any[FY_DNN_ROLES] = {0};
  dnnl_status_t status = dnnl_out_of_memory;
  key.kind = FY_DNN_BACKWARD_INPUT; // all three of the convolution's dtype
  if (make_descs(&key, tag, tag, false, any))
    status = describe(hint, FY_DNN_FORWARD, any[FY_DNN_X], any[FY_DNN_WEIGHT], NULL, any[FY_DNN_OUT], g, NULL, attr);
  for (int i = 0; i < FY_DNN_ROLES; i++)
    fy_dnn_desc_free(any[i]);
  return status;
}

static bool make_description(FyDnnPlan *plan, dnnl_primitive_attr_t attr) {
  FyDnnKind kind = (FyDnnKind)plan->key.kind;
  FyDnnDesc any[FY_DNN_ROLES] = {0};
  Geometry g = geometry_of(&plan->key.shape);
  dnnl_primitive_desc_t hint = NULL;
  dnnl_format_tag_t tag = inner_tag(&plan->key);
  bool made = make_descs(&plan->key, tag, tag, false, any);
  if (kind != FY_DNN_FORWARD)
    made = made && describe_forward(plan, &hint, &g, tag, attr) == dnnl_success;
  made = made && describe(&plan->description, kind, any[FY_DNN_X], any[FY_DNN_WEIGHT], plan->bias, any[FY_DNN_OUT], &g,
                          hint, attr) == dnnl_success;
  if (hint)
    dnnl_primitive_desc_destroy(hint);
  for (int i = 0; i < FY_DNN_ROLES; i++)
    fy_dnn_desc_free(any[i]);
  return made;
}

static bool make_reorder(FyDnnArray *array, bool result, dnnl_primitive_attr_t attr) {
  dnnl_primitive_desc_t description;
  FyDnnDesc from = result ? array->inner : array->plain, to = result ? array->plain : array->inner;
  if (dnnl_memory_desc_equal(from, to))
    return true;
  if (dnnl_reorder_primitive_desc_create(&description, from, fy_dnn_engine(), to, fy_dnn_engine(), attr) !=
      dnnl_success)
    return false;
  // A reorder of plain layouts needs no scratch memory; one that did would be refused.
  bool made = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0)) == 0;
  array->inner_bytes = dnnl_memory_desc_get_size(array->inner);
  made = made && dnnl_primitive_create(&array->reorder, description) == dnnl_success;
  dnnl_primitive_desc_destroy(description);
  return made;
}

static bool make_parts(FyDnnPlan *plan, dnnl_primitive_attr_t attr) {
  static const dnnl_query_t queries[3][FY_DNN_ROLES] = {
      [FY_DNN_FORWARD] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
      [FY_DNN_BACKWARD_INPUT] = {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
      [FY_DNN_BACKWARD_WEIGHT] = {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
  };
  const FyConvShape *s = &plan->key.shape;
  FyDnnKind kind = (FyDnnKind)plan->key.kind;
  FyDnnDesc plain[FY_DNN_ROLES] = {0};
  bool made = make_descs(&plan->key, plan->key.x_channels_last ? dnnl_acdb : dnnl_abcd,
                         plan->key.channels_last ? dnnl_acdb : dnnl_abcd, true, plain);
  for (int i = 0; i < FY_DNN_ROLES; i++)
    plan->arrays[i].plain = plain[i];
  plan->bias = plan->key.bias ? fy_dnn_desc(type_of((FyDType)plan->key.dtype), 1, (dnnl_dims_t){s->o}, dnnl_a) : NULL;
  if (!made || (plan->key.bias && !plan->bias) || !make_description(plan, attr) ||
      dnnl_primitive_create(&plan->convolution, plan->description) != dnnl_success)
    return false;
  plan->scratchpad = dnnl_primitive_desc_query_md(plan->description, dnnl_query_scratchpad_md, 0);
  plan->scratchpad_bytes = dnnl_memory_desc_get_size(plan->scratchpad);
  for (int i = 0; i < FY_DNN_ROLES; i++) {
    plan->arrays[i].inner = dnnl_primitive_desc_query_md(plan->description, queries[kind][i], 0);
    if (!make_reorder(&plan->arrays[i], i == fy_dnn_result(kind), attr))
      return false;
  }
  FyDnnArray *out = &plan->arrays[FY_DNN_OUT];
  if (plan->key.channels_last) { // a hook meets it: it lies nowhere else
    out->inner_bytes = dnnl_memory_desc_get_size(out->inner);
    out->met_bytes = out->reorder ? dnnl_memory_desc_get_size(out->plain) : 0;
  }
  return true;
}

static void free_plan(FyDnnCached *cached) {
  FyDnnPlan *plan = (FyDnnPlan *)(void *)cached;
  for (int i = 0; i < FY_DNN_ROLES; i++) {
    fy_dnn_desc_free(plan->arrays[i].plain);
    if (plan->arrays[i].reorder)
      dnnl_primitive_destroy(plan->arrays[i].reorder);
  }
  fy_dnn_desc_free(plan->bias);
  if (plan->convolution)
    dnnl_primitive_destroy(plan->convolution);
  if (plan->description)
    dnnl_primitive_desc_destroy(plan->description);
  free(plan);
}

static FyDnnCached *make_plan(const void *of) {
  const FyDnnKey *key = of;
  FyDnnPlan *plan = calloc(1, sizeof *plan);
  dnnl_primitive_attr_t attr;
  if (!plan || dnnl_primitive_attr_create(&attr) != dnnl_success) {
    free(plan);
    return NULL;
  }
  plan->cached.destroy = free_plan;
  plan->key = *key;
  int held = key->serial ? fy_dnn_hold_threads() : 0; // a primitive is made for as many threads as it finds
  bool made = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) == dnnl_success &&
              make_parts(plan, attr);
  if (key->serial)
    fy_dnn_release_threads(held);
  dnnl_primitive_attr_destroy(attr);
  if (made)
    return &plan->cached;
  free_plan(&plan->cached);
  return NULL;
}

FyDnnPlan *fy_dnn_plan(FyDnnKind kind, FyDType dtype, const FyConvShape *shape, bool bias, bool serial,
                       bool channels_last, bool x_channels_last) {
  FyDnnKey key = {.kind = kind,
                  .dtype = dtype,
                  .serial = serial,
                  .bias = bias,
                  .channels_last = channels_last,
                  .x_channels_last = x_channels_last,
                  .shape = *shape};
  _Static_assert(sizeof key <= FY_DNN_MOST_KEY, "the cache has no room for the key");
  return (FyDnnPlan *)(void *)fy_dnn_cached(&key, sizeof key, make_plan);
}
