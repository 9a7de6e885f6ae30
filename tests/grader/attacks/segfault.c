// status: crash
static void attack(void) {
  *(volatile int *)8 = 1;
}
