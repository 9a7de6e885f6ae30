// SPDX-License-Identifier: MIT
// Networks as lists of layers, and the buckets that DistributedDataParallel makes of them.
#include "tool/scale/scale.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 512 };
static const double FIRST_BUCKET = 1 << 20, NEXT_BUCKETS = 25 << 20;

// Parameters in the order of the forward pass, and the multiplications for one sample that their layer makes.
typedef struct Network {
  double elements[MAX_TENSORS], work[MAX_TENSORS];
  int count;
} Network;

static void tensor(Network *n, double elements, double work) {
  if (n->count < MAX_TENSORS) {
    n->elements[n->count] = elements;
    n->work[n->count++] = work;
  }
}

static void linear(Network *n, double in, double out, double times, bool bias) {
  tensor(n, in * out, in * out * times);
  if (bias)
    tensor(n, out, 0);
}

// A convolution with a square kernel whose output has `side` by `side` pixels; then a batch norm, or a bias.
static void convolution(Network *n, int in, int out, int kernel, int groups, int side, bool norm) {
  double weights = (double)in / groups * out * kernel * kernel;
  tensor(n, weights, weights * side * side);
  tensor(n, out, 0);
  if (norm)
    tensor(n, out, 0);
}

// He et al. 2015, Xie et al. 2016, with the stride in the 3x3 convolution; images of 224 by 224.
static void resnet(Network *n, const int blocks[4], int groups, int group_width) {
  int in = 64, side = 56;
  convolution(n, 3, 64, 7, 1, 112, true);
  for (int stage = 0; stage < 4; stage++)
    for (int block = 0; block < blocks[stage]; block++) {
      int planes = 64 << stage, width = planes * group_width / 64 * groups, out = 4 * planes;
      int before = side;
      side = stage > 0 && block == 0 ? side / 2 : side;
      convolution(n, in, width, 1, 1, before, true);
      convolution(n, width, width, 3, groups, side, true);
      convolution(n, width, out, 1, 1, side, true);
      if (block == 0)
        convolution(n, in, out, 1, 1, side, true);
      in = out;
    }
  linear(n, in, 1000, 1, true);
}

// Simonyan and Zisserman 2014, configuration D.
static void vgg16(Network *n) {
  const int repeats[] = {2, 2, 3, 3, 3}, channels[] = {64, 128, 256, 512, 512};
  int in = 3;
  for (int stage = 0; stage < 5; stage++)
    for (int i = 0; i < repeats[stage]; i++, in = channels[stage])
      convolution(n, i ? channels[stage] : in, channels[stage], 3, 1, 224 >> stage, false);
  linear(n, 512 * 7 * 7, 4096, 1, true);
  linear(n, 4096, 4096, 1, true);
  linear(n, 4096, 1000, 1, true);
}

// Devlin et al. 2018, without the heads; 128 tokens. Looking a token up multiplies nothing.
static void bert(Network *n, int layers, int width) {
  const double tokens = 128;
  tensor(n, 30522.0 * width, 0);
  tensor(n, 512.0 * width, 0);
  tensor(n, 2.0 * width, 0);
  tensor(n, width, 0);
  tensor(n, width, 0);
  for (int i = 0; i < layers; i++) {
    for (int j = 0; j < 4; j++) // query, key, value, output; the scores and what is made of them go with the output
      linear(n, width, width, tokens * (j == 3 ? 1 + 2 * tokens / width : 1), true);
    for (int j = 0; j < 2; j++)
      tensor(n, width, 0);
    linear(n, width, 4.0 * width, tokens, true);
    linear(n, 4.0 * width, width, tokens, true);
    for (int j = 0; j < 2; j++)
      tensor(n, width, 0);
  }
  linear(n, width, width, 1, true);
}

// The models of ./ferry bench (plots/bench/models.c).
static void cnn_001(Network *n) {
  convolution(n, 1, 32, 3, 1, 28, false);
  convolution(n, 32, 64, 3, 1, 14, false);
  linear(n, 64 * 7 * 7, 256, 1, true);
  linear(n, 256, 10, 1, true);
}

static void cnn_002(Network *n) {
  convolution(n, 3, 32, 3, 1, 32, false);
  convolution(n, 32, 64, 3, 1, 16, false);
  convolution(n, 64, 128, 3, 1, 8, false);
  linear(n, 128 * 4 * 4, 512, 1, true);
  linear(n, 512, 10, 1, true);
}

