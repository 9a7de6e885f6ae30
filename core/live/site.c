// SPDX-License-Identifier: MIT
// The book as it was built, each page with the front end's script and style added, and the front end's own files.
#include "live/live.h"
#include "tool/compile/files.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODEMIRROR "/usr/share/javascript/codemirror"

enum { PAGE_LIMIT = 16 << 20 };

static char site_folder[PATH_MAX];

void site_begin(const char *folder) {
  if (folder)
    snprintf(site_folder, sizeof site_folder, "%s", folder);
  else
    in_root(site_folder, sizeof site_folder, "build/book/site");
}

static const char *type_of(const char *path) {
  static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                         {".css", "text/css; charset=utf-8"},
                                         {".js", "text/javascript; charset=utf-8"},
                                         {".json", "application/json; charset=utf-8"},
                                         {".svg", "image/svg+xml"},
                                         {".png", "image/png"},
                                         {".ico", "image/x-icon"},
                                         {".woff2", "font/woff2"},
                                         {".woff", "font/woff"},
                                         {".wasm", "application/wasm"},
                                         {".xml", "application/xml"},
                                         {".txt", "text/plain; charset=utf-8"}};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++)
    if (strcmp(dot, types[i][0]) == 0)
      return types[i][1];
  return "application/octet-stream";
}

static enum MHD_Result send_file(struct MHD_Connection *c, unsigned status, int file, const char *type) {
  struct stat about;
  struct MHD_Response *response =
      fstat(file, &about) == 0 ? MHD_create_response_from_fd((size_t)about.st_size, file) : NULL; // closes it
  if (response)
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  else
    close(file);
  return reply_send(c, status, response);
}

static enum MHD_Result send_page(struct MHD_Connection *c, unsigned status, int file, const char *type) {
  static const char added[] =
      "<link rel=\"stylesheet\" href=\"/live/live.css\"><script src=\"/live/live.js\" defer></script>";
  size_t bytes;
  char *page = beneath_read(file, PAGE_LIMIT, &bytes), *with = page ? malloc(bytes + sizeof added) : NULL;
  const char *head = page ? strstr(page, "</head>") : NULL;
  if (!with || !head) {
    free(with);
    return page ? reply_text(c, status, type, page, bytes)
                : reply_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the page cannot be read; run make book again");
  }
  const size_t before = (size_t)(head - page);
  memcpy(with, page, before);
  memcpy(with + before, added, sizeof added - 1);
  memcpy(with + before + sizeof added - 1, head, bytes - before);
  free(page);
  return reply_text(c, status, type, with, bytes + sizeof added - 1);
}

static enum MHD_Result not_there(struct MHD_Connection *c) {
  const int file = beneath_open(site_folder, "404.html");
  return file >= 0 ? send_page(c, MHD_HTTP_NOT_FOUND, file, "text/html; charset=utf-8")
                   : reply_error(c, MHD_HTTP_NOT_FOUND, "there is no such page");
}

static enum MHD_Result to_folder(struct MHD_Connection *c, const char *path) {
  char location[PATH_MAX + 4];
  struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
  snprintf(location, sizeof location, "/%s/", path);
  if (response)
    MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, location);
  return reply_send(c, MHD_HTTP_MOVED_PERMANENTLY, response);
}

enum MHD_Result site_page(struct MHD_Connection *c, const char *path) {
  char whole[PATH_MAX];
  const size_t length = strlen(path);
  snprintf(whole, sizeof whole, "%s%s", path, length == 0 || path[length - 1] == '/' ? "index.html" : "");
  const int file = beneath_open(site_folder, whole);
  if (file < 0)
    return errno == EISDIR ? to_folder(c, whole) : not_there(c);
  const char *type = type_of(whole);
  return strncmp(type, "text/html", 9) == 0 ? send_page(c, MHD_HTTP_OK, file, type)
                                            : send_file(c, MHD_HTTP_OK, file, type);
}

// Debian's CodeMirror has links within its folder. Its files are anybody's, and only scripts and styles of it are served.
static int open_codemirror(const char *path) {
  char whole[PATH_MAX];
  const char *type = type_of(path), *name;
  if (strncmp(type, "text/javascript", 15) != 0 && strncmp(type, "text/css", 8) != 0)
    return -1;
  if (strcmp(path, "codemirror.js") == 0 || strcmp(path, "codemirror.css") == 0) {
    snprintf(whole, sizeof whole, "lib/%s", path);
    path = whole;
  }
  const int at = beneath_open_folder(CODEMIRROR, path, &name),
            file = at < 0 ? -1 : openat(at, name, O_RDONLY | O_CLOEXEC);
  if (at >= 0)
    close(at);
  return file;
}

enum MHD_Result site_front_end(struct MHD_Connection *c, const char *name) {
  char folder[PATH_MAX];
  in_root(folder, sizeof folder, "core/live/page");
  const bool codemirror = strncmp(name, "codemirror/", 11) == 0;
  const int file = codemirror ? open_codemirror(name + 11) : beneath_open(folder, name);
  return file >= 0 ? send_file(c, MHD_HTTP_OK, file, type_of(name))
                   : reply_error(c, MHD_HTTP_NOT_FOUND, "there is no such file");
}
