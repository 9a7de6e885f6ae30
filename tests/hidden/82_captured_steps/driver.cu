#include "driver.h"
#include "answer.h"

#ifdef FERRY_SIM
#include "sim/cudasim.h"
#endif

#ifdef FERRY_SIM
static int captures, instantiations, graph_launches, waits, queued_count, ran_count;

static void queued(const struct cudasim_activity *) {
  __atomic_fetch_add(&queued_count, 1, __ATOMIC_RELAXED);
}
static void ran(const struct cudasim_activity *) {
  __atomic_fetch_add(&ran_count, 1, __ATOMIC_RELAXED);
}
static void follow(bool on) {
  cudasim_trace(on ? queued : NULL, on ? ran : NULL);
}

extern "C" void note_capture(void) {
  captures++;
}
extern "C" void note_instantiation(void) {
  instantiations++;
}
extern "C" void note_graph_launch(void) {
  graph_launches++;
}
extern "C" void note_wait_event(void) {
  waits++;
}

static void put_notes(Driver *d) {
  driver_put_number(d, "captures", captures);
  driver_put_number(d, "instantiations", instantiations);
  driver_put_number(d, "graph launches", graph_launches);
  driver_put_number(d, "waits for events", waits);
  driver_put_number(d, "unfinished", queued_count - ran_count);
}
#else // a GPU does not tell
static void put_notes(Driver *) {
}
static void follow(bool) {
}
#endif

void drive(Driver *d) {
  int *x = (int *)driver_device(d, "x"), *batches = (int *)driver_device(d, "batches");
  const int n = (int)driver_number(d, "n"), steps = (int)driver_number(d, "steps");
  Shape size = {1, {n}};
  int *y = (int *)driver_device_new(d, "y", FY_INT32, size), *z = (int *)driver_device_new(d, "z", FY_INT32, size);
  int *batch = (int *)driver_device_new(d, "batch", FY_INT32, size);
  cudaStream_t main_stream, side;
  cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  driver_count(d);
  follow(true);
  steps_on_device(x, y, z, batches, batch, n, steps, main_stream, side);
  follow(false);
  driver_stop(d);
  put_notes(d);
  driver_put_device(d, "x");
  driver_put_device(d, "y");
  driver_put_device(d, "z");
}
