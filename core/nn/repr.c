// SPDX-License-Identifier: MIT
// print(module): the class, its extra text, and the children, indented by two per level.
#include "nn/impl.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *fy_python_float(double value, char out[FY_NUMBER_TEXT]) {
  for (int digits = 1; digits <= 17; digits++) { // the shortest text that reads back as the same number
    snprintf(out, FY_NUMBER_TEXT, "%.*g", digits, value);
    if (!isfinite(value) || strtod(out, NULL) == value)
      break;
  }
  double size = fabs(value);
  if (size >= 1 && size < 1e16) // %g turns to exponents sooner than Python does
    snprintf(out, FY_NUMBER_TEXT, size == floor(size) ? "%.1f" : "%.15g", value);
  if (size >= 1 && size < 1e16 && strtod(out, NULL) != value)
    snprintf(out, FY_NUMBER_TEXT, "%.17g", value);
  if (value == 0)
    snprintf(out, FY_NUMBER_TEXT, signbit(value) ? "-0.0" : "0.0");
  return out;
}

static void write_module(FILE *out, const FyModule *module, int indent) {
  char extra[512] = "";
  int children = 0;
  if (module->type->extra_repr)
    module->type->extra_repr(module, extra, sizeof extra);
  for (int i = 0; i < module->field_count; i++)
    children += module->fields[i].kind == FY_CHILD;
  fprintf(out, "%s(", module->type->name);
  if (!children) {
    fprintf(out, "%s)", extra);
    return;
  }
  if (*extra)
    fprintf(out, "\n%*s%s", indent + 2, "", extra);
  for (int i = 0; i < module->field_count; i++) {
    if (module->fields[i].kind != FY_CHILD)
      continue;
    fprintf(out, "\n%*s(%s): ", indent + 2, "", module->fields[i].name);
    write_module(out, module->fields[i].module, indent + 2);
  }
  fprintf(out, "\n%*s)", indent, "");
}

char *fy_module_repr_of(const FyModule *module) {
  fy_module_required(module, "fy_module_repr");
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  fy_check(out, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the text of a module");
  write_module(out, module, 0);
  bool written = fclose(out) == 0;
  if (!written)
    free(text);
  fy_check(written, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the text of a module");
  return text;
}

void fy_module_print_of(const FyModule *module) {
  fy_module_required(module, "fy_module_print");
  write_module(stdout, module, 0);
  putchar('\n');
}
