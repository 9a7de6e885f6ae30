// SPDX-License-Identifier: MIT
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
  void (*thread)(const void *closure); // runs one simulated thread
  // Runs one thread after another, in ascending order, until all are done or one has waited and is done; x as a place in the
  // grid runs from first to end. NULL: not compiled.
  void (*threads)(const void *closure, int first, int end);
  void (*inspected)(
      const void *closure); // runs one so that an inspector sees what it does; NULL where it was not compiled for that
  const void *closure;
  size_t closure_bytes;
  const void *function;
  const char *name;
  const char *parameters; // their types, in a text that ends "{float*, int}]"; NULL where no inspector asks for it
  struct cudasim_dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
  int judged;       // compiled with CUDASIM_JUDGED
  int dual_version; // `thread` and `threads` are not instrumented, `inspected` is of the instrumented copy
  int cooperative;  // every block runs at once: cudaLaunchCooperativeKernel
  int pointer_count;
  struct cudasim_pointer_argument pointers[CUDASIM_MAX_POINTERS];
};

CUDASIM_BEGIN_C

/* A failed assert, of <assert.h>: of the device in a kernel, of the program elsewhere. The C library's function has another
 * name from here on, so that it makes no difference who includes <assert.h>, and where. */
#define __assert_fail cudasim_assert_fail
void cudasim_assert_fail(const char *assertion, const char *file, unsigned int line, const char *function) __THROW
    __attribute__((noreturn));

/* A block's constants: const to kernels, so that no store through a pointer makes the compiler read them again. */
#ifdef __cplusplus
#define CUDASIM_CONSTANT const
#else
#define CUDASIM_CONSTANT
#endif
extern __thread CUDASIM_CONSTANT struct uint3 blockIdx CUDASIM_BUILT_IN(blockIdx);
extern __thread CUDASIM_CONSTANT struct cudasim_dim3 blockDim CUDASIM_BUILT_IN(blockDim);
extern __thread CUDASIM_CONSTANT struct cudasim_dim3 gridDim CUDASIM_BUILT_IN(gridDim);

/* The running thread's place in its block is where cudasim_thread points: in a local variable of the loop over threads
 * (closure::threads) until a thread waits, in the runtime's table from then on. In C++ the numbers are of a type of their own,
 * which stores of a kernel's int, float and so on cannot change; that is how the compiler sees, in a kernel without waits, that
 * the variable is a mere loop counter. An inspected kernel reads threadIdx, a constant: that is nothing to look at. */
#ifdef __cplusplus
enum cudasim_coordinate : unsigned int {};
#else
typedef unsigned int cudasim_coordinate;
#endif
struct cudasim_index {
  cudasim_coordinate x, y, z;
#ifdef __cplusplus
  __forceinline__ cudasim_index(unsigned int x_, unsigned int y_, unsigned int z_)
      : x(cudasim_coordinate(x_)), y(cudasim_coordinate(y_)), z(cudasim_coordinate(z_)) {
  }
  __forceinline__ ~cudasim_index() { // tells the compiler that nobody reads it after its thread
  }
#endif
};
extern __thread const struct cudasim_index *cudasim_thread CUDASIM_BUILT_IN(thread);
#ifdef CUDASIM_INSPECT // what an inspector is told nothing of
#define CUDASIM_UNSEEN __attribute__((no_sanitize("thread"), no_sanitize_coverage))
#else
#define CUDASIM_UNSEEN
#endif
#if !defined(__cplusplus) || defined(CUDASIM_INSPECT)
extern __thread CUDASIM_CONSTANT struct uint3 threadIdx CUDASIM_BUILT_IN(threadIdx);
extern __thread struct uint3 cudasim_thread_now CUDASIM_BUILT_IN(threadIdx); /* the same, for those who set it */
#endif

cudaError_t cudasim_launch(const struct cudasim_launch_request *request);
#ifdef CUDASIM_DUAL_VERSION
/* With -DCUDASIM_DUAL_VERSION a program is compiled twice, plain and instrumented, and both copies are linked. Returns the function that
 * runs a thread in the instrumented copy, by the name of the launch's type. */
void (*cudasim_inspected(const char *type))(const void *closure);
#endif
void *cudasim_dynamic_shared(void);

CUDASIM_END_C

#ifdef __cplusplus
#include <new>
#include <stdio.h>
#include <tuple>
#include <type_traits>
#ifdef CUDASIM_DUAL_VERSION
#include <typeinfo>
#endif

/* printf keeps a kernel's text in a buffer (print.c). Its name in the object file is another one from here on, so that programs say
 * printf or std::printf as they like. g++ turns printf("text\n") into puts("text"). */
