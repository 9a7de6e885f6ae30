// SPDX-License-Identifier: MIT
// What an exercise's driver uses. tests/hidden/NN_M_slug/driver.c (driver.cu for a kernel) runs in the child, beside the
// learner's code: it takes the request apart, calls the answer's functions and says what they returned. It judges nothing
// and knows no right result.
//
//   #include "driver.h"
//   #include "answer.h"            // the answer's prototypes; every answer is compiled with it too
//
//   void drive(Driver *d) {
//     FyTensor *x = driver_tensor(d, "x");
//     driver_count(d);             // from here on transfers and launches are counted
//     FyTensor *result = doubled(x);
//     driver_stop(d);
//     driver_put(d, "result", result);
//   }
//
// An error that the answer raises ends `drive` and is reported; what was put before still arrives.
#ifndef GRADER_DRIVER_H
#define GRADER_DRIVER_H

#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Driver Driver;

void drive(Driver *d); // the exercise's

const char *driver_test(const Driver *d);               // the test's name
double driver_number(Driver *d, const char *name);      // what give_number gave
const char *driver_text(Driver *d, const char *name);   // what give_text gave
const Array *driver_array(Driver *d, const char *name); // what give_array gave, in host memory
int driver_has(Driver *d, const char *name);            // was anything of that name given?

void driver_count(Driver *d); // begin counting; a second call starts again
void driver_stop(Driver *d);  // stop counting; without it, counting ends with `drive`

void driver_put_number(Driver *d, const char *name, double value);
void driver_put_text(Driver *d, const char *name, const char *text);
void driver_put_array(Driver *d, const char *name, FyDType dtype, Shape shape, const void *data); // host memory

#ifdef __cplusplus // driver.cu: CUDA's runtime alone, so that the file also compiles with nvcc

// Device memory of the current device with what give_array gave under `name`, or with `count` elements of NaN bytes (0xFF)
// for a result. Guard elements stand on both sides of each.
void *driver_device(Driver *d, const char *name);
void *driver_device_new(Driver *d, const char *name, FyDType dtype, Shape shape);
// Sends back what is in the device memory of that name, and whether its guards are whole. It waits for the device; an error
// of a kernel is reported.
void driver_put_device(Driver *d, const char *name);

#else
#include "ferry.h"

// The tensor that give_array gave, on its device and in the layout that was asked for; the same one at every call.
FyTensor *driver_tensor(Driver *d, const char *name);
// Sends back values, dtype, shape, device and flags of `t`; NULL is reported as such.
void driver_put(Driver *d, const char *name, FyTensor *t);

// The answer may change this tensor's values, or the driver does. All others have to be at the end what they were; and each keeps
// its shape and device, and whether it requires a gradient, and is still the scope's that it was placed in.
void driver_may_change(Driver *d, const char *name);

// The answer has to leave this module, and all in it, in training mode where it is in that now, and in evaluation mode where not.
void driver_module(FyModule *module);

// Another GPU than this tensor's, for a call that goes before; the first one where it is alone, or the tensor is on the CPU.
FyDevice driver_other_gpu(const FyTensor *t);

// For the event trace (event_trace.h): an entry of the driver's own, and the number that stands for a stream there.
void driver_mark(Driver *d, int64_t number);
int64_t driver_stream(FyStream *stream);

// Of what was counted, runs the streams that copied from the host, and then all else: what did not wait for its turn is seen.
void driver_copies_first(Driver *d);
#endif

// In an inspected answer alone (core/inspect), else NULL: of the memory here these bytes are the array `name`, and what lies around
// them is out of bounds. Nobody has written them yet, or what is known of that stays.
__attribute__((weak)) void inspect_array(void *address, size_t bytes, const char *name, bool unwritten);

#ifdef __cplusplus
}
#endif

#endif
