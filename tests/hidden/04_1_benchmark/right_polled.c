// Polls the stream.
#include "ferry.h"

typedef void (*Work)(void *context);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  work(context);
  while (!fy_stream_query(fy_current_stream(device)))
    ;
  double start = seconds_now();
  for (int i = 0; i < iterations; i++)
    work(context);
  while (!fy_stream_query(fy_current_stream(device)))
    ;
  return (seconds_now() - start) / iterations;
}
