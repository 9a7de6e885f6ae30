/* Behind the runtime's header and in front of a program whose every block an inspector looks at: a kernel's code for blocks that nobody
 * looks at (closure in cudasim_launch.h) is not compiled then. In a program of one file (-fwhole-program), of which others see the
 * functions of CUDASIM_SEEN alone, CUDASIM_SEE(name) each, a kernel that is only launched is not compiled as a function, either. It is
 * half of what the compiler does. No macro of the runtime's header, so that one that is compiled beforehand serves all. */
#ifndef CUDASIM_ALL_TOLD_H
#define CUDASIM_ALL_TOLD_H
#ifdef __cplusplus
namespace cudasim {
struct all_told {};
} // namespace cudasim

#ifdef CUDASIM_SEEN
#undef CUDASIM_ONLY_LAUNCHED
#define CUDASIM_ONLY_LAUNCHED(...) static_cast<decltype(&__VA_ARGS__)>(nullptr)
#define CUDASIM_SEE(name) extern "C" __attribute__((externally_visible)) decltype(name) name;
CUDASIM_SEEN
#endif
#endif
#endif
