// SPDX-License-Identifier: MIT
// For the main that core/inspect/instrument/bare_kernel.c writes for a kernel without one: makes the kernel's arguments, of the types
// that its parameters have, and launches it.
#ifndef CUDASIM_BARE_LAUNCH_H
#define CUDASIM_BARE_LAUNCH_H

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <tuple>
#include <string>
#include <type_traits>
#include <vector>

// The inspector's (core/inspect/runtime/bare.c). The next launch has this input, and is counted or only checked; text NULL: none comes.
extern "C" void inspect_launches_with(const char *text, bool counts);
extern "C" bool inspect_launches_were_long(void);
// What all launches together were.
extern "C" void inspect_launched(const char *text);

namespace ferry_bare {

// A parameter: its name, and what --arg says of it ("1000", "float[n]", "int[n] zeros"); NULL: nothing.
struct parameter {
  const char *name, *given;
};

enum { MOST = 64 };

struct launch {
  dim3 grid, block;
  size_t shared;
  const parameter *parameters;
  const char *other_arrays; // "[threads + 100]": of pointers of which nothing is said; NULL: nothing
  int count;
  long long values[MOST]; // of the parameters that are whole numbers
  long long number;       // the value of those of which nothing is said
  std::string open;       // their names: "rows = columns"
};

[[noreturn]] inline void fail(const parameter &p, const char *what, const char *at = "") {
  std::fprintf(stderr, "ferry inspect: --arg %s=%s: %s%s\n", p.name, p.given ? p.given : "", what, at);
  std::exit(2);
}

inline long long threads_of(const launch &l) {
  return (long long)l.grid.x * l.grid.y * l.grid.z * l.block.x * l.block.y * l.block.z;
}

// ---- sizes: whole numbers, parameters before, grid, block and threads, joined by + - * / ------------------------------------------------

struct expression {
  const launch &l;
  const parameter &of;
  const char *at;
  void skip() {
    while (*at == ' ')
      at++;
  }
  long long primary() {
    skip();
    if (*at == '(') {
      at++;
      const long long value = sum();
      skip();
      if (*at++ != ')')
        fail(of, "a ) is missing");
      return value;
    }
    if (std::isdigit((unsigned char)*at)) {
      char *end;
      const long long value = std::strtoll(at, &end, 0);
      at = end;
      return value;
    }
    size_t length = 0;
    while (std::isalnum((unsigned char)at[length]) || at[length] == '_')
      length++;
    const char *word = at;
    at += length;
    const auto is = [&](const char *name) {
      return std::strlen(name) == length && std::strncmp(word, name, length) == 0;
    };
    for (int i = 0; length && i < l.count; i++)
      if (is(l.parameters[i].name))
        return l.values[i];
    if (is("threads"))
      return threads_of(l);
    if (is("block"))
      return (long long)l.block.x * l.block.y * l.block.z;
    if (is("grid"))
      return (long long)l.grid.x * l.grid.y * l.grid.z;
    fail(of, "a number, a parameter, grid, block or threads is expected at ", word);
  }
  long long product() {
    long long value = primary();
    for (skip(); *at == '*' || *at == '/'; skip()) {
      const bool times = *at++ == '*';
      const long long by = primary();
      if (!times && by == 0)
        fail(of, "division by zero");
      value = times ? value * by : value / by;
    }
    return value;
  }
  long long sum() {
    long long value = product();
    for (skip(); *at == '+' || *at == '-'; skip())
      value = *at++ == '+' ? value + product() : value - product();
    return value;
  }
};

// ---- inputs --------------------------------------------------------------------------------------------------------------

enum fill { ZEROS, PERMUTATION, RANDOM, FILLS };
static const char *const fill_names[FILLS] = {"zeros", "permutation", "random"}; // as --arg has them

inline unsigned next_random(unsigned &state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

// Element i of n. A permutation's elements are each of 0 to n - 1 once, so they are valid indices, and no two are equal.
inline long long element(fill how, size_t i, size_t n, unsigned &state) {
  if (how == ZEROS)
    return 0;
  if (how == RANDOM)
    return n ? next_random(state) % n : 0;
  size_t step = n / 2 + 1; // the next number that has no divisor in common with n
  for (size_t a = step, b = n; n > 1;) {
    while (b) {
      const size_t rest = a % b;
      a = b, b = rest;
    }
    if (a == 1)
      break;
    a = ++step, b = n;
  }
  return (long long)(i * step % n);
}

template <class T> void fill_array(T *host, fill how, size_t n) {
  unsigned state = 12345;
  if constexpr (std::is_arithmetic_v<T>)
    for (size_t i = 0; i < n; i++)
      host[i] = (T)element(how, i, n, state);
  else if constexpr (sizeof(T) % sizeof(float) == 0 && alignof(T) >= alignof(float)) // a vector, or a struct of words
    for (size_t i = 0; i < n * (sizeof(T) / sizeof(float)); i++)
      reinterpret_cast<unsigned *>(host)[i] = (unsigned)element(how, i, n, state);
  else
    for (size_t i = 0; i < n * sizeof(T); i++)
      reinterpret_cast<unsigned char *>(host)[i] = (unsigned char)element(how, i, n, state);
}

// ---- arguments -----------------------------------------------------------------------------------------------------------

// "float[n] zeros": whatever stands before the bracket is for the reader.
inline long long array_size(const launch &l, const parameter &p, fill &how) {
  const char *given = p.given ? p.given : l.other_arrays;
  if (!given)
    return std::max(threads_of(l), l.number);
  const char *open = std::strchr(given, '[');
  if (!open)
    fail(p, "it is a pointer: say how many elements it points to, as in float[1000]");
  expression size = {l, p, open + 1};
  const long long count = size.sum();
  if (*size.at != ']')
    fail(p, "a ] is missing at ", size.at);
  if (count < 0)
    fail(p, "the size is negative");
  const char *word = size.at + 1 + std::strspn(size.at + 1, " ");
  if (*word) {
    int which = 0;
    while (which < FILLS && std::strcmp(word, fill_names[which]) != 0)
      which++;
    if (which == FILLS)
      fail(p, "after the ] can stand zeros, permutation or random, not ", word);
    how = (fill)which;
  }
  return count;
}

template <size_t N, class Kernel> struct parameter_of;
template <size_t N, class... P> struct parameter_of<N, void (*)(P...)> {
  using type = std::remove_cv_t<std::remove_reference_t<std::tuple_element_t<N, std::tuple<P...>>>>;
};
template <size_t N, class Kernel> using parameter_type = typename parameter_of<N, Kernel>::type;

template <class... P> constexpr int parameters_of(void (*)(P...)) {
  return (int)sizeof...(P);
}

// Inlined, so that device memory is allocated at the line of its parameter.
#define FERRY_BARE_INLINE __attribute__((always_inline)) inline

// Before the arguments are made, since sizes of arrays can depend on it.
template <class T> void read_number(launch &l, int at) {
  const parameter &p = l.parameters[at];
  if constexpr (std::is_integral_v<T>) {
    if (!p.given) {
      l.open += l.open.empty() ? p.name : std::string(" = ") + p.name;
      l.values[at] = l.number;
      return;
    }
    expression e = {l, p, p.given};
    l.values[at] = e.sum();
    if (*e.at)
      fail(p, "this is no whole number: ", e.at);
  }
}

// What is tried for whole numbers of which nothing is said, usually sizes: one, around a block's threads, and around all threads.
inline std::vector<long long> numbers(const launch &l) {
  const long long block = (long long)l.block.x * l.block.y * l.block.z, all = threads_of(l);
  std::vector<long long> tried = {all};
  if (!l.open.empty())
    tried.insert(tried.end(), {1, block - 1, block, block + 1, all - 1, all + 1});
  std::sort(tried.begin(), tried.end());
  tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
  tried.erase(tried.begin(), std::find_if(tried.begin(), tried.end(), [](long long n) { return n > 0; }));
  return tried;
}

template <class T> struct argument {
  T value{};
  FERRY_BARE_INLINE argument(launch &l, int at, int) {
    const parameter &p = l.parameters[at];
    if constexpr (std::is_integral_v<T>)
      value = (T)l.values[at];
    else if constexpr (std::is_floating_point_v<T>)
      value = p.given ? (T)std::strtod(p.given, nullptr) : (T)1;
    else if (p.given)
      fail(p, "only numbers and pointers can be given: all bytes of a struct are 0");
  }
};

template <class T> struct argument<T *> {
  using element_type = std::conditional_t<std::is_void_v<T>, char, std::remove_cv_t<T>>;
  element_type *value = nullptr;
  FERRY_BARE_INLINE argument(launch &l, int at, int which) {
    fill how = (fill)which;
    const long long count = array_size(l, l.parameters[at], how);
    const size_t bytes = (size_t)count * sizeof(element_type);
    element_type *host = static_cast<element_type *>(std::malloc(bytes + 1));
    if (!host || cudaMalloc(&value, bytes) != cudaSuccess)
      fail(l.parameters[at], "there is no memory for that many elements");
    fill_array(host, how, (size_t)count);
    cudaMemcpy(value, host, bytes, cudaMemcpyHostToDevice);
    std::free(host);
  }
  ~argument() {
    cudaFree(value);
  }
};

inline std::string with(const launch &l, const std::string &number) {
  return l.open.empty() ? "" : l.open + " = " + number;
}

// Waits for the launch with this input.
inline bool finishes(const launch &l, int how) {
  const cudaError_t refused = cudaGetLastError(), error = refused == cudaSuccess ? cudaDeviceSynchronize() : refused;
  if (error != cudaSuccess)
    std::fprintf(stderr, "ferry inspect: the launch with %s%s%s failed: %s\n",
                 with(l, std::to_string(l.number)).c_str(), l.open.empty() ? "" : ", ", fill_names[how],
                 cudaGetErrorString(error));
  if (refused != cudaSuccess) // a grid or a block that there cannot be
    std::exit(2);
  return error == cudaSuccess;
}

// Launches the kernel with each number and each input. If the launches take long, only with as many numbers as threads from then on.
template <class Read, class Launch> int launch_all(launch &l, Read read, Launch launch_with) {
  l.number = threads_of(l);
  read();
  std::string tried;
  bool good = true;
  for (const long long number : numbers(l)) {
    if (number != threads_of(l) && inspect_launches_were_long())
      continue;
    l.number = number;
    l.open.clear();
    read();
    tried += (tried.empty() ? "" : ", ") + std::to_string(number);
    for (int how = 0; good && how < FILLS; how++) {
      const std::string text = with(l, std::to_string(number)) + (l.open.empty() ? "" : ", ") + fill_names[how];
      inspect_launches_with(text.c_str(), number == threads_of(l));
      good = launch_with(how);
    }
  }
  inspect_launches_with(nullptr, true);
  inspect_launched(with(l, tried).c_str());
  return good ? 0 : 1;
}

} // namespace ferry_bare

#endif
