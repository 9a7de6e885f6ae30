// SPDX-License-Identifier: MIT
// Requests whose answer is awaited: their connection is suspended meanwhile.
#include "live/live.h"

enum MHD_Result request_wait(Request *r) {
  r->waiting = true;
  MHD_suspend_connection(r->connection);
  return MHD_YES;
}

void request_answer(Request *r, unsigned status, Text *answer) {
  r->status = status;
  r->answer = *answer;
  *answer = (Text){0};
  if (r->waiting)
    MHD_resume_connection(r->connection);
  r->waiting = false;
}
