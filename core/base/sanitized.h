// SPDX-License-Identifier: MIT
// Which sanitizers this build has, for gcc and clang alike: FY_ASAN, FY_TSAN, and FY_SANITIZED for either.
#ifndef FERRY_BASE_SANITIZED_H
#define FERRY_BASE_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FY_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define FY_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(FY_ASAN)
#define FY_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(FY_TSAN)
#define FY_TSAN 1
#endif

#if defined(FY_ASAN) || defined(FY_TSAN)
#define FY_SANITIZED 1
#endif

#endif
