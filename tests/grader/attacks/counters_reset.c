// status: compile error
extern void cudasim_reset_stats(void);

static void attack(void) {
  cudasim_reset_stats();
}
