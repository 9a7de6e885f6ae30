// What an answer to exercise 3.2 defines.
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y);
double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device);
