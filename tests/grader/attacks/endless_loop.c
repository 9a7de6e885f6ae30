// status: timeout
// seconds: 1
static void attack(void) {
  for (volatile int i = 0;;)
    i = !i;
}
