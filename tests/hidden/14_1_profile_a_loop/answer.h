// What an answer to exercise 14.1 defines.
#include "ferry.h"

FyKeyAverages *profile_loop(void (*step)(void *context, int i), void *context, int steps, int active);
