// SPDX-License-Identifier: MIT
// A verdict on its way from a process of the grader's to the one that forked it.
#ifndef GRADER_VERDICT_PIPE_H
#define GRADER_VERDICT_PIPE_H

#include "judge.h"

// Writes it with its reports, but without its warning. What cannot be written is missed at the other end.
void verdict_send(int to, const Verdict *v);
// Of all that came; what it points to is the taker's (verdict_free). False: that was no whole verdict.
bool verdict_take(const char *sent, size_t bytes, Verdict *v);
// Reads to the pipe's end, and takes that.
bool verdict_read(int from, Verdict *v);

#endif
