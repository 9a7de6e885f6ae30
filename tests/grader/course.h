// What the answer's process did while it was counted, in its order: kernels, copies, waits and events, each with its stream
// and with when it had run. Kept by the child (course.c), read by checks (course() in exercise.h).
#ifndef GRADER_COURSE_H
#define GRADER_COURSE_H

#include <stdint.h>

typedef enum CourseKind {
  COURSE_KERNEL = 1, // a kernel, a matrix product
  COURSE_FILL,
  COURSE_IN,         // a copy from the host to a device: `number` is 1 when it was pinned memory that was copied
  COURSE_OUT,        // from a device to the host
  COURSE_WITHIN,     // from a device to a device
  COURSE_WAIT,       // the host waited
  COURSE_RECORD,     // an event was recorded: `number` is the event
  COURSE_WAIT_EVENT, // a stream was told to wait for an event (`number`), or for another stream (then 0)
  COURSE_QUERY,      // an event or a stream was asked whether it is done
  COURSE_ELAPSED, // the time between two events was asked for: `number` and `other`; `result` is the answer in nanoseconds
  COURSE_STEP,    // an optimizer's step
  COURSE_MARK,    // of a driver's own: driver_mark
  COURSE_KINDS
} CourseKind;

// `ran`: so many entries stood in the course when the work had run; -1: not by the end of counting. `stream` is the stream's
// handle, 0 for the default one.
typedef struct CourseEntry {
  int64_t kind, device, stream, bytes, ran, number, other, result;
} CourseEntry;

enum { COURSE_COLUMNS = sizeof(CourseEntry) / sizeof(int64_t), COURSE_MOST = 1 << 14 };

#endif
