// SPDX-License-Identifier: MIT
// The limits that the grader was started with (ulimit), which all that it starts inherits: what is too low for a right answer must not
// count against it.
#include "sandbox_impl.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// As ulimit counts them.
static const struct {
  int resource;
  const char *option, *what;
  rlim_t unit, least;
} needed[] = {
    {RLIMIT_NOFILE, "-n", "open files", 1, 64},
    {RLIMIT_AS, "-v", "KiB of address space", 1024, RLIM_INFINITY}, // the inspector reserves more than any machine has
    {RLIMIT_DATA, "-d", "KiB of data", 1024, 2048 << 10},
    {RLIMIT_STACK, "-s", "KiB of stack", 1024, 8 << 10},
    {RLIMIT_FSIZE, "-f", "KiB in a file", 1024, 128 << 10},
    {RLIMIT_CPU, "-t", "seconds of processor time", 1, 120},
};

// The soft limit is raised as far as it has to be; whether the hard one lets it.
static bool raise_soft(int resource, rlim_t least, rlim_t *hard) {
  struct rlimit now;
  if (getrlimit(resource, &now) != 0)
    return true;
  *hard = now.rlim_max;
  if (now.rlim_cur >= least) // no limit is the largest number
    return true;
  now.rlim_cur = least;
  return now.rlim_max >= least && setrlimit(resource, &now) == 0;
}

bool sandbox_limits_suffice(char *why, size_t bytes) {
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
    const bool all = needed[i].least == RLIM_INFINITY;
    rlim_t hard = 0;
    if (raise_soft(needed[i].resource, all ? RLIM_INFINITY : needed[i].least * needed[i].unit, &hard))
      continue;
    char least[32] = "no limit";
    if (!all)
      snprintf(least, sizeof least, "%llu", (unsigned long long)needed[i].least);
    snprintf(why, bytes, "ulimit %s allows %llu %s, but %s is needed: raise the limit and start ./ferry again",
             needed[i].option, (unsigned long long)(hard / needed[i].unit), needed[i].what, least);
    return false;
  }
  if (access("/proc/self/stat", R_OK) == 0)
    return true;
  snprintf(why, bytes, "/proc is missing (%s); Ferry counts processes and their memory there: mount -t proc proc /proc",
           strerror(errno));
  return false;
}
