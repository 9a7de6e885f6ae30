// SPDX-License-Identifier: MIT
// The registered plugins.
#include "sim/base/plugin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

const struct sim_plugin *sim_plugins[SIM_MAX_PLUGINS + 1];
const struct sim_plugin *sim_inspector;

void sim_plugin_register(const struct sim_plugin *plugin) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  int count = 0;
  while (sim_plugin_at(count) && sim_plugin_at(count) != plugin)
    count++;
  if (count == SIM_MAX_PLUGINS) {
    fprintf(stderr, "ferry: more than %d plugins of the simulator; raise SIM_MAX_PLUGINS in plugin.h\n",
            SIM_MAX_PLUGINS);
    abort();
  }
  if (plugin->launch_begin)
    sim_inspector = plugin;
  __atomic_store_n(&sim_plugins[count], plugin, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
}
