// SPDX-License-Identifier: MIT
// What `cu2cpp --step` writes calls of: before each statement `cudasim_step::at(number, variables...)`, which passes on where the
// variables are and of which types. The recorder (core/inspect/step) has the other ends.
#ifndef CUDASIM_STEP_H
#define CUDASIM_STEP_H

#include "cudasim_launch.h"

enum { CUDASIM_STEP_DIMENSIONS = 4 };

struct cudasim_step_member;

// The type of a variable. `kind` is i (signed), u (unsigned), f, b (bool), c (char), p (pointer), x (a struct) or ? (unknown).
struct cudasim_step_type {
  char kind, pointed;                  // pointed: the kind of what a pointer points to
  unsigned short bytes, pointed_bytes; // of an element; of what it points to
  unsigned int count;                  // elements: more than 1 of an array
  unsigned int rank, dimensions[CUDASIM_STEP_DIMENSIONS];
  const struct cudasim_step_member *members; // of a struct, up to one without a name; NULL: unknown
};

struct cudasim_step_member {
  const char *name;
  unsigned int offset;
  struct cudasim_step_type type;
};

CUDASIM_BEGIN_C
// Whether the running block is being recorded.
extern __thread int cudasim_step_records __attribute__((tls_model("initial-exec")));
void cudasim_step_at(int statement, void *const *variables, const struct cudasim_step_type *types, int count);
void cudasim_step_seen(int statement, void *const *variables, const struct cudasim_step_type *types, int count);
void cudasim_step_enter(int function, void *const *variables, const struct cudasim_step_type *types, int count);
void cudasim_step_leave(void);
void cudasim_step_shared(const char *name, void *address, const struct cudasim_step_type *type, int dynamic);
// The thread calls a warp function with this value of this kind and size; its result is that of the lane `from` (-1: of all).
void cudasim_step_brings(unsigned int mask, unsigned long long value, char kind, unsigned int bytes, int from);
CUDASIM_END_C

#ifdef __cplusplus
#include <memory>
#include <type_traits>

#define CUDASIM_STEP_CALL CUDASIM_UNSEEN __attribute__((noinline, no_sanitize("undefined")))

namespace cudasim_step {

template <class T> constexpr char kind_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>)
    return 'b';
  else if constexpr (std::is_same_v<U, char>)
    return 'c';
  else if constexpr (std::is_floating_point_v<U>)
    return 'f';
  else if constexpr (std::is_integral_v<U>)
    return std::is_signed_v<U> ? 'i' : 'u';
  else if constexpr (std::is_enum_v<U>)
    return 'i';
  else if constexpr (std::is_pointer_v<U>)
    return 'p';
  else if constexpr (std::is_class_v<U> || std::is_union_v<U>)
    return 'x';
  else
    return '?';
}

// Of what a pointer points to, which may be no complete type.
template <class T, class = void> constexpr size_t size_of = 0;
template <class T> constexpr size_t size_of<T, std::void_t<decltype(sizeof(T))>> = std::is_void_v<T> ? 0 : sizeof(T);

// Of vectors, the elements; of others: cu2cpp specializes it for the structs of the file.
template <class T> struct members { static constexpr const cudasim_step_member *all = nullptr; };

template <class T> constexpr cudasim_step_type type_of() {
  using B = std::remove_cv_t<std::remove_all_extents_t<T>>;
  cudasim_step_type type = {};
  type.kind = kind_of<B>();
  type.bytes = static_cast<unsigned short>(sizeof(B));
  type.count = static_cast<unsigned int>(sizeof(T) / sizeof(B));
  type.rank = static_cast<unsigned int>(std::rank_v<T>);
  type.dimensions[0] = std::extent_v<T, 0>;
  type.dimensions[1] = std::extent_v<T, 1>;
  type.dimensions[2] = std::extent_v<T, 2>;
  type.dimensions[3] = std::extent_v<T, 3>;
  if constexpr (std::is_pointer_v<B>) {
    using P = std::remove_cv_t<std::remove_pointer_t<B>>;
    type.pointed = kind_of<P>();
    type.pointed_bytes = static_cast<unsigned short>(size_of<P>);
  } else if constexpr (std::is_class_v<B>) {
    type.members = members<B>::all;
  }
  return type;
}

