// SPDX-License-Identifier: MIT
// The files of the workspace, read and written. A file is written only over the version that the writer has seen, by a new file that takes
// the old one's place.
#include "live/live.h"
#include "base/fnv.h"
#include "tool/compile/files.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char *work_folder(void) {
  static char path[PATH_MAX];
  const char *elsewhere = getenv("FERRY_WORK");
  if (!*path && elsewhere && *elsewhere)
    snprintf(path, sizeof path, "%s", elsewhere);
  else if (!*path)
    in_root(path, sizeof path, "work");
  return path;
}

// Sources and the answers to predict boxes, and nothing that a tool would take orders from. The path in the workspace, or NULL.
static const char *source_path(const char *path) {
  static const char *const endings[] = {".c", ".cu", ".h", ".cuh"};
  const char *dot = path ? strrchr(path, '.') : NULL;
  if (path && strcmp(path, "work/predictions.json") == 0)
    return path + 5;
  if (!dot || strncmp(path, "work/", 5) != 0)
    return NULL;
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
    if (strcmp(dot, endings[i]) == 0)
      return path + 5;
  return NULL;
}

bool work_is_source(const char *path) {
  return source_path(path) != NULL;
}

// A hash of the text and its length.
static void version_of(const char *text, size_t bytes, char version[17]) {
  const uint64_t hash = fy_fnv(FY_FNV_BEGIN ^ bytes, text, bytes);
  snprintf(version, 17, "%016llx", (unsigned long long)hash);
}

static char *read_source(const char *path, size_t *bytes, char version[17]) {
  const char *inside = source_path(path);
  const int file = inside ? beneath_open(work_folder(), inside) : -1;
  char *text = file >= 0 ? beneath_read(file, FILE_LIMIT, bytes) : NULL;
  version[0] = '\0';
  if (text)
    version_of(text, *bytes, version);
  return text;
}

void work_version(const char *path, char version[17]) {
  size_t bytes;
  free(read_source(path, &bytes, version));
}

static enum MHD_Result no_such_path(struct MHD_Connection *c) {
  return reply_error(
      c, MHD_HTTP_FORBIDDEN,
      "only sources below work/ (.c, .cu, .h and .cuh) and work/predictions.json can be read and written "
      "here, and no links");
}

static void add_file(Text *json, const char *path, const char *text, const char *version) {
  text_add(json, "{\"path\": ");
  text_json(json, path);
  text_add(json, ", \"text\": ");
  text_json(json, text);
  text_add(json, ", \"version\": \"%s\"}\n", version);
}

enum MHD_Result work_get(struct MHD_Connection *c) {
  const char *path = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "path");
  char version[17];
  size_t bytes;
  Text json = {0};
  if (!source_path(path))
    return no_such_path(c);
  char *text = read_source(path, &bytes, version);
  if (!text && (errno == ENOENT || errno == ENOTDIR))
    return reply_error(c, MHD_HTTP_NOT_FOUND, "there is no file %s; ./ferry start copies the exercises to work/", path);
  if (!text)
    return no_such_path(c);
  add_file(&json, path, text, version);
  free(text);
  return reply_json(c, MHD_HTTP_OK, &json);
}

// ---- writing ---------------------------------------------------------------------------------------------------------------

static bool write_all(int file, const char *text, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = write(file, text + done, bytes - done);
    if (n < 0 && errno != EINTR)
      return false;
    done += n > 0 ? (size_t)n : 0;
  }
  return true;
}

// In the folder `at`; what it replaces keeps its mode and owner.
static bool replace(int at, const char *name, const char *text) {
  char temporary[300];
  struct stat old;
  const bool there = fstatat(at, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
  snprintf(temporary, sizeof temporary, ".%.200s.live.%d", name, (int)getpid());
  unlinkat(at, temporary, 0); // of a server with the same number that was killed
  const int file = openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0)
    return false;
  if (there && (fchmod(file, old.st_mode & 0777) != 0 || fchown(file, old.st_uid, old.st_gid) != 0))
    errno = 0; // another user's file: the new one is ours
  bool written = write_all(file, text, strlen(text)) && fsync(file) == 0;
  written = close(file) == 0 && written && renameat(at, temporary, at, name) == 0;
  const int error = errno;
  if (!written)
    unlinkat(at, temporary, 0);
  errno = error;
  return written;
}

static enum MHD_Result conflict(struct MHD_Connection *c, const char *path, const char *text, const char *version) {
  Text json = {0};
  add_file(&json, path, text ? text : "", version);
  return reply_json(c, MHD_HTTP_CONFLICT, &json);
}

// The lock is that of ./ferry's commands. From the comparison to the rename nothing that takes it comes between.
static enum MHD_Result write_over(struct MHD_Connection *c, const char *path, const char *text, const char *base) {
  const char *name;
  char version[17];
  size_t bytes;
  Text json = {0};
  const int at = beneath_open_folder(work_folder(), source_path(path), &name);
  if (at < 0)
    return reply_error(c, MHD_HTTP_NOT_FOUND, "there is no folder for %s; ./ferry start makes work/", path);
  struct stat about;
  const bool there = fstatat(at, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
  char *old = read_source(path, &bytes, version);
  if (there && !old) {
    close(at);
    return no_such_path(c);
  }
  if (strcmp(version, base) != 0) {
    const enum MHD_Result result = conflict(c, path, old, version);
    free(old);
    close(at);
    return result;
  }
  free(old);
  const bool written = replace(at, name, text);
  close(at);
  if (!written)
    return reply_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s cannot be written: %s", path, strerror(errno));
  version_of(text, strlen(text), version);
  text_add(&json, "{\"version\": \"%s\"}\n", version);
  return reply_json(c, MHD_HTTP_OK, &json);
}

enum MHD_Result work_post(struct MHD_Connection *c, const Json *asked) {
  const Json *path = json_get(asked, "path", JSON_STRING), *text = json_get(asked, "text", JSON_STRING),
             *base = json_get(asked, "base", JSON_STRING);
  if (!path || !text)
    return reply_error(c, MHD_HTTP_BAD_REQUEST, "\"path\" and \"text\" are needed");
  if (!source_path(path->string))
    return no_such_path(c);
  if (strlen(text->string) > FILE_LIMIT)
    return reply_error(c, MHD_HTTP_CONTENT_TOO_LARGE, "a file may have at most 256 KiB");
  const int lock = open(work_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(lock);
    return reply_error(c, MHD_HTTP_SERVICE_UNAVAILABLE, "another ./ferry is writing to work/; save again");
  }
  const enum MHD_Result result = write_over(c, path->string, text->string, base ? base->string : "");
  if (lock >= 0)
    close(lock);
  return result;
}
