// status: compile error
#include <stddef.h>

extern void __real_fy_count_copy(int kind, size_t bytes); // what the linker calls the function that it replaced

static void attack(void) {
  __real_fy_count_copy(1, 0);
}
