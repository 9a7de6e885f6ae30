// mistake: wrong stream or device synchronized
#include "ferry.h"

typedef void (*Work)(void *context);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  FyStream *stream = fy_stream_new(device, 0);
  work(context);
  fy_stream_synchronize(stream);
  double start = seconds_now();
  for (int i = 0; i < iterations; i++)
    work(context);
  fy_stream_synchronize(stream);
  return (seconds_now() - start) / iterations;
}
