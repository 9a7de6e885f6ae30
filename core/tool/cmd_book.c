// SPDX-License-Identifier: MIT
// `ferry book`: opens the lessons, the exercises or a function's page in a browser, as files or (--live) from a server.
#include "tool/commands.h"
#include "tool/compile/config.h"
#include "tool/compile/process.h"
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE "build/book/site/"

// The one page that matches, relative to the site; false where there is none.
static bool page_like(char *page, size_t bytes, const char *pattern, const char *what) {
  char path[1024], base[1024];
  glob_t found;
  in_root(base, sizeof base, SITE);
  snprintf(path, sizeof path, "%s", base);
  const size_t length = strlen(path);
  snprintf(path + length, sizeof path - length, pattern, what);
  const bool there = glob(path, 0, NULL, &found) == 0 && found.gl_pathc > 0;
  if (there)
    snprintf(page, bytes, "%s", found.gl_pathv[0] + length);
  globfree(&found);
  return there;
}

// Where names.json, which the book's making leaves beside it, says that a public name is explained: "fy_to": "api/op_ops.md#fy_to".
static bool page_of_name(char *page, size_t bytes, const char *name) {
  char path[1024], key[256];
  in_root(path, sizeof path, "build/book/names.json");
  size_t length;
  char *text = file_read(path, &length);
  snprintf(key, sizeof key, "\"%s\": \"", name);
  const char *at = text ? strstr(text, key) : NULL;
  if (at) {
    at += strlen(key);
    const char *end = strchr(at, '"'), *dot = strstr(at, ".md#");
    if (end && dot && dot < end)
      snprintf(page, bytes, "%.*s.html%.*s", (int)(dot - at), at, (int)(end - dot - 3), dot + 3);
    else
      at = NULL;
  }
  free(text);
  return at != NULL;
}

static bool find_page(char *page, size_t bytes, const char *what) {
  char number[8];
  if (isdigit((unsigned char)what[0])) {
    snprintf(number, sizeof number, "%02d", atoi(what));
    if (!strchr(what, '.') && page_like(page, bytes, "%s_*.html", number))
      return true;
    const Exercise *e = exercise_find(what);
    if (!e)
      e = exercise_by_old_number(what);
    return e && page_like(page, bytes, "exercise/%s.html", e->id);
  }
  return page_of_name(page, bytes, what) || page_like(page, bytes, "%s.html", what) ||
         page_like(page, bytes, "*_%s.html", what);
}

// The server is a program of its own, which is there where libmicrohttpd is.
static int serve(char **options) {
  const char *server = rooted(CONFIG_OBJECTS "/ferry-live");
  options[0] = (char *)(uintptr_t)server;
  execv(server, options);
  fprintf(stderr,
          "ferry book: the server has not been built: %s\n"
          "Install libmicrohttpd (sudo apt-get install libmicrohttpd-dev), then run make.\n",
          strerror(errno));
  return EXIT_GRADER;
}

typedef struct BookOptions {
  const char *page;    // NULL: the first
  char *to_server[10]; // its command line
  int count;
  bool live;
} BookOptions;

static int parse(int argc, char **argv, BookOptions *o) {
  o->count = 1;
  for (int i = 1; i < argc; i++) {
    const bool has_value = strcmp(argv[i], "--port") == 0 || strcmp(argv[i], "--bind") == 0;
    if (strcmp(argv[i], "--live") == 0) {
      o->live = true;
    } else if (has_value || strcmp(argv[i], "--no-open") == 0) {
      if (has_value && i + 1 == argc)
        return usage_error(argv[0], "%s needs a value", argv[i]);
      if (o->count > 6)
        return usage_error(argv[0], "each option once");
      o->to_server[o->count++] = argv[i];
      if (has_value)
        o->to_server[o->count++] = argv[++i];
    } else if (argv[i][0] == '-') {
      return no_option(argv[0], argv[i]);
    } else if (o->page) {
      return usage_error(argv[0], "one page at a time: ./ferry book 3, ./ferry book 26.2, ./ferry book fy_to");
    } else {
      o->page = argv[i];
    }
  }
  return o->count == 1 || o->live ? EXIT_PASS : usage_error(argv[0], "%s goes with --live", o->to_server[1]);
}

int cmd_book(int argc, char **argv) {
  char index[1024], page[512] = "index.html", url[2048];
  BookOptions o = {0};
  const int status = parse(argc, argv, &o);
  if (status != EXIT_PASS)
    return status;
  in_root(index, sizeof index, SITE "index.html");
  if (access(index, R_OK) != 0) {
    fprintf(stderr,
            "ferry book: the book has not been built yet; run make book (once; needs python3-venv and access to PyPI)\n"
            "Until then the lessons are in docs/: ./ferry chapter 1 --read\n");
    return EXIT_GRADER;
  }
  if (o.page && !find_page(page, sizeof page, o.page))
    return usage_error(
        argv[0], "there is no page for %s; give the number of a lesson or exercise, a function, or the name of a page",
        o.page);
  if (o.live) {
    o.to_server[o.count] = page;
    return serve(o.to_server);
  }
  snprintf(url, sizeof url, "file://");
  in_root(url + strlen(url), sizeof url - strlen(url), SITE "%s", page);
  const char *browser = getenv("BROWSER");
  printf("%s\n", url);
  fflush(stdout);
  if (browser && *browser) {
    run_instead(browser, url);
  } else if (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")) {
    execlp("xdg-open", "xdg-open", url + strlen("file://"), (char *)NULL);
  }
  return EXIT_PASS; // no browser to be had: the address is what there is to give
}
