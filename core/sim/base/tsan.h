// SPDX-License-Identifier: MIT
// The thread sanitizer's two annotations, for builds with -DCUDASIM_TSAN: the simulator is not instrumented there.
// Other builds do nothing.
#ifndef SIM_TSAN_H
#define SIM_TSAN_H

#ifdef CUDASIM_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define SIM_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define SIM_TSAN_RELEASE(address) __tsan_release(address)
#else
#define SIM_TSAN_ACQUIRE(address) ((void)(address))
#define SIM_TSAN_RELEASE(address) ((void)(address))
#endif

#endif
