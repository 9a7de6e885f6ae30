// SPDX-License-Identifier: MIT
// The rows of a record's tables.
#ifndef STEP_RECORD_TABLES_H
#define STEP_RECORD_TABLES_H

#include "step/record_json.h"

typedef struct Numbered { // a statement with its number, by which steps name it
  int id, index;
  StepStatement statement;
} Numbered;

StepFile read_file(Reader *in);
StepFunction read_function(Reader *in);
StepSkipped read_skipped(Reader *in);
Numbered read_statement(Reader *in);
StepVariable read_variable(Reader *in);
StepArray read_array(Reader *in);
StepFinding read_finding(Reader *in);

#endif
