// The stream that the work is in, instead of the whole device.
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int turns, FyDevice device) {
  FyStream *stream = fy_current_stream(device);
  for (int i = 0; i < 3; i++)
    work(context);
  fy_stream_synchronize(stream);
  double start = seconds_now();
  for (int i = 0; i < turns; i++)
    work(context);
  fy_stream_synchronize(stream);
  double stop = seconds_now();
  return (stop - start) / turns;
}
