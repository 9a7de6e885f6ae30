// What an answer to exercise 4.1 defines, and the clock that it is given.
#include "ferry.h"

typedef void (*Work)(void *context); // starts work on the device and returns

double seconds_now(void);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device);
