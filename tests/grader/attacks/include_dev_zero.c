// status: compile error
#include "/dev/zero"
static void attack(void) {
}
