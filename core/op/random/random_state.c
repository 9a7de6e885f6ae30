// The generator of the process: a seed and a position that every random op moves forward.
#include "op/random/random_state.h"
#include "base/philox.h"

#include <pthread.h>
#include <sys/random.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FyRngState state;
static bool seeded;

// A program that sets no seed gets other numbers each time.
static void seed_once(void) {
  const FyRngState fallback = {.seed = 67280421310721u};
  if (seeded)
    return;
  seeded = true;
  if (getrandom(&state.seed, sizeof state.seed, GRND_NONBLOCK) != (ssize_t)sizeof state.seed)
    state = fallback;
}

void fy_manual_seed(uint64_t seed) {
  fy_set_rng_state((FyRngState){.seed = seed});
}

FyRngState fy_get_rng_state(void) {
  pthread_mutex_lock(&lock);
  seed_once();
  const FyRngState now = state;
  pthread_mutex_unlock(&lock);
  return now;
}

void fy_set_rng_state(FyRngState next) {
  pthread_mutex_lock(&lock);
  state = next;
  seeded = true;
  pthread_mutex_unlock(&lock);
}

_Thread_local FyThreadRng fy_thread_rng;

static uint64_t bits_of(uint64_t seed, uint64_t counter) {
  const FyPhilox block = fy_philox(seed, counter);
  return (uint64_t)block.word[1] << 32 | block.word[0];
}

FyThreadRng fy_thread_rng_from(FyRngState reserved, int index) {
  const uint64_t seed = bits_of(bits_of(reserved.seed, reserved.offset), (uint64_t)index);
  return (FyThreadRng){.own = true, .state = {.seed = seed}};
}

FyRngState fy_rng_reserve(uint64_t blocks) {
  if (fy_thread_rng.own) {
    const FyRngState mine = fy_thread_rng.state;
    fy_thread_rng.state.offset += blocks;
    return mine;
  }
  pthread_mutex_lock(&lock);
  seed_once();
  const FyRngState mine = state;
  state.offset += blocks;
  pthread_mutex_unlock(&lock);
  return mine;
}
