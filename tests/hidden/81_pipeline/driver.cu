#include "driver.h"
#include "answer.h"
#include "course.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 8 };

#ifdef FERRY_SIM
#include "sim/cudasim.h"

// The course (course.h) of this one call: what was queued, in that order, and when it ran.
enum { MOST = 1024 };
static CourseEntry entries[MOST];
static unsigned long long ids[MOST];
static int64_t entry_count;

static int64_t kind_of(const struct cudasim_activity *a) {
  if (a->kind != CUDASIM_COPY)
    return a->kind == CUDASIM_KERNEL ? COURSE_KERNEL : COURSE_FILL;
  return a->copy_kind == cudaMemcpyHostToDevice   ? COURSE_IN
         : a->copy_kind == cudaMemcpyDeviceToHost ? COURSE_OUT
                                                  : COURSE_WITHIN;
}

static void queued(const struct cudasim_activity *a) {
  if (entry_count == MOST)
    return;
  CourseEntry entry = {};
  entry.kind = kind_of(a);
  entry.device = a->device;
  entry.stream = (int64_t)a->stream;
  entry.bytes = (int64_t)a->bytes;
  entry.ran = -1;
  ids[entry_count] = a->id;
  entries[entry_count++] = entry;
}

static void ran(const struct cudasim_activity *a) {
  for (int64_t i = 0; i < entry_count; i++)
    if (ids[i] == a->id)
      entries[i].ran = entry_count;
}

static void follow(bool on) {
  cudasim_trace(on ? queued : NULL, on ? ran : NULL);
}

static void put_course(Driver *d) {
  Shape shape = {2, {entry_count, COURSE_COLUMNS}};
  driver_put_array(d, "#course", FY_INT64, shape, entries);
}
#else // a GPU does not tell
static void follow(bool) {
}
static void put_course(Driver *) {
}
#endif

void drive(Driver *d) {
  const Array *x = driver_array(d, "x");
  const int n = (int)x->count, count = (int)driver_number(d, "streams");
  const size_t bytes = (size_t)n * sizeof(float);
  float *in = NULL, *out = NULL, *then = (float *)malloc(bytes),
        *room = (float *)driver_device_new(d, "room", FY_FLOAT32, x->shape);
  cudaStream_t streams[MOST_STREAMS];
  cudaMallocHost(&in, bytes);
  cudaMallocHost(&out, bytes);
  memcpy(in, x->f32, bytes);
  memset(out, 0xff, bytes);
  for (int i = 0; i < count; i++)
    cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  driver_count(d);
  follow(true);
  pipeline_on_device(out, in, room, n, streams, count);
  follow(false);
  memcpy(then, out, bytes); // as it is on return
  driver_stop(d);
  put_course(d);
  driver_put_array(d, "out", FY_FLOAT32, x->shape, then);
  cudaDeviceSynchronize();
  driver_put_array(d, "out later", FY_FLOAT32, x->shape, out);
  driver_put_device(d, "room");
}
