// SPDX-License-Identifier: MIT
// Written aside, synced, renamed, and the directory synced: whoever opens the path sees the old file or the new one.
#include "base/atomic_file.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, ATTEMPTS = 1000 };

struct FyAtomicFile {
  FyObject object;
  char path[PATH_BYTES], temporary[PATH_BYTES + 32];
  int file;
  bool exists; // the temporary one
};

static void destroy_file(void *object) {
  FyAtomicFile *self = object;
  if (self->file >= 0)
    close(self->file);
  if (self->exists)
    unlink(self->temporary);
  free(self);
}

static _Noreturn void failed(const FyAtomicFile *self) {
  fy_raise(FY_OS_ERROR, "%s: cannot write: %s", self->path, strerror(errno));
}

FyAtomicFile *fy_atomic_file_open(const char *path) {
  fy_check(path, FY_TYPE_ERROR, "the path to save to is NULL");
  fy_check(strlen(path) < PATH_BYTES, FY_OS_ERROR, "the path is too long: %.100s...", path);
  FyAtomicFile *self = fy_object_new(sizeof *self, destroy_file);
  self->file = -1;
  strcpy(self->path, path);
  // A name of which there is a file, or a link, is another thread's, or was left by a process that was killed.
  for (int i = 0; i < ATTEMPTS && self->file < 0; i++) {
    snprintf(self->temporary, sizeof self->temporary, "%s.tmp.%ld.%d", path, (long)getpid(), i);
    self->file = open(self->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (self->file < 0 && errno != EEXIST)
      failed(self);
  }
  if (self->file < 0)
    failed(self);
  self->exists = true;
  return self;
}

void fy_atomic_file_write(FyAtomicFile *self, const void *bytes, size_t count) {
  const char *at = bytes;
  while (count > 0) {
    ssize_t n = write(self->file, at, count);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      failed(self);
    at += n;
    count -= (size_t)n;
  }
}

// A rename lives in the directory: without this, a power cut could undo it.
static void sync_directory(const FyAtomicFile *self) {
  char copy[PATH_BYTES];
  strcpy(copy, self->path);
  int directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return; // a directory that may be written to, but not read
  int result = fsync(directory), error = errno;
  close(directory);
  errno = error;
  if (result != 0 && error != EINVAL) // some file systems know no such thing
    failed(self);
}

void fy_atomic_file_commit(FyAtomicFile *self) {
  if (fsync(self->file) != 0)
    failed(self);
  int file = self->file;
  self->file = -1;
  if (close(file) != 0 || rename(self->temporary, self->path) != 0)
    failed(self);
  self->exists = false;
  sync_directory(self);
}
