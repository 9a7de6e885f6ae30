// SPDX-License-Identifier: MIT
// What the files of the debug adapter share.
#ifndef STEP_DAP_H
#define STEP_DAP_H

#include "step/step.h"
#include "tool/print/json.h"
#include "tool/print/text.h"

typedef struct DapBreakpoint {
  int id, file, line;
  bool verified, has_condition;
  StepQuery condition;
} DapBreakpoint;

typedef struct DapDataBreakpoint {
  int id;
  bool has_condition;
  StepQuery data, condition;
} DapDataBreakpoint;

// What a variablesReference is: one more than the number of a handle. Handles are valid until the next stop.
typedef struct DapHandle {
  enum { DAP_FRAME, DAP_LANES, DAP_ACCESSES, DAP_ACCESS, DAP_SHARED, DAP_ARRAY } kind;
  int warp, depth;
  int item;      // of DAP_ACCESS the access, of DAP_ARRAY the array
  char name[96]; // of DAP_LANES the variable, or its part
} DapHandle;

typedef struct Dap {
  Record *r;
  int step, warp;        // the warp that moves
  int target, direction; // of the move that follows the response
  StepRecorder *recorder;
  int sequence, ids;
  bool ends, lines_from_0, columns_from_0;
  bool stops_at_findings, stops_at_entry;
  bool configured;
  char *program; // its path; NULL: unknown
  char *at;      // where to begin; NULL: the first step
  DapBreakpoint *breakpoints;
  DapDataBreakpoint *data;
  DapHandle *handles;
  int breakpoint_count, data_count, handle_count;
} Dap;

// A request that is being answered: what goes into the body of its response, as the members of an object.
typedef struct DapRequest {
  const Json *arguments;
  Text body;
  char why[400];         // set: the request has failed
  void (*after)(Dap *d); // follows the response
} DapRequest;

void dap_event(Dap *d, const char *event, const char *body);
void dap_output(Dap *d, const char *category, const char *text);

const char *dap_string(const Json *object, const char *key); // NULL: none
int dap_number(const Json *object, const char *key, int otherwise);
bool dap_truth(const Json *object, const char *key, bool otherwise);

// Adds "source": {...} of a file.
void dap_source(const Dap *d, int file, Text *to);
// The file that a client's source is; -1: none of the record.
int dap_file(const Dap *d, const Json *source);

// ---- requests ------------------------------------------------------------------------------------------------------------

void dap_threads(Dap *d, DapRequest *q);
void dap_stack_trace(Dap *d, DapRequest *q);
void dap_scopes(Dap *d, DapRequest *q);
void dap_variables(Dap *d, DapRequest *q);
void dap_evaluate(Dap *d, DapRequest *q);

void dap_set_breakpoints(Dap *d, DapRequest *q);
void dap_set_exception_breakpoints(Dap *d, DapRequest *q);
void dap_data_breakpoint_info(Dap *d, DapRequest *q);
void dap_set_data_breakpoints(Dap *d, DapRequest *q);
void dap_exception_info(Dap *d, DapRequest *q);
void dap_next(Dap *d, DapRequest *q);
void dap_step_in(Dap *d, DapRequest *q);
void dap_step_out(Dap *d, DapRequest *q);
void dap_step_back(Dap *d, DapRequest *q);
void dap_continue(Dap *d, DapRequest *q);
void dap_reverse_continue(Dap *d, DapRequest *q);
void dap_pause(Dap *d, DapRequest *q);
// The first stop, when the client has set its breakpoints.
void dap_begin(Dap *d);

// The frame's warp and depth from its id. False: there is no such frame.
bool dap_frame(const Dap *d, int id, int *warp, int *depth);

#endif
