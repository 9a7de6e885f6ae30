// What chapter 11 prints of the allocator: segments as rows of characters, a history as bars. No lesson is in here.
#ifndef CHAPTERS_MEMORY_VIEW_H
#define CHAPTERS_MEMORY_VIEW_H

#include "common.h"

// Each segment of the device as a row: `#` for memory in use, `.` for free memory, `|` where a block begins; one character
// stands for `unit` bytes.
void print_segments(FyDevice device, size_t unit);

// The blocks of one pool with size, request and the line that asked, at most `most` of them.
void print_blocks(FyDevice device, bool small, int most);

// What is in use, by the lines that asked for it, largest first; at most `most` lines.
void print_by_line(FyDevice device, int most);

// A stretch of a history: the events before `end`, up to there called `name`.
typedef struct Phase {
  const char *name;
  size_t end;
} Phase;

// A row for each event that took or gave back at least `least` bytes: what came or went, what was in use then, and that as a
// bar. Returns the event after which the most was in use.
const FyMemoryEvent *print_timeline(const FyMemoryEvent *events, const Phase *phases, int phase_count, size_t least);

// "11_memory.c:57", or "unknown". Valid until eight further calls of text().
const char *place_text(const char *file, int line);

#endif
