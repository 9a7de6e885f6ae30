// For drivers of kernels that work in streams: the course (course.h) of one call, as the simulator tells it. On a GPU nobody tells.
#ifndef GRADER_COURSE_SIM_H
#define GRADER_COURSE_SIM_H

#include "course.h"
#include "driver.h"
#include <cuda_runtime.h>

#ifdef FERRY_SIM
#include "sim/runtime/cudasim.h"

static CourseEntry course_entries[COURSE_MOST];
static unsigned long long course_ids[COURSE_MOST];
static int64_t course_entry_count;

static int64_t course_kind_of(const struct cudasim_activity *a) {
  if (a->kind != CUDASIM_COPY)
    return a->kind == CUDASIM_KERNEL ? COURSE_KERNEL : COURSE_FILL;
  return a->copy_kind == cudaMemcpyHostToDevice   ? COURSE_IN
         : a->copy_kind == cudaMemcpyDeviceToHost ? COURSE_OUT
                                                  : COURSE_WITHIN;
}

static void course_queued(const struct cudasim_activity *a) {
  if (course_entry_count == COURSE_MOST)
    return;
  CourseEntry entry = {};
  entry.kind = course_kind_of(a);
  entry.device = a->device;
  entry.stream = (int64_t)a->stream;
  entry.bytes = (int64_t)a->bytes;
  entry.ran = -1;
  course_ids[course_entry_count] = a->id;
  course_entries[course_entry_count++] = entry;
}

static void course_ran(const struct cudasim_activity *a) {
  for (int64_t i = 0; i < course_entry_count; i++)
    if (course_ids[i] == a->id)
      course_entries[i].ran = course_entry_count;
}

static void course_follow(bool on) {
  cudasim_trace(on ? course_queued : NULL, on ? course_ran : NULL);
}

static void course_put(Driver *d) {
  Shape shape = {2, {course_entry_count, COURSE_COLUMNS}};
  driver_put_array(d, "#course", FY_INT64, shape, course_entries);
  course_entry_count = 0; // for the next call
}
#else
static void course_follow(bool) {
}
static void course_put(Driver *) {
}
#endif

#endif
