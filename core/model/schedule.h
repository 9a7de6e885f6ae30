// SPDX-License-Identifier: MIT
// When each of many operations would begin and end on modeled GPUs: a discrete-event account. An operation waits for others,
// then for its engine: a device has one engine for copies in, one for copies out (the same one where there is only one), and
// one for kernels, on which kernels run side by side as long as their shares of the multiprocessors add up to at most 1.
// Engines take what is ready first, the more urgent of what waits at the same moment. Seconds throughout; the caller sees to it
// that one thread at a time is in here. Nothing is raised; without memory the program ends.
#ifndef FERRY_MODEL_SCHEDULE_H
#define FERRY_MODEL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

enum { MODEL_MAX_DEVICES = 16 };

enum model_engine {
  MODEL_NO_ENGINE, // a point in a stream, or what nothing else has to wait for
  MODEL_KERNELS,
  MODEL_COPY_IN,  // from the host
  MODEL_COPY_OUT, // to the host
  MODEL_PEER      // out of `device` into `peer`: a copy engine of both
};

struct model_task {
  // The caller's, before model_task_submit. `seconds` below 0: not known yet; then `guess` is for the caller to fall back on.
  enum model_engine engine;
  int device, peer;
  double seconds, guess;
  double share; // of the multiprocessors, above 0, for kernels
  double gap;   // least time after what it waited for
  int priority; // larger: more urgent
  void *data;

  // The account's. start and finish hold once it is settled.
  bool settled;
  double start, finish;

  double submitted, after, ready;
  unsigned long long order;
  int pending, references;
  struct model_task **successors;
  size_t successor_count, successor_room;
  struct model_task *next;
};

// `settled`, if given, is called for each task with its times, in the order in which they are settled.
struct model_schedule *model_schedule_new(int copy_engines, void (*settled)(struct model_task *task));
void model_schedule_free(struct model_schedule *schedule);

// With one reference, the caller's; it waits for nothing yet, and is not submitted.
struct model_task *model_task_new(void);
void model_task_release(struct model_task *task); // NULL: nothing

// `task` will begin after `on` has ended.
void model_task_after(struct model_task *task, struct model_task *on);

// It may begin from `now` on. Its own fields, but for `seconds`, are final.
void model_task_submit(struct model_schedule *schedule, struct model_task *task, double now);

// Settles what must be for `task` to be settled; NULL: then it is. Otherwise the task whose `seconds` have to be known first.
struct model_task *model_schedule_settle(struct model_schedule *schedule, struct model_task *task);

// Settles what begins up to `now`: right if nothing will be submitted at an earlier time. Stops where seconds are not known.
void model_schedule_advance(struct model_schedule *schedule, double now);

// Tasks submitted and not settled.
size_t model_schedule_waiting(const struct model_schedule *schedule);

#endif
