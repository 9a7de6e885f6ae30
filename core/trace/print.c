// A program as text, after print(traced.graph).
#include "op/copy/copy.h"
#include "op/op.h"
#include "trace/trace.h"
#include "trace/traced.h"
#include <stdio.h>

// "Float(1, 10)", as PyTorch writes the type of a value.
static void print_type(const FyProgramValue *value) {
  printf("%s(", fy_dtype_scalar_name(value->dtype));
  for (int d = 0; d < value->ndim; d++)
    printf("%s%lld", d ? ", " : "", (long long)value->shape[d]);
  printf(")");
}

// Values have their name, or else a number: "%conv1.weight", "%7".
static void print_name(const FyProgram *program, int value) {
  if (value < 0)
    printf("None");
  else if (program->values[value].name)
    printf("%%%s", program->values[value].name);
  else
    printf("%%%d", value);
}

static void print_step(const FyProgram *program, const FyProgramStep *step) {
  printf("  ");
  for (int i = 0, printed = 0; i < step->n_out; i++) {
    if (step->out[i] < 0)
      continue;
    printf("%s", printed++ ? ", " : "");
    print_name(program, step->out[i]);
    printf(" : ");
    print_type(&program->values[step->out[i]]);
  }
  printf(" = fy::%s(", step->op->name);
  for (int i = 0; i < step->n_in; i++) {
    printf("%s", i ? ", " : "");
    print_name(program, step->in[i]);
  }
  printf(")\n");
}

void fy_traced_print_graph_of(FyModule *traced) {
  const FyProgram *program = fy_traced_program(traced);
  printf("graph(");
  print_name(program, program->input);
  printf(" : ");
  print_type(&program->values[program->input]);
  printf("):\n");
  for (int i = 0; i < program->step_count; i++)
    print_step(program, &program->steps[i]);
  printf("  return (");
  print_name(program, program->output);
  printf(")\n");
}