#ifdef __clang__
#pragma redefine_extname printf cudasim_printf
#pragma redefine_extname __printf_chk cudasim_printf_chk
#else
extern "C" {
extern int printf(const char *format, ...) __asm__("cudasim_printf");
extern int puts(const char *text) __asm__("cudasim_puts");
extern int putchar(int character) __asm__("cudasim_putchar");
#if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0
extern int __printf_chk(int flag, const char *format, ...) __asm__("cudasim_printf_chk");
#endif
}
#endif

#ifndef CUDASIM_INSPECT
// threadIdx. cu2cpp writes (+threadIdx.x) for threadIdx.x, which makes an unsigned int of it for auto and templates, too.
#define CUDASIM_COORDINATE(name)                                                                                       \
  struct name##_type {                                                                                                 \
    __forceinline__ operator unsigned int(void) const {                                                                \
      return cudasim_thread->name;                                                                                     \
    }                                                                                                                  \
  } name
struct cudasim_thread_index {
  CUDASIM_COORDINATE(x);
  CUDASIM_COORDINATE(y);
  CUDASIM_COORDINATE(z);
  __forceinline__ operator uint3(void) const {
    return {x, y, z};
  }
  __forceinline__ operator dim3(void) const {
    return dim3(x, y, z);
  }
};
#undef CUDASIM_COORDINATE
static constexpr cudasim_thread_index threadIdx = {};
#endif

// A sanitizer's report names the thread: there the number has to be in memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(CUDASIM_STATIC_SHARED)
#define CUDASIM_THREAD_BEGINS() __asm__ volatile("" ::: "memory")
#else
#define CUDASIM_THREAD_BEGINS() (void)0
#endif

// A kernel whose address nobody asks for (cu2cpp --gcc).
#define CUDASIM_ONLY_LAUNCHED(...) __VA_ARGS__

