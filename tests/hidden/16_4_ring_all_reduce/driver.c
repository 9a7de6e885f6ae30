// SPDX-License-Identifier: MIT
// Ranks are threads, and the ring is a queue of messages between each two neighbours.
#include "driver.h"
#include "answer.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RANKS = 8, BESIDE = 8 };

typedef struct Parcel {
  struct Parcel *next;
  int64_t count;
  float numbers[];
} Parcel;

typedef struct Rank {
  int number;
  Parcel *first, *last; // on their way to it
  int64_t sent, messages, largest, smallest;
  const float *into; // where it lets its first message be written, while it is in the call for that
  bool fetched;
  float *data;
  pthread_t thread;
} Rank;

static Rank ranks[MOST_RANKS];
static int rank_count, number_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t between_calls;
static bool stuck, other_size, raised, same_memory;
static int met;            // ranks that have come to their first message
static int waiting, ended; // ranks
static _Thread_local Rank *self;

static void post(const float *numbers, int64_t count) {
  Parcel *message = malloc(sizeof *message + (size_t)(count > 0 ? count : 0) * sizeof *numbers);
  Rank *to = &ranks[(self->number + 1) % rank_count];
  *message = (Parcel){.count = count};
  if (count > 0)
    memcpy(message->numbers, numbers, (size_t)count * sizeof *numbers);
  pthread_mutex_lock(&lock);
  self->sent += count;
  self->messages++;
  self->largest = count > self->largest ? count : self->largest;
  self->smallest = count < self->smallest ? count : self->smallest;
  if (to->last)
    to->last->next = message;
  else
    to->first = message;
  to->last = message;
  pthread_cond_broadcast(&arrived);
  pthread_mutex_unlock(&lock);
}

// Does nobody have anything to do any more? Then nobody ever will.
static bool nothing_moves(void) {
  for (int r = 0; r < rank_count; r++)
    if (ranks[r].first)
      return false;
  return waiting + ended == rank_count;
}

// Sending waits for nobody, so all ranks come to their first message, or end without: until then none goes on. In this moment two of
// them that receive into the same memory would overwrite each other's numbers.
static void meet(const float *into, int64_t count) {
  self->fetched = true;
  self->into = count > 0 ? into : NULL;
  met++;
  pthread_cond_broadcast(&arrived);
  while (met < rank_count)
    pthread_cond_wait(&arrived, &lock);
  for (int r = 0; r < rank_count; r++)
    same_memory |= &ranks[r] != self && self->into && ranks[r].into == self->into;
}

static void fetch(float *numbers, int64_t count) {
  pthread_mutex_lock(&lock);
  if (!self->fetched)
    meet(numbers, count);
  waiting++;
  while (!self->first && !stuck) {
    stuck = nothing_moves();
    if (stuck)
      pthread_cond_broadcast(&arrived);
    else
      pthread_cond_wait(&arrived, &lock);
  }
  waiting--;
  Parcel *message = self->first;
  if (message) {
    self->first = message->next;
    if (!self->first)
      self->last = NULL;
    other_size |= message->count != count;
  }
  pthread_mutex_unlock(&lock);
  for (int64_t i = 0; i < count; i++)
    numbers[i] = message && i < message->count ? message->numbers[i] : 0;
  free(message);
}

static void call(float *data, int64_t count) {
  FyError error;
  fy_trap(error) {
    ring_all_reduce(data, count, self->number, rank_count, post, fetch);
  }
  pthread_mutex_lock(&lock);
  raised |= error.kind != 0;
  ended++;
  met += !self->fetched;
  stuck |= waiting > 0 && nothing_moves();
  pthread_cond_broadcast(&arrived);
  pthread_mutex_unlock(&lock);
}

// Nothing of the call before counts.
static void begin_anew(void) {
  ended = met = 0;
  for (int r = 0; r < rank_count; r++)
    ranks[r] = (Rank){.number = r, .smallest = number_count, .data = ranks[r].data, .thread = ranks[r].thread};
}

// Two calls: of a few numbers, and of all. What an answer keeps of the first has to be large enough for the second.
static void *run(void *argument) {
  self = argument;
  float few[3 * MOST_RANKS] = {0};
  const int64_t few_count = number_count < rank_count ? number_count : rank_count;
  memcpy(few + MOST_RANKS, self->data + BESIDE, (size_t)few_count * sizeof *few);
  call(few + MOST_RANKS, few_count);
  pthread_barrier_wait(&between_calls);
  if (self->number == 0)
    begin_anew();
  pthread_barrier_wait(&between_calls);
  call(self->data + BESIDE, number_count);
  return NULL;
}

void drive(Driver *d) {
  const Array *data = driver_array(d, "data");
  rank_count = (int)data->shape.size[0];
  number_count = (int)data->shape.size[1];
  const size_t wide = (size_t)number_count + 2 * BESIDE;
  float *memory = calloc((size_t)rank_count * wide, sizeof *memory);
  float *result = calloc((size_t)(rank_count * number_count) + 1, sizeof *result);
  int64_t sent[MOST_RANKS], messages[MOST_RANKS], largest = 0, smallest = number_count;
  for (int r = 0; r < rank_count; r++) {
    ranks[r] = (Rank){.number = r, .smallest = number_count, .data = memory + (size_t)r * wide};
    for (size_t i = 0; i < wide; i++)
      ranks[r].data[i] = 12345;
    memcpy(ranks[r].data + BESIDE, data->f32 + (int64_t)r * number_count, (size_t)number_count * sizeof(float));
  }
  if (pthread_barrier_init(&between_calls, NULL, (unsigned)rank_count) != 0)
    abort();
  for (int r = 0; r < rank_count; r++)
    if (pthread_create(&ranks[r].thread, NULL, run, &ranks[r]) != 0)
      abort();
  bool beside = false;
  for (int r = 0; r < rank_count; r++)
    pthread_join(ranks[r].thread, NULL);
  for (int r = 0; r < rank_count; r++) {
    for (int i = 0; i < BESIDE; i++)
      beside |= ranks[r].data[i] != 12345 || ranks[r].data[BESIDE + number_count + i] != 12345;
    memcpy(result + (size_t)(r * number_count), ranks[r].data + BESIDE, (size_t)number_count * sizeof(float));
    sent[r] = ranks[r].sent;
    messages[r] = ranks[r].messages;
    largest = ranks[r].largest > largest ? ranks[r].largest : largest;
    smallest = ranks[r].smallest < smallest ? ranks[r].smallest : smallest;
  }
  driver_put_array(d, "data after", FY_FLOAT32, data->shape, result);
  driver_put_array(d, "sent", FY_INT64, shape(rank_count), sent);
  driver_put_array(d, "messages", FY_INT64, shape(rank_count), messages);
  driver_put_number(d, "largest", (double)largest);
  driver_put_number(d, "smallest", (double)smallest);
  driver_put_number(d, "same memory", same_memory);
  driver_put_number(d, "stuck", stuck);
  driver_put_number(d, "other size", other_size);
  driver_put_number(d, "beside", beside);
  driver_put_number(d, "raised", raised);
}
