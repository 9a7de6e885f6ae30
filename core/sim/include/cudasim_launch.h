// What a kernel needs of the simulator: the built-in variables and the launch.
//
// cu2cpp turns  kernel<<<grid, block>>>(x, n)  into
//     cudasim::launch(kernel, [=](auto... p) { kernel(p...); }, "kernel", grid, block)(x, n)
// The first argument tells the parameters' types; the lambda calls the kernel by name, so the compiler can inline its
// body into the loop over a block's threads (closure::threads below).
#ifndef CUDASIM_LAUNCH_H
#define CUDASIM_LAUNCH_H

#include "cuda_runtime_api.h"
#include <assert.h>

#define CUDASIM_BUILT_IN(name) __asm__("cudasim_" #name) __attribute__((tls_model("initial-exec")))

// dim3 without its constructors: thread-local variables of C and C++ need a plain type.
struct cudasim_dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
  operator dim3(void) const {
    return dim3(x, y, z);
  }
#endif
};

struct cudasim_pointer_argument {
  int position;
  const void *value;
};

enum { CUDASIM_MAX_POINTERS = 16 };

// One launch as the C++ side hands it to launch.c, which copies `closure_bytes` of `closure`.
struct cudasim_launch_request {
  void (*thread)(const void *closure);  // runs one simulated thread
  void (*threads)(const void *closure); // runs thread after thread until none is left to begin
  void (*inspected)(
      const void *closure); // runs one so that an inspector sees what it does; NULL where it was not compiled for that
  const void *closure;
  size_t closure_bytes;
  const void *function;
  const char *name;
  struct cudasim_dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
  bool judged; // compiled with CUDASIM_JUDGED
  int pointer_count;
  struct cudasim_pointer_argument pointers[CUDASIM_MAX_POINTERS];
};

CUDASIM_BEGIN_C

/* A failed assert, of <assert.h>: of the device in a kernel, of the program elsewhere. The C library's function has another
 * name from here on, so that it makes no difference who includes <assert.h>, and where. */
#define __assert_fail cudasim_assert_fail
void cudasim_assert_fail(const char *assertion, const char *file, unsigned int line, const char *function) __THROW
    __attribute__((noreturn));

/* In an inspected kernel they are constants: they do not change while a thread lives, and reading them is nothing to look at. */
#ifdef CUDASIM_INSPECT
#define CUDASIM_CONSTANT const
extern __thread struct uint3 cudasim_thread_index CUDASIM_BUILT_IN(threadIdx);
#else
#define CUDASIM_CONSTANT
#define cudasim_thread_index threadIdx
#endif
extern __thread CUDASIM_CONSTANT struct uint3 threadIdx CUDASIM_BUILT_IN(threadIdx);
extern __thread CUDASIM_CONSTANT struct uint3 blockIdx CUDASIM_BUILT_IN(blockIdx);
extern __thread CUDASIM_CONSTANT struct cudasim_dim3 blockDim CUDASIM_BUILT_IN(blockDim);
extern __thread CUDASIM_CONSTANT struct cudasim_dim3 gridDim CUDASIM_BUILT_IN(gridDim);

// Threads of this block that have not begun, as long as none has waited: the fast path's only state.
extern __thread unsigned int cudasim_left CUDASIM_BUILT_IN(left);

cudaError_t cudasim_launch(const struct cudasim_launch_request *request);
// A thread has ended: makes another the current one, false when the block has no thread left to begin.
int cudasim_next_thread_slow(void);
void *cudasim_dynamic_shared(void);

CUDASIM_END_C

#ifdef __cplusplus
#include <tuple>
#include <type_traits>

static __forceinline__ bool cudasim_next_thread(void) {
  if (__builtin_expect(cudasim_left == 0, 0))
    return cudasim_next_thread_slow();
  cudasim_left--;
  if (__builtin_expect(++cudasim_thread_index.x == blockDim.x, 0)) {
    cudasim_thread_index.x = 0;
    if (++cudasim_thread_index.y == blockDim.y) {
      cudasim_thread_index.y = 0;
      ++cudasim_thread_index.z;
    }
  }
  return true;
}

namespace cudasim {

#ifdef CUDASIM_INSPECT
// Arguments whose use is always inlined: nothing else may be in functions that have other sanitizers than the file.
template <class... P> struct pack;
template <> struct pack<> {
  template <class Body, class... Done> __forceinline__ void call(const Body &body, Done... done) const {
    body(done...);
  }
};
template <class First, class... Rest> struct pack<First, Rest...> {
  First first;
  pack<Rest...> rest;
  template <class Body, class... Done> __forceinline__ void call(const Body &body, Done... done) const {
    rest.call(body, done..., first);
  }
};
template <class... P> using argument_list = pack<P...>;
#else
template <class... P> using argument_list = std::tuple<P...>;
#endif

template <class Body, class... P> struct closure {
  Body body;
  argument_list<P...> arguments;

#ifdef CUDASIM_INSPECT
  // The kernel's code stands here twice: once with the calls that tell an inspector, once without, for blocks that nobody looks
  // at. Neither is in a loop, since threadIdx is a constant to both.
  __attribute__((noipa)) static void inspected(const void *self) {
    const closure *c = static_cast<const closure *>(self);
    c->arguments.call(c->body);
  }

  __attribute__((noipa, no_sanitize("thread"), no_sanitize_coverage)) static void thread(const void *self) {
    const closure *c = static_cast<const closure *>(self);
    c->arguments.call(c->body);
  }

  __attribute__((no_sanitize("thread"), no_sanitize_coverage)) static void threads(const void *self) {
    do
      thread(self);
    while (cudasim_next_thread());
  }
#else
  static void thread(const void *self) {
    const closure *c = static_cast<const closure *>(self);
    std::apply(c->body, c->arguments);
  }

  static void threads(const void *self) {
    const closure c = *static_cast<const closure *>(self); // a local copy: the loop keeps the arguments in registers
    do
      std::apply(c.body, c.arguments);
    while (cudasim_next_thread());
  }
#endif
};

template <class T> inline void note_pointer(cudasim_launch_request &request, int position, const T &value) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    if (request.pointer_count < CUDASIM_MAX_POINTERS)
      request.pointers[request.pointer_count++] = {position, const_cast<const void *>((const volatile void *)value)};
  } else {
    (void)request;
    (void)position;
    (void)value;
  }
}

