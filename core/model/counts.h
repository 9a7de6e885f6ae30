// SPDX-License-Identifier: MIT
// What a kernel does, as numbers: what an inspector counts, or what an op states, is what a model computes a time from.
// Pure data; no thread or error concerns it.
#ifndef FERRY_MODEL_COUNTS_H
#define FERRY_MODEL_COUNTS_H

// One launch, all blocks together (counts of some blocks are scaled up). A "request" is one warp's load or store by one
// instruction, however many lanes take part. What is not known is 0, but for `blocks` and `threads`.
struct model_counts {
  double blocks, threads; // of the grid; of a block
  double shared_bytes;    // of a block, static and dynamic
  double registers;       // of a thread

  // Global memory. Sectors are the distinct 32 bytes, lines the distinct 128 bytes that a request touches; waves its passes
  // through the L1 cache's banks, counted as for shared memory (0: taken for the lines).
  double loads, load_sectors, load_lines, load_waves;
  double stores, store_sectors, store_lines, store_waves;
  double l1_misses;               // of load_sectors, those that L1 does not hold
  double dram_reads, dram_writes; // bytes between L2 and device memory
  double
      store_bytes; // distinct bytes of the stores, summed over requests: fewer than in store_sectors where sectors are
                   // written in part (0: unknown, taken for whole ones)
  double atomics, atomic_passes; // requests; per request the most lanes that meet at one address, summed
  double atomic_sectors;         // that they touch
  double atomic_hottest;         // lanes that meet at the one address where most do, in the whole launch

  double shared, shared_waves; // requests; wavefronts: the most distinct words in one of 32 banks, summed
  double shared_passes;        // of atomics there: the most lanes that meet at one address, summed

  // Warp instructions. float32 and float64 count a multiply-add once.
  double fp32, fp64, integer, divisions; // divisions and remainders of integers
  double special;                        // exp, sin, sqrt, float32 divisions and the like
  double branches, barriers;

  double ways; // of loads that wait for one another, the longest chain in a thread; 0: unknown
};

#endif