#define CUDASIM_STEP_MEMBER(T, name)                                                                                   \
  { #name, offsetof(T, name), ::cudasim_step::type_of < decltype(T::name)>() }
#define CUDASIM_STEP_MEMBERS(T, ...)                                                                                   \
  template <> struct cudasim_step::members<T> {                                                                        \
    static constexpr cudasim_step_member list[] = {__VA_ARGS__, {}};                                                   \
    static constexpr const cudasim_step_member *all = list;                                                            \
  };

template <class... T> CUDASIM_STEP_CALL void at(int statement, T &...variables) {
  if (!cudasim_step_records)
    return;
  void *const addresses[] = {(void *)std::addressof(variables)..., nullptr};
  static constexpr cudasim_step_type types[] = {type_of<T>()..., cudasim_step_type{}};
  cudasim_step_at(statement, addresses, types, static_cast<int>(sizeof...(T)));
}

template <class... T> CUDASIM_STEP_CALL void seen(int statement, T &...variables) {
  if (!cudasim_step_records)
    return;
  void *const addresses[] = {(void *)std::addressof(variables)..., nullptr};
  static constexpr cudasim_step_type types[] = {type_of<T>()..., cudasim_step_type{}};
  cudasim_step_seen(statement, addresses, types, static_cast<int>(sizeof...(T)));
}

struct frame {
  template <class... T> CUDASIM_STEP_CALL explicit frame(int function, T &...parameters) {
    if (!cudasim_step_records)
      return;
    void *const addresses[] = {(void *)std::addressof(parameters)..., nullptr};
    static constexpr cudasim_step_type types[] = {type_of<T>()..., cudasim_step_type{}};
    cudasim_step_enter(function, addresses, types, static_cast<int>(sizeof...(T)));
  }
  frame(const frame &) = delete;
  CUDASIM_STEP_CALL ~frame() {
    if (cudasim_step_records)
      cudasim_step_leave();
  }
};

template <class T> CUDASIM_STEP_CALL void shared(const char *name, T &array) {
  static constexpr cudasim_step_type type = type_of<T>();
  if (cudasim_step_records)
    cudasim_step_shared(name, (void *)std::addressof(array), &type, 0);
}

template <class T> CUDASIM_STEP_CALL void dynamic(const char *name, T &first) {
  static constexpr cudasim_step_type type = type_of<T>();
  if (cudasim_step_records)
    cudasim_step_shared(name, (void *)std::addressof(first), &type, 1);
}

} // namespace cudasim_step

CUDASIM_STEP_MEMBERS(float2, CUDASIM_STEP_MEMBER(float2, x), CUDASIM_STEP_MEMBER(float2, y))
CUDASIM_STEP_MEMBERS(float3, CUDASIM_STEP_MEMBER(float3, x), CUDASIM_STEP_MEMBER(float3, y),
                     CUDASIM_STEP_MEMBER(float3, z))
CUDASIM_STEP_MEMBERS(float4, CUDASIM_STEP_MEMBER(float4, x), CUDASIM_STEP_MEMBER(float4, y),
                     CUDASIM_STEP_MEMBER(float4, z), CUDASIM_STEP_MEMBER(float4, w))
CUDASIM_STEP_MEMBERS(double2, CUDASIM_STEP_MEMBER(double2, x), CUDASIM_STEP_MEMBER(double2, y))
CUDASIM_STEP_MEMBERS(int2, CUDASIM_STEP_MEMBER(int2, x), CUDASIM_STEP_MEMBER(int2, y))
CUDASIM_STEP_MEMBERS(int3, CUDASIM_STEP_MEMBER(int3, x), CUDASIM_STEP_MEMBER(int3, y), CUDASIM_STEP_MEMBER(int3, z))
CUDASIM_STEP_MEMBERS(int4, CUDASIM_STEP_MEMBER(int4, x), CUDASIM_STEP_MEMBER(int4, y), CUDASIM_STEP_MEMBER(int4, z),
                     CUDASIM_STEP_MEMBER(int4, w))
CUDASIM_STEP_MEMBERS(uint2, CUDASIM_STEP_MEMBER(uint2, x), CUDASIM_STEP_MEMBER(uint2, y))
CUDASIM_STEP_MEMBERS(uint3, CUDASIM_STEP_MEMBER(uint3, x), CUDASIM_STEP_MEMBER(uint3, y), CUDASIM_STEP_MEMBER(uint3, z))
CUDASIM_STEP_MEMBERS(uint4, CUDASIM_STEP_MEMBER(uint4, x), CUDASIM_STEP_MEMBER(uint4, y), CUDASIM_STEP_MEMBER(uint4, z),
                     CUDASIM_STEP_MEMBER(uint4, w))
CUDASIM_STEP_MEMBERS(dim3, CUDASIM_STEP_MEMBER(dim3, x), CUDASIM_STEP_MEMBER(dim3, y), CUDASIM_STEP_MEMBER(dim3, z))
#endif

#endif
