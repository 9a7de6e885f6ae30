// status: timeout
// seconds: 1
// Its own clock, which stands still, so that no time limit is ever reached.
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec *t) {
  (void)which;
  t->tv_sec = t->tv_nsec = 0;
  return 0;
}
int gettimeofday(struct timeval *t, void *zone) {
  (void)zone;
  t->tv_sec = t->tv_usec = 0;
  return 0;
}
static volatile int forever = 1;
#define attack()                                                                                                       \
  while (forever)                                                                                                      \
    ;
