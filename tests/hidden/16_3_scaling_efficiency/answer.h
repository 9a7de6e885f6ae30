// What an answer to exercise 16.3 defines.
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double single, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds));
