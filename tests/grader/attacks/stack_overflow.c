// status: crash
static int deeper(volatile char *above) {
  volatile char room[4096];
  room[0] = above ? above[0] : 1;
  return deeper(room) + room[0];
}

static void attack(void) {
  deeper(NULL);
}
