// SPDX-License-Identifier: MIT
// A process of the grader's own that does a part of its work and sends what came of it through a pipe.
#ifndef GRADER_WORKER_H
#define GRADER_WORKER_H

#include <sys/types.h>

// Forks one, which is killed when this process ends. In it: 0, and `*end` takes what it sends, before it leaves by _exit(). Here:
// its number, and what it sends is read from `*end`; or -1, and errno says why.
pid_t worker_begin(int *end);

#endif