template <class Body, class... P> struct launcher {
  static_assert((std::is_trivially_copyable_v<P> && ... && true), "a kernel's parameters must be plain data");
  Body body;
  cudasim_launch_request request;

  cudaError_t submit(P... arguments) const {
    using C = closure<Body, P...>;
    static_assert(alignof(C) <= 16, "the runtime aligns a copy of the arguments to 16 bytes");
    const C c = {body, argument_list<P...>{arguments...}};
    cudasim_launch_request r = request;
    r.thread = C::thread;
    r.threads = C::threads;
#ifdef CUDASIM_INSPECT
    r.inspected = C::inspected;
#endif
    r.closure = &c;
    r.closure_bytes = sizeof c;
    int position = 0;
    (note_pointer(r, position++, arguments), ...);
    (void)position;
    return cudasim_launch(&r);
  }
  void operator()(P... arguments) const {
    (void)submit(arguments...);
  }
};

template <class Body, class... P>
inline launcher<Body, P...> launch(void (*kernel)(P...), Body body, const char *name, dim3 grid, dim3 block,
                                   size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  cudasim_launch_request r = {};
  r.function = reinterpret_cast<const void *>(kernel);
  r.name = name;
#ifdef CUDASIM_JUDGED
  r.judged = true;
#endif
  r.grid = {grid.x, grid.y, grid.z};
  r.block = {block.x, block.y, block.z};
  r.shared_bytes = shared_bytes;
  r.stream = stream;
  return {body, r};
}

// The same for a kernel that is only known as a value.
template <class... P>
inline auto launch_pointer(void (*kernel)(P...), const char *name, dim3 grid, dim3 block, size_t shared_bytes = 0,
                           cudaStream_t stream = nullptr) {
  return launch(
      kernel, [kernel](P... p) { kernel(p...); }, name, grid, block, shared_bytes, stream);
}

template <class L, class... P, size_t... I>
inline cudaError_t unpack(const L &l, void (*)(P...), void **arguments, std::index_sequence<I...>) {
  (void)arguments;
  return l.submit(*static_cast<P *>(arguments[I])...);
}

} // namespace cudasim

// A kernel as a void pointer: cudaLaunchKernel finds by it how to launch it.
namespace cudasim {
struct kernel_entry {
  const void *kernel;
  const char *name;
  cudaError_t (*launch)(const kernel_entry &entry, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                        cudaStream_t stream);
};
enum { MAX_KERNEL_POINTERS = 64 };
inline kernel_entry kernel_entries[MAX_KERNEL_POINTERS];

template <class... P>
inline cudaError_t launch_entry(const kernel_entry &entry, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                                cudaStream_t stream) {
  auto kernel = reinterpret_cast<void (*)(P...)>(const_cast<void *>(entry.kernel));
  auto l = launch_pointer(kernel, entry.name, grid, block, shared_bytes, stream);
  return unpack(l, kernel, arguments, std::index_sequence_for<P...>());
}

template <class... P> inline void *kernel_pointer(void (*kernel)(P...), const char *name) {
  void *pointer = reinterpret_cast<void *>(kernel);
  for (kernel_entry &entry : kernel_entries)
    if (entry.kernel == nullptr || entry.kernel == pointer) {
      entry = {pointer, name, launch_entry<P...>};
      break;
    }
  return pointer;
}
} // namespace cudasim

inline cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  for (const cudasim::kernel_entry &entry : cudasim::kernel_entries)
    if (kernel && entry.kernel == kernel)
      return entry.launch(entry, grid, block, arguments, shared_bytes, stream);
  return cudaErrorInvalidDeviceFunction;
}

template <class... P>
inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **arguments,
                                    size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  auto l = cudasim::launch_pointer(kernel, nullptr, grid, block, shared_bytes, stream);
  return cudasim::unpack(l, kernel, arguments, std::index_sequence_for<P...>());
}

template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A &&...arguments) {
  return cudasim::launch_pointer(kernel, nullptr, config->gridDim, config->blockDim, config->dynamicSmemBytes,
                                 config->stream)
      .submit(static_cast<P>(arguments)...);
}
#endif

#endif
