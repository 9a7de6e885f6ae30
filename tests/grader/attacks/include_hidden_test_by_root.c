// status: compile error
#include "@ROOT@/tests/hidden/10_made_there/check.c"
static void attack(void) {
}
