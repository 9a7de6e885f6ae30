// status: compile error
extern void fy_count_launch(void);

static void attack(void) {
  fy_count_launch();
}
