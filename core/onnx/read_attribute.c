// SPDX-License-Identifier: MIT
// Attributes of nodes: by name and type; one that nobody asks for is an error, since it would change what the node means.
#include "onnx/read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Onnx__AttributeProto *fy_onnx_attribute(FyOnnxReader *r, const char *name, int type) {
  const Onnx__NodeProto *node = r->node;
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *attribute = node->attribute[i];
    if (!attribute->name || strcmp(attribute->name, name) != 0)
      continue;
    if (i < 64)
      r->attributes_used |= UINT64_C(1) << i;
    if (attribute->has_type && attribute->type != type)
      fy_onnx_malformed("attribute %s has type %d, expected %d", name, attribute->type, type);
    return attribute;
  }
  return NULL;
}

void fy_onnx_check_attributes(const FyOnnxReader *r) {
  for (size_t i = 0; i < r->node->n_attribute; i++)
    if (i >= 64 || !(r->attributes_used >> i & 1))
      fy_onnx_unsupported("attribute %.64s is not supported here",
                          r->node->attribute[i]->name ? r->node->attribute[i]->name : "(without a name)");
}

int64_t fy_onnx_read_int(FyOnnxReader *r, const char *name, int64_t otherwise) {
  const Onnx__AttributeProto *attribute = fy_onnx_attribute(r, name, FY_ONNX_INT);
  return attribute ? attribute->i : otherwise;
}

// The double of the fewest digits that is this float: 1e-5, where the float nearest to it is 9.99999974737875163e-6.
static double as_written(float number) {
  char text[32];
  for (int digits = 1; digits < 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)number);
    if (strtof(text, NULL) == number)
      return strtod(text, NULL);
  }
  return (double)number;
}

double fy_onnx_read_float(FyOnnxReader *r, const char *name, double otherwise) {
  const Onnx__AttributeProto *attribute = fy_onnx_attribute(r, name, FY_ONNX_FLOAT);
  return attribute ? as_written(attribute->f) : otherwise;
}

bool fy_onnx_text_is(FyOnnxReader *r, const char *name, const char *value, bool otherwise) {
  const Onnx__AttributeProto *attribute = fy_onnx_attribute(r, name, FY_ONNX_STRING);
  if (!attribute)
    return otherwise;
  return attribute->s.len == strlen(value) && memcmp(attribute->s.data, value, attribute->s.len) == 0;
}

int fy_onnx_read_ints(FyOnnxReader *r, const char *name, int64_t *out, int most) {
  const Onnx__AttributeProto *attribute = fy_onnx_attribute(r, name, FY_ONNX_INTS);
  if (!attribute)
    return -1;
  if (attribute->n_ints > (size_t)most)
    fy_onnx_malformed("attribute %s has %zu numbers, at most %d make sense", name, attribute->n_ints, most);
  if (attribute->n_ints)
    memcpy(out, attribute->ints, attribute->n_ints * sizeof *out);
  return (int)attribute->n_ints;
}

int fy_onnx_read_axes(FyOnnxReader *r, const char *name, int64_t since, size_t input, int64_t *out, int most) {
  if (r->opset < since)
    return fy_onnx_read_ints(r, name, out, most);
  const int value = fy_onnx_optional(r, input);
  return value < 0 ? -1 : fy_onnx_integers_of(r, value, name, out, most);
}