namespace cudasim {

#if defined(CUDASIM_INSPECT) || defined(CUDASIM_DUAL_VERSION)
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

#ifdef CUDASIM_INSPECT
struct all_instrumented; // defined where all blocks are instrumented (cudasim_all_instrumented.h)
template <class T, class = void> constexpr bool is_defined = false;
template <class T> constexpr bool is_defined<T, std::void_t<decltype(sizeof(T))>> = true;
#endif

template <class Body, class... P> struct closure {
  Body body;
  argument_list<P...> arguments;

#ifdef CUDASIM_INSPECT
  // The kernel's code is here twice: instrumented, and uninstrumented, for blocks that --blocks leaves out. Neither is in a loop, since
  // threadIdx is a constant to both. Loading the arguments is not instrumented: a GPU has them in constant memory.
  __attribute__((noipa)) static void run_instrumented(Body body, P... done) {
    body(done...);
  }
  struct instrumented_call {
    Body body;
    __forceinline__ void operator()(P... done) const {
      run_instrumented(body, done...);
    }
  };
  __attribute__((noipa)) CUDASIM_UNSEEN static void inspected(const void *self) {
    const closure *c = static_cast<const closure *>(self);
    c->arguments.call(instrumented_call{c->body});
  }

  __attribute__((noipa)) CUDASIM_UNSEEN static void thread(const void *self) {
    const closure *c = static_cast<const closure *>(self);
    if constexpr (is_defined<std::conditional_t<sizeof(Body) != 0, all_instrumented, Body>>)
      inspected(self);
    else
      c->arguments.call(c->body);
  }

  // An uninstrumented block, until a thread waits.
  __attribute__((noipa)) CUDASIM_UNSEEN static void threads(const void *self, int first, int end) {
    const unsigned int base = blockIdx.x * blockDim.x, height = blockDim.y, depth = blockDim.z;
    alignas(cudasim_index) char room[sizeof(cudasim_index)];
    cudasim_index *const index = reinterpret_cast<cudasim_index *>(room);
    cudasim_thread = index;
    for (unsigned int z = 0; z < depth; z++)
      for (unsigned int y = 0; y < height; y++)
        for (int x = first; x < end; x++) {
          new (room) cudasim_index(static_cast<unsigned int>(x) - base, y, z);
          cudasim_thread_now = {static_cast<unsigned int>(x) - base, y, z};
          thread(self);
          if (__builtin_expect(cudasim_thread != index, 0))
            return; // it has waited
        }
  }
#else
  template <class Arguments> static __forceinline__ void apply(const Body &body, const Arguments &arguments) {
#ifdef CUDASIM_DUAL_VERSION
    arguments.call(body);
#else
    std::apply(body, arguments);
#endif
  }
  static void thread(const void *self) {
    const closure *c = static_cast<const closure *>(self);
    apply(c->body, c->arguments);
  }

  // The counter is of the whole grid, from first = blockIdx.x * blockDim.x: what kernels compute from blockIdx, blockDim and
  // threadIdx comes out as the counter itself, of which the compiler knows that it does not overflow.
  static void threads(const void *self, int first, int end) {
    const closure c = *static_cast<const closure *>(self); // a local copy: the loop keeps the arguments in registers
    alignas(cudasim_index) char room[sizeof(cudasim_index)];
    cudasim_index *const index = reinterpret_cast<cudasim_index *>(room);
    const unsigned int base = blockIdx.x * blockDim.x, height = blockDim.y, depth = blockDim.z;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wdangling-pointer" /* nobody looks there after the block */
#endif
    cudasim_thread = index;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
    for (unsigned int z = 0; z < depth; z++)
      for (unsigned int y = 0; y < height; y++)
        for (int x = first; x < end; x++) {
          new (room) cudasim_index(static_cast<unsigned int>(x) - base, y, z);
          CUDASIM_THREAD_BEGINS();
          apply(c.body, c.arguments);
          if (__builtin_expect(cudasim_thread != index, 0))
            return; // it has waited
          index->~cudasim_index();
        }
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
#ifndef CUDASIM_PROGRAM // nvcc copies whatever it is (a std::pair, say) byte by byte
  static_assert((std::is_trivially_copyable_v<P> && ... && true), "a kernel's parameters must be plain data");
#endif
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
#elif defined(CUDASIM_DUAL_VERSION)
    r.inspected = cudasim_inspected(typeid(C).name());
    r.dual_version = 1;
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

#if defined(CUDASIM_INSPECT) || defined(CUDASIM_DUAL_VERSION)
template <class... P> CUDASIM_UNSEEN inline const char *parameters(void) {
  return __PRETTY_FUNCTION__;
}
#endif

// Where `kernel` is NULL nobody asks for its address, and another stands for it.
template <class Body, class... P>
inline launcher<Body, P...> launch(void (*kernel)(P...), Body body, const char *name, dim3 grid, dim3 block = dim3(1),
                                   size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  cudasim_launch_request r = {};
  r.function =
      kernel ? reinterpret_cast<const void *>(kernel) : reinterpret_cast<const void *>(closure<Body, P...>::thread);
  r.name = name;
#if defined(CUDASIM_INSPECT) || defined(CUDASIM_DUAL_VERSION)
  r.parameters = parameters<P...>();
#endif
#ifdef CUDASIM_JUDGED
  r.judged = 1;
#endif
  r.grid = {grid.x, grid.y, grid.z};
  r.block = {block.x, block.y, block.z};
  r.shared_bytes = shared_bytes;
  r.stream = stream;
  return {body, r};
}

// Kernels that are known as values: how each is launched where only its address is left of it, and its name.
struct kernel_entry {
  const void *kernel;
  const char *name;
  cudaError_t (*launch)(const kernel_entry &entry, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                        cudaStream_t stream);
};
enum { MAX_KERNEL_POINTERS = 64 };
inline kernel_entry kernel_entries[MAX_KERNEL_POINTERS];

inline const char *kernel_name(const void *kernel) {
  for (const kernel_entry &entry : kernel_entries)
    if (entry.kernel == kernel)
      return entry.name;
  return nullptr;
}

// The same for such a kernel; without a name it has the one that is known of it.
template <class... P>
inline auto launch_pointer(void (*kernel)(P...), const char *name, dim3 grid, dim3 block = dim3(1),
                           size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return launch(
      kernel, [kernel](P... p) { kernel(p...); }, name ? name : kernel_name(reinterpret_cast<const void *>(kernel)),
      grid, block, shared_bytes, stream);
}

template <class L, class... P, size_t... I>
inline cudaError_t unpack(const L &l, void (*)(P...), void **arguments, std::index_sequence<I...>) {
  (void)arguments;
  return l.submit(*static_cast<P *>(arguments[I])...);
}

} // namespace cudasim

namespace cudasim {
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

// As it is, and its name is known from then on.
template <class... P> inline auto named_kernel(void (*kernel)(P...), const char *name) -> void (*)(P...) {
  kernel_pointer(kernel, name);
  return kernel;
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

template <class... P>
inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **arguments,
                                               size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  auto l = cudasim::launch_pointer(kernel, nullptr, grid, block, shared_bytes, stream);
  l.request.cooperative = 1;
  return cudasim::unpack(l, kernel, arguments, std::index_sequence_for<P...>());
}

template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A &&...arguments) {
  auto l = cudasim::launch_pointer(kernel, nullptr, config->gridDim, config->blockDim, config->dynamicSmemBytes,
                                   config->stream);
  for (unsigned int i = 0; i < config->numAttrs; i++)
    if (config->attrs[i].id == cudaLaunchAttributeCooperative)
      l.request.cooperative = config->attrs[i].val.cooperative;
  return l.submit(static_cast<P>(arguments)...);
}
#endif

#endif
