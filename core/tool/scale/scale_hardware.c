// SPDX-License-Identifier: MIT
// What links take and carry. Latencies and rates are those with which NCCL itself estimates its algorithms (it chooses ring or
// tree by them): of a link's data sheet rate they are what NCCL expects to reach.
#include "tool/scale/scale.h"
#include <math.h>
#include <string.h>

#define NCCL "github.com/NVIDIA/nccl, commit 5067397c, src/graph/"

static const ScaleHardware nodes[] = {
    {"nvlink1", "NVLink 1, P100: 4 links of 20 GB/s", 3.4e-6, 4 * 18.0e9, "18.0 GB/s a link"},
    {"nvlink2", "NVLink 2, V100: 6 links of 25 GB/s", 3.4e-6, 6 * 20.0e9, "20.0 GB/s a link"},
    {"nvlink3", "NVLink 3, NVSwitch, A100: 12 links of 25 GB/s", 3.4e-6, 12 * 20.0e9, "20.0 GB/s a link"},
    {"nvlink4", "NVLink 4, NVSwitch, H100: 18 links of 25 GB/s", 3.4e-6, 18 * 20.6e9, "20.6 GB/s a link"},
    {"nvlink5", "NVLink 5, NVSwitch, B200: 18 links of 50 GB/s", 3.4e-6, 18 * 40.1e9, "40.1 GB/s a link"},
    {"pcie3", "PCI Express 3, 16 lanes: 15.8 GB/s", 5.7e-6, 12.0e9, "12.0 GB/s"},
};

// A network adapter of 100 Gbit/s (12.5 GB/s) counts 12 GB/s; the others in proportion.
#define GBIT (12.0e9 / 100)
static const ScaleHardware networks[] = {
    {"eth-10", "Ethernet, 10 Gbit/s", 14e-6, 10 * GBIT, "12 of 12.5 GB/s"},
    {"eth-25", "Ethernet, 25 Gbit/s", 14e-6, 25 * GBIT, "12 of 12.5 GB/s"},
    {"eth-50", "Ethernet, 50 Gbit/s", 14e-6, 50 * GBIT, "12 of 12.5 GB/s"},
    {"eth-100", "Ethernet, 100 Gbit/s", 14e-6, 100 * GBIT, "12 of 12.5 GB/s"},
    {"ib-edr", "InfiniBand EDR, 100 Gbit/s", 14e-6, 100 * GBIT, "12 of 12.5 GB/s"},
    {"ib-hdr", "InfiniBand HDR, 200 Gbit/s", 14e-6, 200 * GBIT, "12 of 12.5 GB/s"},
    {"ib-ndr", "InfiniBand NDR, 400 Gbit/s", 14e-6, 400 * GBIT, "12 of 12.5 GB/s"},
    {"ib-xdr", "InfiniBand XDR, 800 Gbit/s", 14e-6, 800 * GBIT, "12 of 12.5 GB/s"},
};

enum { NODES = sizeof nodes / sizeof nodes[0], NETWORKS = sizeof networks / sizeof networks[0] };

const ScaleHardware *scale_node_at(int i) {
  return 0 <= i && i < NODES ? &nodes[i] : NULL;
}

const ScaleHardware *scale_network_at(int i) {
  return 0 <= i && i < NETWORKS ? &networks[i] : NULL;
}

const ScaleHardware *scale_node(const char *name) {
  for (int i = 0; i < NODES; i++)
    if (strcmp(nodes[i].name, name) == 0)
      return &nodes[i];
  return NULL;
}

const ScaleHardware *scale_network(const char *name) {
  for (int i = 0; i < NETWORKS; i++)
    if (strcmp(networks[i].name, name) == 0)
      return &networks[i];
  return NULL;
}

double scale_call(void) {
  return 8.4e-6;
}

const char *scale_hardware_source(void) {
  return "alpha, beta: " NCCL "{tuning.cc, topo.h} (ring, protocol Simple)";
}

const char *scale_rates_source(void) {
  return "links' own rates: NVLink, en.wikipedia.org/wiki/NVLink; InfiniBand, "
         "alpha-one-index.github.io/ai-infra-index/specs/networking-interconnects.html (HDR, NDR, XDR), DLPerf's "
         "report (EDR); "
         "Ethernet, by name; PCI Express 3, 8 GT/s on 16 lanes with 128 of 130 bits";
}

bool scale_cluster(ScaleCluster *c, int gpus, int per_node, const ScaleHardware *node, const ScaleHardware *network,
                   int adapters) {
  if (gpus < 1 || per_node < 1 || (gpus > per_node && gpus % per_node != 0))
    return false;
  *c = (ScaleCluster){.nodes = gpus > per_node ? gpus / per_node : 1, .per_node = gpus > per_node ? per_node : gpus};
  c->node = (ScaleLink){node->alpha, 1 / node->rate};
  c->net = (ScaleLink){network->alpha, per_node / (adapters * network->rate)};
  c->call = scale_call();
  return true;
}
