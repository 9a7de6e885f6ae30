// SPDX-License-Identifier: MIT
// What the tests of devices share.
#ifndef TESTS_DEVICE_EXPECT_H
#define TESTS_DEVICE_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/runtime.h"

// The statements must raise an error of this kind whose message contains `text`.
#define expect_error(expected, text, ...)                                                                              \
  do {                                                                                                                 \
    FyError error_;                                                                                                    \
    fy_trap(error_) {                                                                                                  \
      __VA_ARGS__;                                                                                                     \
    }                                                                                                                  \
    assert_string_equal(fy_error_name(error_.kind), fy_error_name(expected));                                          \
    if (!strstr(error_.message, text))                                                                                 \
      fail_msg("\"%s\" is not in \"%s\"", text, error_.message);                                                       \
  } while (0)

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

// For tests that need so many devices, or that make assumptions only the simulator meets.
#define skip_below_devices(n)                                                                                          \
  do {                                                                                                                 \
    if (fy_cuda_device_count() < (n)) {                                                                                \
      print_message("needs %d CUDA devices, and there are %d\n", n, fy_cuda_device_count());                           \
      skip();                                                                                                          \
    }                                                                                                                  \
  } while (0)

#define skip_unless_simulated()                                                                                        \
  do {                                                                                                                 \
    if (!fy_cuda_is_simulated()) {                                                                                     \
      print_message("needs simulated devices\n");                                                                      \
      skip();                                                                                                          \
    }                                                                                                                  \
  } while (0)

#endif
