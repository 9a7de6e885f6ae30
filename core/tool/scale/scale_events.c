// SPDX-License-Identifier: MIT
// A training step message by message: every GPU's sends, which wait for what they pass on, for a free sender and for a free
// receiver. Nothing of the formulas is used here, but which algorithm SCALE_BEST takes.
#include "tool/scale/scale.h"
#include <math.h>
#include <stdlib.h>

// A message from one GPU to another, or an event of one GPU (from == to), which takes `bytes` as seconds. It starts when all
// that it waits for has come.
typedef struct Message {
  int from, to;
  bool net;
  double bytes;
  int waits, next; // next: head of the list of those that wait for this one
  double ready;
  int queued; // the next that waits for the same port
} Message;

typedef struct Waiter {
  int message, next;
} Waiter;

typedef struct Event {
  double at;
  int message, order;
  enum { SENT, TAKEN, CAME } what; // by its sender; by its receiver; and there, alpha after that
} Event;

typedef struct Port {
  int first; // of the messages that wait for it
  bool busy;
} Port;

typedef struct Run {
  const ScaleCluster *cluster;
  Message *messages;
  Waiter *waiters;
  Event *events; // a heap, the earliest first
  Port *ports;   // of each GPU four: in and out, within the node and to the network
  int message_count, message_room, waiter_count, waiter_room, event_count, event_room, order;
  bool no_memory;
  double end;
} Run;

static bool room_for(Run *run, void **array, int used, int *room, size_t size) {
  if (used < *room)
    return true;
  int wanted = 2 * *room + 1024;
  void *grown = realloc(*array, (size_t)wanted * size);
  if (!grown) {
    run->no_memory = true;
    return false;
  }
  *array = grown;
  *room = wanted;
  return true;
}

// ---- the schedule ------------------------------------------------------------------------------------------------------

static int add(Run *run, int from, int to, bool net, double bytes) {
  if (!room_for(run, (void **)&run->messages, run->message_count, &run->message_room, sizeof *run->messages))
    return 0;
  run->messages[run->message_count] =
      (Message){.from = from, .to = to, .net = net, .bytes = bytes, .next = -1, .queued = -1};
  return run->message_count++;
}

static void wait_for(Run *run, int message, int other) {
  if (!room_for(run, (void **)&run->waiters, run->waiter_count, &run->waiter_room, sizeof *run->waiters))
    return;
  run->waiters[run->waiter_count] = (Waiter){message, run->messages[other].next};
  run->messages[other].next = run->waiter_count++;
  run->messages[message].waits++;
}

// GPUs that communicate with each other, and for each the event after which it does. The functions below put the event
// after which its part is done in its place.
typedef struct Group {
  int n, *gpus, *after;
  bool net;
} Group;

// Bytes `i` of `bytes` in n parts; whole bytes, as one cannot send less.
static double part(double bytes, int n, int i) {
  i = (i % n + n) % n;
  return floor(bytes * (i + 1) / n) - floor(bytes * i / n);
}

// `steps` of a ring over `bytes`: in step s GPU r passes the part r - s - shift on to the next one.
static void ring(Run *run, Group *g, double bytes, int steps, int shift) {
  int *came = calloc((size_t)g->n, sizeof *came), *next = calloc((size_t)g->n, sizeof *next);
  run->no_memory |= !came || !next;
  for (int s = 0; s < steps && !run->no_memory; s++) {
    for (int r = 0; r < g->n; r++) {
      int m = add(run, g->gpus[r], g->gpus[(r + 1) % g->n], g->net, part(bytes, g->n, r - s - shift));
      if (s < 2)
        wait_for(run, m, g->after[r]);
      if (s > 0)
        wait_for(run, m, came[r]);
      next[(r + 1) % g->n] = m;
    }
    for (int r = 0; r < g->n; r++)
      came[r] = next[r];
  }
  for (int r = 0; r < g->n && steps > 0 && !run->no_memory; r++) {
    int done = add(run, g->gpus[r], g->gpus[r], false, 0);
    wait_for(run, done, came[r]);
    wait_for(run, done, g->after[r]);
    g->after[r] = done;
  }
  free(came);
  free(next);
}

