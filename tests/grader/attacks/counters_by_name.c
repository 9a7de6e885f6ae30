// status: fail
#include <dlfcn.h>
#include <stdio.h>

static void attack(void) {
  static const char *const names[] = {"fy_count_launch", "fy_count_copy", "fy_counters", "cudasim_reset_stats",
                                      "sim_state"};
  void *self = dlopen(NULL, RTLD_NOW);
  for (int i = 0; i < 5; i++)
    if (dlsym(self, names[i]))
      printf("got hold of %s\n", names[i]);
}
