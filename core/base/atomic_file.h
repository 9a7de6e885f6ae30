// SPDX-License-Identifier: MIT
// Files that appear whole or not at all: for core/, tests and plots.
#ifndef FERRY_BASE_ATOMIC_FILE_H
#define FERRY_BASE_ATOMIC_FILE_H

#include "base/scope.h"

// Written under another name beside `path`, which nobody else has (other threads may be writing the same file), and renamed
// by commit: of several writers the last to commit wins. An object of the scope: destroyed before it is committed, it takes
// the temporary file away. All raise FY_OS_ERROR naming the path.
typedef struct FyAtomicFile FyAtomicFile;
FyAtomicFile *fy_atomic_file_open(const char *path);
void fy_atomic_file_write(FyAtomicFile *file, const void *bytes, size_t count);
void fy_atomic_file_commit(FyAtomicFile *file); // fsync, rename, fsync of the directory

#endif
