// SPDX-License-Identifier: MIT
/* For a program of which an inspector instruments every block; included after the runtime's header. A kernel's code for uninstrumented
 * blocks (closure in cudasim_launch.h) is then not compiled. In a program of one file (-fwhole-program), of which only the functions
 * listed in CUDASIM_SEEN, as CUDASIM_SEE(name), are visible, a kernel that is only launched is not compiled as a function, either. This
 * halves compilation. It is a header, not a macro, so that one precompiled runtime header serves all programs. */
#ifndef CUDASIM_ALL_INSTRUMENTED_H
#define CUDASIM_ALL_INSTRUMENTED_H
#ifdef __cplusplus
namespace cudasim {
struct all_instrumented {};
} // namespace cudasim

#ifdef CUDASIM_SEEN
#undef CUDASIM_ONLY_LAUNCHED
#define CUDASIM_ONLY_LAUNCHED(...) static_cast<decltype(&__VA_ARGS__)>(nullptr)
#define CUDASIM_SEE(name) extern "C" __attribute__((externally_visible)) decltype(name) name;
CUDASIM_SEEN
#endif
#endif
#endif