// One chunk through one of the two trees, up to the root and down again. Tree 0 is a heap, tree 1 its mirror image, so that a GPU
// with children in one has none in the other. done[r] waits for what comes to r.
static void tree_chunk(Run *run, const Group *g, int tree, double bytes, int *up, int *down, const int *done) {
  int n = g->n;
#define GPU(i) g->gpus[tree ? n - 1 - (i) : (i)]
#define AFTER(i) g->after[tree ? n - 1 - (i) : (i)]
#define DONE(i) done[tree ? n - 1 - (i) : (i)]
  for (int i = n - 1; i > 0; i--) {
    up[i] = add(run, GPU(i), GPU((i - 1) / 2), g->net, bytes);
    wait_for(run, up[i], AFTER(i));
    for (int child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
      wait_for(run, up[i], up[child]);
  }
  for (int i = 1; i < n && !run->no_memory; i++) {
    int parent = (i - 1) / 2;
    down[i] = add(run, GPU(parent), GPU(i), g->net, bytes);
    if (parent > 0)
      wait_for(run, down[i], down[parent]);
    else
      for (int child = 1; child <= 2 && child < n; child++)
        wait_for(run, down[i], up[child]);
    if (parent == 0)
      wait_for(run, down[i], AFTER(0));
    wait_for(run, DONE(i), down[i]);
  }
  for (int child = 1; child <= 2 && child < n; child++)
    wait_for(run, DONE(0), up[child]);
#undef GPU
#undef AFTER
#undef DONE
}

static void trees(Run *run, Group *g, double bytes) {
  int *up = calloc((size_t)g->n, sizeof *up), *down = calloc((size_t)g->n, sizeof *down),
      *done = calloc((size_t)g->n, sizeof *done);
  run->no_memory |= !up || !down || !done;
  for (int r = 0; r < g->n && !run->no_memory; r++) {
    done[r] = add(run, g->gpus[r], g->gpus[r], false, 0);
    wait_for(run, done[r], g->after[r]);
  }
  double chunk = scale_tree_chunk(bytes);
  int chunks = chunk > 0 ? (int)round(bytes / 2 / chunk) : 0;
  for (int c = 0; c < chunks; c++)
    for (int tree = 0; tree < 2 && !run->no_memory; tree++)
      tree_chunk(run, g, tree, chunk, up, down, done);
  for (int r = 0; r < g->n && !run->no_memory; r++)
    g->after[r] = done[r];
  free(up);
  free(down);
  free(done);
}

static void all_reduce(Run *run, Group *g, ScaleAlgorithm algorithm, double bytes) {
  if (g->n < 2)
    return;
  if (algorithm == SCALE_TREE)
    trees(run, g, bytes);
  else
    ring(run, g, bytes, 2 * (g->n - 1), 0);
}

// The algorithm runs on each group in turn: a group is the GPUs of a node, or those of one place in all nodes.
typedef struct Place {
  int nodes, per_node, *after;
} Place;

static void gather(const Place *p, Group *g, bool net, int which) {
  g->net = net;
  g->n = net ? p->nodes : p->per_node;
  for (int i = 0; i < g->n; i++) {
    g->gpus[i] = net ? i * p->per_node + which : which * p->per_node + i;
    g->after[i] = p->after[g->gpus[i]];
  }
}

static void scatter(Place *p, const Group *g) {
  for (int i = 0; i < g->n; i++)
    p->after[g->gpus[i]] = g->after[i];
}

static void bucket(Run *run, Place *p, Group *g, ScaleAlgorithm algorithm, double bytes) {
  if (p->nodes == 1) {
    gather(p, g, false, 0);
    all_reduce(run, g, algorithm, bytes);
    scatter(p, g);
    return;
  }
  for (int node = 0; node < p->nodes; node++) { // reduce-scatter: GPU r has the part r + 1 in the end
    gather(p, g, false, node);
    ring(run, g, bytes, p->per_node - 1, 0);
    scatter(p, g);
  }
  for (int place = 0; place < p->per_node; place++) {
    gather(p, g, true, place);
    all_reduce(run, g, algorithm, part(bytes, p->per_node, place + 1));
    scatter(p, g);
  }
  for (int node = 0; node < p->nodes; node++) {
    gather(p, g, false, node);
    ring(run, g, bytes, p->per_node - 1, -1);
    scatter(p, g);
  }
}

// Every GPU: the forward pass, then for each bucket the moment at which it is ready and the GPU has sent those before it.
static void schedule(Run *run, ScaleAlgorithm algorithm, const ScaleStep *step) {
  const ScaleCluster *c = run->cluster;
  int gpus = c->nodes * c->per_node;
  Place p = {c->nodes, c->per_node, calloc((size_t)gpus, sizeof(int))};
  Group g = {.gpus = calloc((size_t)gpus, sizeof(int)), .after = calloc((size_t)gpus, sizeof(int))};
  run->no_memory |= !p.after || !g.gpus || !g.after;
  for (int b = 0; b < step->bucket_count && gpus > 1 && !run->no_memory; b++) {
    ScaleAlgorithm with = algorithm;
    if (with == SCALE_BEST)
      with = scale_all_reduce(c, SCALE_TREE, step->buckets[b].bytes) <
                     scale_all_reduce(c, SCALE_RING, step->buckets[b].bytes)
                 ? SCALE_TREE
                 : SCALE_RING;
    for (int gpu = 0; gpu < gpus && !run->no_memory; gpu++) {
      int ready = add(run, gpu, gpu, false, step->forward + step->buckets[b].ready * step->backward);
      int call = add(run, gpu, gpu, false, c->call);
      wait_for(run, call, ready);
      if (b > 0)
        wait_for(run, call, p.after[gpu]);
      p.after[gpu] = call;
    }
    bucket(run, &p, &g, with, step->buckets[b].bytes);
  }
  free(p.after);
  free(g.gpus);
  free(g.after);
}

// ---- the run -----------------------------------------------------------------------------------------------------------

static bool is_before(const Event *a, const Event *b) {
  return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void push(Run *run, double at, int message, int what) {
  if (!room_for(run, (void **)&run->events, run->event_count, &run->event_room, sizeof *run->events))
    return;
  Event e = {at, message, run->order++, what};
  int i = run->event_count++;
  for (; i > 0 && is_before(&e, &run->events[(i - 1) / 2]); i = (i - 1) / 2)
    run->events[i] = run->events[(i - 1) / 2];
  run->events[i] = e;
}

static Event pop(Run *run) {
  Event first = run->events[0], last = run->events[--run->event_count];
  int i = 0;
  for (int child; (child = 2 * i + 1) < run->event_count; i = child) {
    if (child + 1 < run->event_count && is_before(&run->events[child + 1], &run->events[child]))
      child++;
    if (is_before(&last, &run->events[child]))
      break;
    run->events[i] = run->events[child];
  }
  run->events[i] = last;
  return first;
}

static void enqueue(Run *run, int m, int gpu, bool out, double now);

static Port *port(const Run *run, int gpu, bool out, bool net) {
  return &run->ports[4 * gpu + 2 * out + net];
}

// A port sends, or takes in, one message at a time: of those that wait, the one that belongs to the earliest chunk.
static void serve(Run *run, int gpu, bool out, bool net, double now) {
  Port *p = port(run, gpu, out, net);
  if (p->busy || p->first < 0)
    return;
  int m = p->first;
  p->first = run->messages[m].queued;
  p->busy = true;
  push(run, now + run->messages[m].bytes * (net ? run->cluster->net : run->cluster->node).beta, m, out ? SENT : TAKEN);
  if (out) // the network passes on what it has, and keeps what the receiver has no time for yet
    enqueue(run, m, run->messages[m].to, false, now);
}

static void enqueue(Run *run, int m, int gpu, bool out, double now) {
  Message *message = &run->messages[m];
  Port *p = port(run, gpu, out, message->net);
  int *place = &p->first;
  while (*place >= 0 && *place < m)
    place = &run->messages[*place].queued;
  message->queued = *place;
  *place = m;
  serve(run, gpu, out, message->net, now);
}

static void begin(Run *run, int m, double now) {
  const Message *message = &run->messages[m];
  if (message->from == message->to)
    push(run, now + message->bytes, m, CAME);
  else
    enqueue(run, m, message->from, true, now);
}

static void handle(Run *run, Event e) {
  const Message *m = &run->messages[e.message];
  bool out = e.what == SENT;
  if (e.what == CAME) {
    run->end = fmax(run->end, e.at);
    for (int w = m->next; w >= 0; w = run->waiters[w].next)
      if (--run->messages[run->waiters[w].message].waits == 0)
        begin(run, run->waiters[w].message, e.at);
    return;
  }
  if (e.what == TAKEN)
    push(run, e.at + (m->net ? run->cluster->net : run->cluster->node).alpha, e.message, CAME);
  int gpu = out ? m->from : m->to;
  port(run, gpu, out, m->net)->busy = false;
  serve(run, gpu, out, m->net, e.at);
}

double scale_step_by_events(const ScaleCluster *cluster, ScaleAlgorithm algorithm, const ScaleStep *step) {
  int gpus = cluster->nodes * cluster->per_node;
  Run run = {
      .cluster = cluster, .ports = calloc((size_t)gpus * 4, sizeof(Port)), .end = step->forward + step->backward};
  run.no_memory = !run.ports;
  for (int i = 0; i < 4 * gpus && !run.no_memory; i++)
    run.ports[i].first = -1;
  if (!run.no_memory)
    schedule(&run, algorithm, step);
  int first = run.message_count;
  for (int i = 0; i < first && !run.no_memory; i++)
    if (run.messages[i].waits == 0)
      begin(&run, i, 0);
  while (run.event_count > 0 && !run.no_memory)
    handle(&run, pop(&run));
  free(run.messages);
  free(run.waiters);
  free(run.events);
  free(run.ports);
  return run.no_memory ? -1 : run.end + step->rest;
}
