// SPDX-License-Identifier: MIT
// Published scaling figures, and what the model says to them. Taken are data-parallel trainings that sum gradients by all-reduce
// and whose source names the rate on one GPU, the number of GPUs and the network. What a source leaves out is assumed as
// `assumed` says; everything else is as for any other training: no number is fitted to a figure.
#include "tool/scale/scale.h"
#include <stdlib.h>

enum { DDP, DLPERF, HOROVOD, GOYAL };
static const char *const sources[] = {
    "PyTorch's DDP benchmark: github.com/pytorch/pytorch, benchmarks/distributed/ddp/README.md",
    "DLPerf, August 2020: github.com/Oneflow-Inc/DLPerf, reports/dlperf_benchmark_test_report_v1.md",
    "Horovod: github.com/horovod/horovod, docs/benchmarks.rst; one GPU's rate: tensorflow.org/performance/benchmarks, "
    "Tesla P100",
    "Goyal et al. 2017, arXiv:1706.02677, abstract; Tesla P100: developer.nvidia.com/facebook-trains-imagenet-1-hour; "
    "one "
    "GPU's rate: tensorflow.org/performance/benchmarks",
};

static const char WITHIN[] = "much of it is lost on 8 GPUs already, where links are fast; the source does not say why";
static const char BETWEEN[] =
    "each further node takes more than its adapter's rate explains; the source does not say why";
static const char STEP_16[] = "P100; one as fast as each of 16; nodes with PCI Express 3";

#define DDP_ROW(model, step, gpus, seconds)                                                                            \
  {                                                                                                                    \
    "PyTorch DDP, " model ", batch 32", model, 0, step, gpus, 1, 8, "nvlink2", "ib-edr", 4, (step) / (seconds), "",    \
        NULL, DDP                                                                                                      \
  }
#define RN50(what, batch, one, gpus, all, missed)                                                                      \
  {                                                                                                                    \
    what ", ResNet-50", "resnet50", 0, (batch) / (one), gpus, 1, 8, "nvlink2", "ib-edr", 1, (all) / ((gpus) * (one)),  \
        "", missed, DLPERF                                                                                             \
  }
#define BERT(what, one, gpus, all, missed)                                                                             \
  {                                                                                                                    \
    what ", BERT-base, batch 32", "bert_base", 0, 32 / (one), gpus, 1, 8, "nvlink2", "ib-edr", 1,                      \
        (all) / ((gpus) * (one)), "without the heads' 0.6 million parameters", missed, DLPERF                          \
  }

static const ScalePublished published[] = {
    DDP_ROW("resnet50", 0.097, 8, 0.104),
    DDP_ROW("resnet50", 0.097, 16, 0.104),
    DDP_ROW("resnet101", 0.162, 8, 0.179),
    DDP_ROW("resnet101", 0.162, 16, 0.179),
    DDP_ROW("resnext50_32x4d", 0.145, 8, 0.157),
    DDP_ROW("resnext50_32x4d", 0.145, 16, 0.157),
    DDP_ROW("resnext101_32x8d", 0.415, 8, 0.447),
    DDP_ROW("resnext101_32x8d", 0.415, 16, 0.450),
    RN50("PyTorch DDP", 128, 354.40, 8, 2719.07, NULL),
    RN50("PyTorch DDP", 128, 354.40, 16, 5307.21, NULL),
    RN50("PyTorch DDP", 128, 354.40, 32, 10632.33, NULL),
    RN50("OneFlow", 128, 384.85, 32, 11711.18, NULL),
    RN50("TensorFlow 2", 128, 321.80, 32, 9418.44, NULL),
    RN50("TensorFlow 1, Horovod", 128, 362.44, 32, 9514.64, BETWEEN),
    RN50("MXNet, Horovod", 96, 389.71, 32, 10419.21, BETWEEN),
    RN50("PaddlePaddle", 128, 352.72, 32, 9348.17, BETWEEN),
    BERT("PyTorch, APEX", 119.61, 8, 908.85, NULL),
    BERT("OneFlow", 145.21, 32, 3715.08, WITHIN),
    BERT("TensorFlow 1, Horovod", 106.80, 32, 1923.68, BETWEEN),
    BERT("MXNet, Horovod", 127.05, 32, 1895.50, BETWEEN),
    BERT("PaddlePaddle", 132.64, 32, 2073.60, WITHIN),
    {"Horovod, Inception V3, batch 64", NULL, 23.8e6, 64 / 142.0, 512, 1, 4, "pcie3", "eth-25", 1, 0.90,
     "P100; nodes with PCI Express 3; 23.8 million parameters, layers unknown", NULL, HOROVOD},
    {"Horovod, ResNet-101, batch 64", "resnet101", 0, 64 * 16 / 1656.82, 512, 1, 4, "pcie3", "eth-25", 1, 0.90, STEP_16,
     NULL, HOROVOD},
    {"Horovod, VGG-16, batch 64", "vgg16", 0, 64 / 154.0, 512, 1, 4, "pcie3", "eth-25", 1, 0.68,
     "nodes with PCI Express 3", NULL, HOROVOD},
    {"Goyal et al., ResNet-50, batch 32", "resnet50", 0, 32 / 195.0, 256, 8, 8, "nvlink1", "eth-50", 1, 0.90,
     "8 GPUs with NVLink a node; 50 Gbit/s", NULL, GOYAL},
};
enum { PUBLISHED = sizeof published / sizeof published[0], SOURCES = sizeof sources / sizeof sources[0] };

const ScalePublished *scale_published_at(int i) {
  return 0 <= i && i < PUBLISHED ? &published[i] : NULL;
}

const char *scale_published_source(int i) {
  return 0 <= i && i < SOURCES ? sources[i] : NULL;
}

static double efficiency_on(const ScalePublished *p, const ScaleStep *step, int gpus) {
  ScaleCluster c;
  scale_cluster(&c, gpus, p->per_node, scale_node(p->node), scale_network(p->network), p->adapters);
  return scale_step(&c, SCALE_BEST, step).efficiency;
}

double scale_published_modeled(const ScalePublished *p) {
  ScaleStep step;
  double parameters;
  scale_divide(&step, p->step);
  ScaleBucket *buckets = p->model ? scale_buckets_of_model(p->model, 4, &step.bucket_count, &parameters)
                                  : scale_buckets_of_parameters(p->parameters, 4, &step.bucket_count);
  if (!buckets)
    return -1;
  step.buckets = buckets;
  double efficiency = efficiency_on(p, &step, p->gpus) / efficiency_on(p, &step, p->from);
  free(buckets);
  return efficiency;
}
