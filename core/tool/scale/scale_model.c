// SPDX-License-Identifier: MIT
// The formulas of scale.h.
#include "tool/scale/scale.h"
#include <math.h>

enum { TREE_CHUNK = 64 << 10 };

double scale_ring(int n, ScaleLink link, double bytes) {
  return n < 2 ? 0 : 2 * (n - 1) * (link.alpha + bytes / n * link.beta);
}

double scale_tree_chunk(double bytes) {
  double half = bytes / 2;
  return half / ceil(fmax(half / TREE_CHUNK, 1));
}

// The tree is a heap: GPU i has the children 2 i + 1 and 2 i + 2. A chunk takes `alpha` to each, and `takes` where they share
// a receiver or a sender. Until the sums of a chunk are there:
static double up(int i, int n, double alpha, double takes) {
  int children = n > 2 * i + 2 ? 2 : n > 2 * i + 1;
  double slowest =
      children > 0 ? up(2 * i + 1, n, alpha, takes) : 0; // the first child's part of the heap is no smaller
  return children > 0 ? slowest + alpha + children * takes : 0;
}

// ... and until they are everywhere again.
static double down(int i, int n, double alpha, double takes) {
  double slowest = 0;
  int levels = 0, whole = 0; // below i at its left and at its right end
  for (int left = 2 * i + 1; left < n; left = 2 * left + 1)
    levels++;
  for (int right = 2 * i + 2; right < n; right = 2 * right + 2)
    whole++;
  if (levels == whole) // the same below each of these, and the second child is the later one
    return levels * (alpha + 2 * takes);
  for (int child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
    slowest = fmax(slowest, (child - 2 * i) * takes + alpha + down(child, n, alpha, takes));
  return slowest;
}

double scale_tree(int n, ScaleLink link, double bytes) {
  if (n < 2)
    return 0;
  // In each round of chunks, one of each tree, the busiest GPU sends: to a parent and to two children in one, to a parent in the other.
  double chunk = scale_tree_chunk(bytes), sends = n < 3 ? 2 : n < 5 ? 3 : 4, rounds = bytes / 2 / chunk;
  double takes = chunk * link.beta;
  return up(0, n, link.alpha, takes) + down(0, n, link.alpha, takes) + sends * (rounds - 1) * takes;
}

double scale_all_reduce(const ScaleCluster *c, ScaleAlgorithm algorithm, double bytes) {
  if (c->nodes * c->per_node < 2)
    return 0;
  if (algorithm == SCALE_BEST)
    return fmin(scale_all_reduce(c, SCALE_RING, bytes), scale_all_reduce(c, SCALE_TREE, bytes));
  double (*among)(int, ScaleLink, double) = algorithm == SCALE_TREE ? scale_tree : scale_ring;
  if (c->nodes == 1)
    return c->call + among(c->per_node, c->node, bytes);
  // A ring's first and second half are the reduce-scatter and the all-gather.
  return c->call + scale_ring(c->per_node, c->node, bytes) + among(c->nodes, c->net, bytes / c->per_node);
}

ScaleResult scale_step(const ScaleCluster *c, ScaleAlgorithm algorithm, const ScaleStep *step) {
  double computed = step->forward + step->backward, end = 0;
  ScaleResult r = {0};
  for (int b = 0; b < step->bucket_count; b++) {
    double takes = scale_all_reduce(c, algorithm, step->buckets[b].bytes);
    end = fmax(end, step->forward + step->buckets[b].ready * step->backward) + takes;
    r.communication += takes;
  }
  r.seconds = fmax(end, computed) + step->rest;
  r.exposed = r.seconds - computed - step->rest;
  r.efficiency = (computed + step->rest) / r.seconds;
  return r;
}

void scale_divide(ScaleStep *step, double seconds) {
  step->forward = seconds / 3;
  step->backward = seconds - step->forward;
  step->rest = 0;
}
