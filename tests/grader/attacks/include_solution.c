// status: compile error
// The solution, by its full path.
#define offset_grid solved
#include "@ROOT@/solutions/10_made_there.c"
#undef offset_grid
#define attack() return solved(device, rows, columns, offset)
