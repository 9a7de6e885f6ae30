// status: timeout crash
// seconds: 1
#include <pthread.h>
#include <unistd.h>

static void *wait_for_ever(void *data) {
  for (;;)
    pause();
  return data;
}

static void attack(void) {
  pthread_t thread;
  for (;;)
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
      pause();
}
