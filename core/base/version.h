// SPDX-License-Identifier: MIT
// The version of these headers, numbered by the rules of docs/api_stability.md. The build copies it to ferry.pc and
// `ferry --version`.
//
//   #if FERRY_VERSION >= FERRY_VERSION_NUMBER(1, 2, 0)
#ifndef FERRY_BASE_VERSION_H
#define FERRY_BASE_VERSION_H

#define FERRY_VERSION_MAJOR 1
#define FERRY_VERSION_MINOR 0
#define FERRY_VERSION_PATCH 0

// A version as one number; a later version has a larger number.
#define FERRY_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define FERRY_VERSION FERRY_VERSION_NUMBER(FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR, FERRY_VERSION_PATCH)

#define FERRY_VERSION_TEXT_OF(major, minor, patch) #major "." #minor "." #patch
#define FERRY_VERSION_TEXT(major, minor, patch) FERRY_VERSION_TEXT_OF(major, minor, patch)
#define FERRY_VERSION_STRING                                                                                           \
  FERRY_VERSION_TEXT(FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR, FERRY_VERSION_PATCH) // "1.0.0"

#endif
