// SPDX-License-Identifier: MIT
// How kernels are compiled for simulated devices: by answer.c and instrument/build.c, and by make, which compiles the runtime's header
// beforehand with the same flags (core/tool/rules.mk); with others g++ would not take what was made of it.
#ifndef SIM_KERNEL_FLAGS_H
#define SIM_KERNEL_FLAGS_H

// -Og: an access stays where the source has it. -O1 would read behind a guard what is read before it. Before each access misaligned.c
// may be called.
#define JUDGED_FLAGS                                                                                                   \
  "-std=c++17 -D_GNU_SOURCE -Og -DFERRY_SIM=1 -DCUDASIM_JUDGED -Wall -Wextra -Wno-unused-parameter "                   \
  "-Wno-unknown-pragmas "                                                                                              \
  "-Werror=return-type -fsanitize=alignment -ftls-model=local-exec"

// What makes g++ call the inspector (core/inspect/runtime/callbacks.c) at each access and basic block: before the loops are optimized, so that
// -O2 leaves what nvcc would leave; nothing may be merged afterwards: no vectors, no struct taken apart. Nor may a path be doubled:
// what stands behind a branch is one instruction for the whole warp, not one for each side (and blocks are put into order without
// copying any). A struct that is passed to a function is read by an instruction without a line, which has that of the one before: so
// they are not put into another order; and functions that are alike keep lines of their own. The copies are left to functions, which
// inspect.h gives other names. Section anchors, on ARM, would reach one shared array by its distance from another, which the guards
// change. -g1 (behind -gdwarf-4, which says -g2): lines, and no more, which saves a quarter of the compiler's time.
#define INSPECT_FLAGS                                                                                                  \
  "-std=c++17 -D_GNU_SOURCE -O2 -gdwarf-4 -g1 -w -DFERRY_SIM=1 -DCUDASIM_INSPECT -ftls-model=local-exec "              \
  "-fsanitize=thread,bounds-strict -fsanitize-coverage=trace-pc --param tsan-distinguish-volatile=1 -fno-tree-sra "    \
  "-fno-tree-vectorize -fno-thread-jumps -fno-split-paths -freorder-blocks-algorithm=simple -fno-schedule-insns2 "     \
  "-fno-ipa-icf -fno-section-anchors -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset"

// For the inspector's second run, which only finds bugs: a read whose value is not used stays, and is not moved past a barrier. What is
// not removed counts against the limits of inlining, so these are higher; and lines that are alike stay apart.
#define AS_WRITTEN_FLAGS                                                                                               \
  INSPECT_FLAGS " -fno-tree-dce -fno-tree-dse -fno-tree-pre -fno-tree-sink "                                           \
                "-fno-tree-tail-merge -fno-crossjumping --param early-inlining-insns=1000 --param "                    \
                "max-inline-insns-single=2000 --param "                                                                \
                "max-inline-insns-auto=2000"

// For `./ferry step`: unoptimized, so that each variable has the value that the source gives it; a variable without one has the pattern
// 0xfe.
#define STEP_FLAGS                                                                                                     \
  "-std=c++17 -D_GNU_SOURCE -O0 -gdwarf-4 -g1 -w -DFERRY_SIM=1 -DCUDASIM_INSPECT -DCUDASIM_STEP "                      \
  "-ftls-model=local-exec -fsanitize=thread,bounds-strict --param tsan-distinguish-volatile=1 "                        \
  "-ftrivial-auto-var-init=pattern -fno-section-anchors -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset"

// Also, where instructions are counted (and cu2cpp --unroll): a loop of unknown length stays as it is, of which #pragma unroll would have g++ make 64 copies behind a
// chain of comparisons, and a square root has no branch for errno.
#define COUNTING_FLAGS "-fdisable-rtl-loop2_unroll -fno-math-errno"

// By which g++ vectorizes the loop over a block's threads where kernels run as fast as they can, and puts no loop across lines of the
// cache: without the latter a tiled product took 6.3 or 10 ms, as chance had it. make's own are VECTORIZE.
#define VECTORIZING_FLAGS "-ftree-vectorize -fvect-cost-model=dynamic -fsplit-loops -falign-loops=32"

// Of the device that answers see. One of the kernels' tests takes all of it, and what is taken is filled.
#define KERNELS_MEMORY_MB "64"
#endif
