// SPDX-License-Identifier: MIT
// What the two files of the table of GPUs share: the marks of a number, its sources, the architectures.
#ifndef FERRY_MODEL_SOURCES_H
#define FERRY_MODEL_SOURCES_H

#include "model/gpu.h"

#define GIVEN(number, where)                                                                                           \
  { (number), MODEL_GIVEN, (where) }
#define DERIVED(number, where)                                                                                         \
  { (number), MODEL_DERIVED, (where) }
#define FITTED(number, where)                                                                                          \
  { (number), MODEL_FITTED, (where) }
#define UNCHECKED(number, where)                                                                                       \
  { (number), MODEL_UNCHECKED, (where) }
#define ASSUMED(number, where)                                                                                         \
  { (number), MODEL_ASSUMED, (where) }

// ---- sources -------------------------------------------------------------------------------------------------------------

#define TRAITS "NVIDIA cccl, arch_traits.cuh"
#define A100_PAPER "NVIDIA A100 white paper"
#define LUO "Luo et al., dissecting the Hopper architecture, table IV"
#define QUERY "output of deviceQuery"
#define NVBENCH "nvbench's report of the device (R100001/Programming-Massively-Parallel-Processors)"
#define CHASE "gpu-benches, gpu-latency"
#define STRIDES "gpu-benches, gpu-strides"
#define STREAMS "gpu-benches, gpu-stream"
#define CACHES "gpu-benches, gpu-l2-cache and gpu-cache"
#define SMALL "gpu-benches, gpu-small-kernels"
#define MEMCPY "gpu-benches, cuda-memcpy on V100 PCIe"
#define H100_PAPER "NVIDIA H100 white paper, PCIe"
#define GUIDE_2                                                                                                        \
  "CUDA C programming guide, technical specifications of compute capability 1.0 to 2.x (copy at chinapads.ru)"
#define GUIDE_RATES                                                                                                    \
  "CUDA C programming guide, throughput of arithmetic instructions (NVIDIA forum 108706; gsdx of PCSX2)"
#define GUIDE_SPECIAL                                                                                                  \
  "CUDA C++ programming guide, architecture of 8.x: 16 special function units (quoted at yaikhom.com)"
#define SYSRQMTS "sysrqmts.com, comparison of cards"
#define HMC "hmc-tech.com, comparison of cards"
#define TOPCPU "topcpu.net, A40 and L40"
#define SPICED "gpu.spicedreamphone.com, A40 and RTX 3090"
#define ALLDBIN "cpu-gpu.alldbin.com and factopedia.org, M2050"
#define K20_PAGES "microway.com and codestudyblog.com, K20"
#define TOMS "tomshardware.com, GeForce 8800"
#define TURING_PAPER "NVIDIA Turing white paper (copy at blog.csdn.net/royalfizz)"
#define TURING_SM "cvw.cac.cornell.edu, Turing SM"
#define HOPPER_CORES "hardwaretimes.com, GH100"
#define SCHEDULERS "NVIDIA forum 259827: a scheduler for each of four parts"
#define SMI "output of nvidia-smi"
#define WAREDB "waredb.com, RTX 4090"
#define FOUR_PARTS "NVIDIA forum 315200: from Volta to Hopper four parts, each with a scheduler"
#define KEPLER_35 "tmcdonell/cuda, Analysis/Device.chs, compute capability 3.5"
#define GRAPHS_BLOG "Getting Started with CUDA Graphs, V100, quoted second-hand"
#define AS_A100 "as A100's"

// architectures.c
extern const struct model_architecture model_tesla, model_fermi, model_kepler, model_volta, model_turing,
    model_ampere_80, model_ampere_86, model_ada, model_hopper;

#endif
