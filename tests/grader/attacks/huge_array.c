// status: compile error
char huge[3ull << 30] = {1};
static void attack(void) {
  huge[7] = 1;
}
