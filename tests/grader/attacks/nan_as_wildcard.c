// status: fail
// NaN everywhere, for a comparison in which it is equal to everything.
#include <math.h>
#define attack() return fy_add_scalar(fy_zeros(fy_shape(rows, columns), .device = device), NAN)
