// SPDX-License-Identifier: MIT
// `ferry grade --gradescope FILE.zip` and `--classroom50 DIR`: Ferry's sources, the platform's scripts (docs/grading/), and grade.sh, a
// generated script that runs ./ferry grade with the options of the package.
#include "tool/grade_package.h"
#include "tool/commands.h"
#include "tool/compile/config.h"
#include "tool/compile/process.h"
#include "tool/print/shell.h"
#include "tool/zip.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), n = strlen(end);
  return length >= n && strcmp(text + length - n, end) == 0;
}

static bool is_gradescope(const Grading *g) {
  return g->gradescope && ends_with(g->gradescope, ".zip");
}

static bool is_classroom50(const Grading *g) {
  struct stat about;
  if (!g->classroom50 || ends_with(g->classroom50, ".json"))
    return false;
  return stat(g->classroom50, &about) == 0 ? S_ISDIR(about.st_mode) : strcmp(g->classroom50, "-") != 0;
}

bool package_is_wanted(const Grading *g) {
  return is_gradescope(g) || is_classroom50(g);
}

static void add_option(Text *t, const char *option, const char *value) {
  char word[4096];
  if (value)
    text_add(t, " %s %s", option, shell_word(value, word, sizeof word));
}

// All learners get the same inputs, in a regrade as well, so there is always a seed.
static void add_grade_script(Text *t, const PackageOptions *o) {
  unsigned char random[16];
  char seed[2 * sizeof random + 1] = "";
  if (!o->seed && getrandom(random, sizeof random, 0) == (ssize_t)sizeof random)
    for (size_t i = 0; i < sizeof random; i++)
      snprintf(seed + 2 * i, 3, "%02x", random[i]);
  text_add(t, "#!/bin/sh\n# How this package grades. Keep the seed from the learners.\n"
              "cd \"${FERRY_FOLDER:-$(dirname \"$0\")}/ferry\" || exit 3\nexec ./ferry grade");
  add_option(t, "--seed", o->seed ? o->seed : seed);
  add_option(t, "--only", o->only);
  add_option(t, "--limit", o->limit);
  add_option(t, "--sandbox", o->sandbox);
  text_add(t, " \"$@\"\n");
}

// Everything that `make ferry` needs, and nothing else that may be in the folder. An archive (malloc), or NULL after a message.
static char *pack_sources(const char *command, size_t *bytes) {
  char path[] = "/tmp/ferry-package-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) {
    fprintf(stderr, "ferry %s: no temporary file: %s\n", command, strerror(errno));
    return NULL;
  }
  close(file);
  Words tar = {0};
  words_split(
      &tar,
      "tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --exclude=docs/images --exclude=__pycache__ "
      "--exclude=plots/results --transform=s,^,ferry/,S -czf");
  words_add(&tar, path);
  static const char *const parts[] = {"Makefile", "LICENSE",   "README.md", ".ci",   "core",  "chapters",
                                      "docs",     "exercises", "solutions", "plots", "tests", "packs"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    char part[4096];
    in_root(part, sizeof part, "%s", parts[i]);
    if (access(part, F_OK) == 0)
      words_add(&tar, parts[i]);
  }
  const int status = run_tool(tar.items, root_folder(), NULL, NULL, NULL);
  char *archive = status == 0 ? file_read(path, bytes) : NULL;
  unlink(path);
  if (!archive)
    fprintf(stderr, "ferry %s: tar, which packs Ferry's sources, ended with status %d\n", command, status);
  return archive;
}

typedef struct Package {
  const char *command, *path;
  Zip zip; // of Gradescope's
  bool zipped;
} Package;

static bool put(Package *p, const char *name, const char *text, size_t bytes, bool executable) {
  if (p->zipped) {
    zip_add(&p->zip, name, text, bytes, executable);
    return true;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", p->path, name);
  if (file_write(path, text, bytes) && chmod(path, executable ? 0755 : 0644) == 0)
    return true;
  fprintf(stderr, "ferry %s: %s cannot be written: %s\n", p->command, path, file_problem());
  return false;
}

static bool put_script(Package *p, const char *name) {
  char path[4096];
  size_t bytes;
  in_root(path, sizeof path, "docs/grading/%s/%s", p->zipped ? "gradescope" : "classroom50", name);
  char *text = file_read(path, &bytes);
  if (!text)
    fprintf(stderr, "ferry %s: %s cannot be read: %s\n", p->command, path, strerror(errno));
  const bool done = text && put(p, name, text, bytes, true);
  free(text);
  return done;
}

static bool put_all(Package *p, const PackageOptions *o) {
  size_t bytes;
  char *sources = pack_sources(p->command, &bytes);
  Text script = {0};
  add_grade_script(&script, o);
  bool done = sources && put(p, "ferry.tar.gz", sources, bytes, false) &&
              put(p, "grade.sh", script.at, script.used, true) && put_script(p, "setup.sh") &&
              put_script(p, p->zipped ? "run_autograder" : "autograder.py");
  if (done && p->zipped) {
    zip_end(&p->zip);
    done = file_write(p->path, (const char *)p->zip.at, p->zip.used);
    if (!done)
      fprintf(stderr, "ferry %s: %s cannot be written: %s\n", p->command, p->path, file_problem());
  }
  free(sources);
  text_free(&script);
  zip_free(&p->zip);
  return done;
}

int grade_package(const Grading *g, const PackageOptions *o, const char *command) {
  Package p = {.command = command, .zipped = is_gradescope(g)};
  p.path = p.zipped ? g->gradescope : g->classroom50;
  if (!p.zipped && mkdir(p.path, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "ferry %s: the folder %s cannot be made: %s\n", command, p.path, strerror(errno));
    return EXIT_GRADER;
  }
  if (!put_all(&p, o))
    return EXIT_GRADER;
  printf(p.zipped ? "%s: upload it to Gradescope as the autograder of a programming assignment.\n"
                  : "%s: copy its files to CLASSROOM/autograders/ASSIGNMENT/ in the classroom50 repository.\n",
         p.path);
  printf("Learners hand in files of these names: 20_1_saxpy.cu, ... See docs/instructors.md.\n");
  return EXIT_PASS;
}
