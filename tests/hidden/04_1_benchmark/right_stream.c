// Synchronizes the current stream instead of the device.
#include "ferry.h"

typedef void (*Work)(void *context);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  FyStream *stream = fy_current_stream(device);
  for (int i = 0; i < 3; i++)
    work(context);
  fy_stream_synchronize(stream);
  double start = seconds_now();
  for (int i = 0; i < iterations; i++)
    work(context);
  fy_stream_synchronize(stream);
  double stop = seconds_now();
  return (stop - start) / iterations;
}