static void mlp(Network *n, const int widths[4]) {
  for (int i = 0; i < 3; i++)
    linear(n, widths[i], widths[i + 1], 1, true);
}

static const ScaleModel models[] = {
    {"resnet50", "ResNet-50, images of 224 x 224"},
    {"resnet101", "ResNet-101, images of 224 x 224"},
    {"resnext50_32x4d", "ResNeXt-50, 32 groups of 4"},
    {"resnext101_32x8d", "ResNeXt-101, 32 groups of 8"},
    {"vgg16", "VGG-16, images of 224 x 224"},
    {"bert_base", "BERT-base, 128 tokens"},
    {"bert_large", "BERT-large, 128 tokens"},
    {"cnn_001", "./ferry bench's train_cnn_001"},
    {"cnn_002", "./ferry bench's train_cnn_002"},
    {"784_256_128_10", "./ferry bench's MLP of these widths"},
    {"1024_2048_2048_10", "./ferry bench's MLP of these widths"},
};
enum { MODELS = sizeof models / sizeof models[0] };

const ScaleModel *scale_model_at(int i) {
  return 0 <= i && i < MODELS ? &models[i] : NULL;
}

static bool build(Network *n, const char *name) {
  if (strcmp(name, "resnet50") == 0)
    resnet(n, (const int[]){3, 4, 6, 3}, 1, 64);
  else if (strcmp(name, "resnet101") == 0)
    resnet(n, (const int[]){3, 4, 23, 3}, 1, 64);
  else if (strcmp(name, "resnext50_32x4d") == 0)
    resnet(n, (const int[]){3, 4, 6, 3}, 32, 4);
  else if (strcmp(name, "resnext101_32x8d") == 0)
    resnet(n, (const int[]){3, 4, 23, 3}, 32, 8);
  else if (strcmp(name, "vgg16") == 0)
    vgg16(n);
  else if (strcmp(name, "bert_base") == 0)
    bert(n, 12, 768);
  else if (strcmp(name, "bert_large") == 0)
    bert(n, 24, 1024);
  else if (strcmp(name, "cnn_001") == 0)
    cnn_001(n);
  else if (strcmp(name, "cnn_002") == 0)
    cnn_002(n);
  else if (strcmp(name, "784_256_128_10") == 0)
    mlp(n, (const int[]){784, 256, 128, 10});
  else if (strcmp(name, "1024_2048_2048_10") == 0)
    mlp(n, (const int[]){1024, 2048, 2048, 10});
  else
    return false;
  return true;
}

// ---- buckets -------------------------------------------------------------------------------------------------------------

static double limit(int bucket) {
  return bucket == 0 ? FIRST_BUCKET : NEXT_BUCKETS;
}

ScaleBucket *scale_buckets_of_model(const char *name, int element, int *count, double *parameters) {
  Network n = {.count = 0};
  double all = 0, done = 0;
  *count = 0;
  *parameters = 0;
  ScaleBucket *buckets = build(&n, name) ? calloc((size_t)n.count + 1, sizeof *buckets) : NULL;
  for (int i = 0; i < n.count; i++) {
    all += n.work[i];
    *parameters += n.elements[i];
  }
  bool open = false;
  for (int i = n.count - 1; i >= 0 && buckets; i--) {
    done += n.work[i];
    ScaleBucket *b = &buckets[*count];
    open = true;
    b->bytes += n.elements[i] * element;
    b->ready = done / all;
    if (b->bytes >= limit(*count)) {
      open = false;
      ++*count;
    }
  }
  *count += open;
  return buckets;
}

ScaleBucket *scale_buckets_of_parameters(double parameters, int element, int *count) {
  double bytes = parameters * element, sent = 0;
  ScaleBucket *buckets = calloc((size_t)(bytes / NEXT_BUCKETS) + 3, sizeof *buckets);
  for (*count = 0; buckets && sent < bytes; ++*count) {
    buckets[*count].bytes = fmin(limit(*count), bytes - sent);
    sent += buckets[*count].bytes;
    buckets[*count].ready = sent / bytes;
  }
  return buckets;
}

ScaleBucket *scale_buckets_of_sizes(const double *bytes, int count) {
  ScaleBucket *buckets = calloc((size_t)count + 1, sizeof *buckets);
  double all = 0, sent = 0;
  for (int i = 0; i < count; i++)
    all += bytes[i];
  for (int i = 0; i < count && buckets; i++) {
    sent += bytes[i];
    buckets[i] = (ScaleBucket){bytes[i], sent / all};
  }
  return buckets;
}
