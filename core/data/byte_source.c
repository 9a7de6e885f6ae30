// SPDX-License-Identifier: MIT
// Plain files by read(2), gzip files by zlib's inflate, which checks their length and CRC.
#include "data/byte_source.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER = 1 << 14, DEFLATE_RATIO = 1032, GZIP_FORMAT = 15 + 16 };

struct FyByteSource {
  FyObject object;
  char *path;
  int file;
  uint64_t size;   // of the file
  uint64_t offset; // in the content
  bool gzip, inflating, finished;
  z_stream z;
  unsigned char buffer[BUFFER]; // compressed bytes
};

static void destroy_source(void *object) {
  FyByteSource *s = object;
  if (s->inflating)
    inflateEnd(&s->z);
  if (s->file >= 0)
    close(s->file);
  free(s->path);
  free(s);
}

static size_t read_file(FyByteSource *s, void *to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = read(s->file, (char *)to + done, bytes - done);
    if (n < 0 && errno == EINTR)
      continue;
    fy_check(n >= 0, FY_OS_ERROR, "%s: cannot be read: %s", s->path, strerror(errno));
    if (n == 0)
      break;
    done += (size_t)n;
  }
  return done;
}

static void start_gzip(FyByteSource *s) {
  s->gzip = true;
  fy_check(inflateInit2(&s->z, GZIP_FORMAT) == Z_OK, FY_OUT_OF_MEMORY_ERROR, "%s: out of host memory to unpack it",
           s->path);
  s->inflating = true;
}

FyByteSource *fy_byte_source_open(const char *path) {
  FyByteSource *s = fy_object_new(sizeof *s, destroy_source);
  struct stat status;
  unsigned char magic[2];
  s->file = -1;
  s->path = strdup(path);
  fy_check(s->path, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the name of a file");
  s->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  fy_check(s->file >= 0 && fstat(s->file, &status) == 0, FY_OS_ERROR, "[Errno %d] %s: '%s'", errno, strerror(errno),
           path);
  fy_check(S_ISREG(status.st_mode), FY_OS_ERROR, "%s: is not a regular file", path);
  s->size = (uint64_t)status.st_size;
  if (read_file(s, magic, 2) == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
    start_gzip(s);
  fy_check(lseek(s->file, 0, SEEK_SET) == 0, FY_OS_ERROR, "%s: cannot be read: %s", path, strerror(errno));
  return s;
}

// A stream's end may be followed by another stream (gzip files may be joined), but by nothing else.
static void after_member(FyByteSource *s) {
  if (s->z.avail_in == 0) {
    s->z.next_in = s->buffer;
    s->z.avail_in = (uInt)read_file(s, s->buffer, BUFFER);
  }
  s->finished = s->z.avail_in == 0;
  if (!s->finished)
    fy_check(inflateReset(&s->z) == Z_OK, FY_RUNTIME_ERROR, "%s: zlib cannot be reset", s->path);
}

static size_t read_gzip(FyByteSource *s, void *to, size_t bytes) {
  size_t done = 0;
  while (done < bytes && !s->finished) {
    if (s->z.avail_in == 0) {
      s->z.next_in = s->buffer;
      s->z.avail_in = (uInt)read_file(s, s->buffer, BUFFER);
      fy_check(s->z.avail_in > 0, FY_VALUE_ERROR,
               "%s: the gzip stream is truncated: the file ends at byte %llu of it, after %llu bytes of content",
               s->path, (unsigned long long)s->size, (unsigned long long)(s->offset + done));
    }
    size_t room = bytes - done;
    uInt step = room < 1u << 30 ? (uInt)room : 1u << 30;
    s->z.next_out = (unsigned char *)to + done;
    s->z.avail_out = step;
    int result = inflate(&s->z, Z_NO_FLUSH);
    done += step - s->z.avail_out;
    fy_check(result == Z_OK || result == Z_STREAM_END, FY_VALUE_ERROR,
             "%s: the gzip stream is damaged after %llu bytes of content: %s", s->path,
             (unsigned long long)(s->offset + done), s->z.msg ? s->z.msg : "unexpected data");
    if (result == Z_STREAM_END)
      after_member(s);
  }
  return done;
}

size_t fy_byte_source_read(FyByteSource *s, void *to, size_t bytes) {
  size_t done = s->gzip ? read_gzip(s, to, bytes) : read_file(s, to, bytes);
  s->offset += done;
  return done;
}

uint64_t fy_byte_source_limit(const FyByteSource *s) {
  return s->gzip ? s->size * DEFLATE_RATIO : s->size; // a file's size is far below 2^53: no overflow
}

bool fy_byte_source_is_gzip(const FyByteSource *s) {
  return s->gzip;
}
uint64_t fy_byte_source_offset(const FyByteSource *s) {
  return s->offset;
}
