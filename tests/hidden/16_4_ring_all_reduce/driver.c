// SPDX-License-Identifier: MIT
// Ranks are threads, and the ring is a queue of messages between neighbors.
#include "driver.h"
#include "answer.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RANKS = 8, MARGIN = 8 };

typedef struct Packet {
  struct Packet *next;
  int64_t count;
  float numbers[];
} Packet;

typedef struct Rank {
  int number;
  Packet *first, *last; // sent to it
  int64_t sent, messages, largest;
  const float *into; // where it receives its first message, during that call
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
static int met;            // ranks that have reached their first receive
static int waiting, ended; // ranks
static _Thread_local Rank *self;

static void post(const float *numbers, int64_t count) {
  Packet *message = malloc(sizeof *message + (size_t)(count > 0 ? count : 0) * sizeof *numbers);
  Rank *to = &ranks[(self->number + 1) % rank_count];
  *message = (Packet){.count = count};
  if (count > 0)
    memcpy(message->numbers, numbers, (size_t)count * sizeof *numbers);
  pthread_mutex_lock(&lock);
  self->sent += count;
  self->messages++;
  self->largest = count > self->largest ? count : self->largest;
  if (to->last)
    to->last->next = message;
  else
    to->first = message;
  to->last = message;
  pthread_cond_broadcast(&arrived);
  pthread_mutex_unlock(&lock);
}

// All ranks wait or have returned, and no message is left: a deadlock.
static bool nothing_moves(void) {
  for (int r = 0; r < rank_count; r++)
    if (ranks[r].first)
      return false;
  return waiting + ended == rank_count;
}

// send does not wait, so all ranks reach their first receive, or return: until then none goes on. At this moment, two ranks that
// receive into the same memory would overwrite each other's numbers.
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
  Packet *message = self->first;
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

// Forgets the first call.
static void reset_ranks(void) {
  ended = met = 0;
  for (int r = 0; r < rank_count; r++)
    ranks[r] = (Rank){.number = r, .data = ranks[r].data, .thread = ranks[r].thread};
}

// Two calls: with few numbers, and with all.
static void *run(void *argument) {
  self = argument;
  float few[3 * MOST_RANKS] = {0};
  const int64_t few_count = number_count < rank_count ? number_count : rank_count;
  memcpy(few + MOST_RANKS, self->data + MARGIN, (size_t)few_count * sizeof *few);
  call(few + MOST_RANKS, few_count);
  pthread_barrier_wait(&between_calls);
  if (self->number == 0)
    reset_ranks();
  pthread_barrier_wait(&between_calls);
  call(self->data + MARGIN, number_count);
  return NULL;
}

void drive(Driver *d) {
  const Array *data = driver_array(d, "data");
  rank_count = (int)data->shape.size[0];
  number_count = (int)data->shape.size[1];
  const size_t wide = (size_t)number_count + 2 * MARGIN;
  float *memory = calloc((size_t)rank_count * wide, sizeof *memory);
  float *result = calloc((size_t)(rank_count * number_count) + 1, sizeof *result);
  int64_t sent[MOST_RANKS], messages[MOST_RANKS], largest = 0;
  for (int r = 0; r < rank_count; r++) {
    ranks[r] = (Rank){.number = r, .data = memory + (size_t)r * wide};
    for (size_t i = 0; i < wide; i++)
      ranks[r].data[i] = 12345;
    memcpy(ranks[r].data + MARGIN, data->f32 + (int64_t)r * number_count, (size_t)number_count * sizeof(float));
  }
  if (pthread_barrier_init(&between_calls, NULL, (unsigned)rank_count) != 0)
    abort();
  for (int r = 0; r < rank_count; r++)
    if (pthread_create(&ranks[r].thread, NULL, run, &ranks[r]) != 0)
      abort();
  bool outside = false;
  for (int r = 0; r < rank_count; r++)
    pthread_join(ranks[r].thread, NULL);
  for (int r = 0; r < rank_count; r++) {
    for (int i = 0; i < MARGIN; i++)
      outside |= ranks[r].data[i] != 12345 || ranks[r].data[MARGIN + number_count + i] != 12345;
    memcpy(result + (size_t)(r * number_count), ranks[r].data + MARGIN, (size_t)number_count * sizeof(float));
    sent[r] = ranks[r].sent;
    messages[r] = ranks[r].messages;
    largest = ranks[r].largest > largest ? ranks[r].largest : largest;
  }
  driver_put_array(d, "data after", FY_FLOAT32, data->shape, result);
  driver_put_array(d, "sent", FY_INT64, shape(rank_count), sent);
  driver_put_array(d, "messages", FY_INT64, shape(rank_count), messages);
  driver_put_number(d, "largest", (double)largest);
  driver_put_number(d, "same memory", same_memory);
  driver_put_number(d, "stuck", stuck);
  driver_put_number(d, "other size", other_size);
  driver_put_number(d, "outside", outside);
  driver_put_number(d, "raised", raised);
}
