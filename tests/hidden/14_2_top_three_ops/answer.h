// What an answer to exercise 14.2 defines.
#include "ferry.h"

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]);
