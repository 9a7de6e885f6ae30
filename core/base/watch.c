// SPDX-License-Identifier: MIT
#include "base/watch.h"

FyWatcher fy_watcher;
atomic_bool fy_watching;
