/* In front of a program whose every block an inspector looks at: a kernel's code for blocks that nobody looks at (closure in
 * cudasim_launch.h) is not compiled then, which is a quarter of what the compiler does. No macro, so that a header compiled beforehand
 * serves both. */
#ifndef CUDASIM_ALL_TOLD_H
#define CUDASIM_ALL_TOLD_H
#ifdef __cplusplus
namespace cudasim {
struct all_told {};
} // namespace cudasim
#endif
#endif
