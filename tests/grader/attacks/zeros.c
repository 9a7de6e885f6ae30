// status: fail
// Zeros, for a tolerance that is as large as the values.
#define attack() return fy_zeros(fy_shape(rows, columns), .device = device)
