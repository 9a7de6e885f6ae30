// SPDX-License-Identifier: MIT
// `ferry confined`: a listing that somebody has typed, run, inspected or stepped through by a ./ferry that is shut in like an answer. From
// the compiler on, all that the listing can influence is in there; a compiler's #include, too, reads no more than an answer's.
#include "tool/commands.h"
#include "grader/sandbox.h"
#include "grader/tools_root.h"
#include "tool/compile/config.h"
#include "tool/print/plain.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTING_LIMIT = 256 << 10, MOST_WORDS = 80 };
static const size_t MIB = 1 << 20;

typedef struct Listing {
  const char *what, *language, *sandbox; // run, inspect or step; c or cu
  char folder[256], source[300], result[300];
  const char *words[MOST_WORDS + 1]; // the command line
  int count;
} Listing;

static void word(Listing *l, const char *text) {
  if (l->count == MOST_WORDS)
    fatal_error("the command line is too long");
  l->words[l->count++] = text;
}

// confined run|inspect|step c|cu [--sandbox LEVEL] [options of step] [-- ARGS]
static int parse(int argc, char **argv, Listing *l, char ***rest, int *rest_count) {
  if (argc < 3)
    return usage_error(argv[0], "confined run|inspect|step c|cu [--sandbox LEVEL] [options] [-- ARGS] < LISTING");
  l->what = argv[1];
  l->language = argv[2];
  const bool cuda = strcmp(l->language, "cu") == 0, run = strcmp(l->what, "run") == 0;
  if (!run && strcmp(l->what, "inspect") != 0 && strcmp(l->what, "step") != 0)
    return usage_error(argv[0], "it can run, inspect and step, not %s", l->what);
  if (!cuda && (strcmp(l->language, "c") != 0 || !run))
    return usage_error(argv[0], "a listing in C can be run; kernels to inspect and to step through are in CUDA");
  if (argc > 4 && strcmp(argv[3], "--sandbox") == 0) {
    l->sandbox = argv[4];
    argc -= 2;
    argv += 2;
  }
  *rest = argv + 3;
  *rest_count = argc - 3;
  return EXIT_PASS;
}

// ---- the listing -------------------------------------------------------------------------------------------------------------

static bool write_file(const char *path, const char *text, size_t bytes) {
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  const bool written = file >= 0 && fchmod(file, 0644) == 0 && write(file, text, bytes) == (ssize_t)bytes;
  if (file >= 0)
    close(file);
  return written;
}

// What the programs of the lessons include by its name lies beside the listing.
static bool copy_headers(const Listing *l) {
  static const char *const patterns[] = {CONFIG_ROOT "/chapters/*.h", CONFIG_ROOT "/chapters/*.cuh"};
  bool copied = true;
  for (int i = 0; i < 2; i++) {
    glob_t found = {0};
    glob(rooted(patterns[i]), 0, NULL, &found);
    for (size_t j = 0; j < found.gl_pathc; j++) {
      char to[600];
      size_t bytes;
      char *text = file_read(found.gl_pathv[j], &bytes);
      snprintf(to, sizeof to, "%s%s", l->folder, strrchr(found.gl_pathv[j], '/'));
      copied &= text && write_file(to, text, bytes);
      free(text);
    }
    globfree(&found);
  }
  return copied;
}

static int take_source(Listing *l) {
  static char text[LISTING_LIMIT + 1];
  size_t used = 0;
  for (ssize_t n; used < sizeof text && (n = read(STDIN_FILENO, text + used, sizeof text - used)) > 0;)
    used += (size_t)n;
  if (used > LISTING_LIMIT)
    return usage_error("confined", "the listing is longer than 256 KiB");
  if (!sandbox_folder(l->folder, sizeof l->folder)) {
    l->folder[0] = '\0';
    fprintf(stderr, "ferry confined: a temporary folder cannot be created in $TMPDIR or /tmp: %s\n", strerror(errno));
    return EXIT_GRADER;
  }
  snprintf(l->source, sizeof l->source, "%s/listing.%s", l->folder, l->language);
  snprintf(l->result, sizeof l->result, "%s/result", l->folder);
  if (write_file(l->source, text, used) && (!strstr(text, "#include \"") || copy_headers(l)))
    return EXIT_PASS;
  fprintf(stderr, "ferry confined: the listing cannot be written: %s\n", strerror(errno));
  return EXIT_GRADER;
}

static bool has_result(const Listing *l) {
  return strcmp(l->what, "run") != 0;
}

static void make_command(Listing *l, char **rest, int count) {
  const bool cuda = strcmp(l->language, "cu") == 0;
  word(l, rooted(CONFIG_OBJECTS "/ferry"));
  word(l, has_result(l) ? l->what : cuda ? "cuda" : "play");
  word(l, cuda ? "listing.cu" : "listing.c");
  if (has_result(l)) {
    word(l, "--json");
    word(l, "result");
  }
  if (strcmp(l->what, "inspect") == 0)
    word(l, "--no-registers");
  for (int i = 0; i < count; i++)
    word(l, rest[i]);
}

// ---- the run ------------------------------------------------------------------------------------------------------------------

// What it prints is shown as it comes, in whole characters.
typedef struct Shown {
  FILE *to;
  char tail[4];
  size_t tail_used;
} Shown;

static void show(void *listener, const char *bytes, size_t count) {
  Shown *s = listener;
  char *text = malloc(s->tail_used + count + 1);
  if (!text)
    return;
  memcpy(text, s->tail, s->tail_used);
  memcpy(text + s->tail_used, bytes, count);
  const size_t all = s->tail_used + count, used = count > 0 ? utf8_whole(text, all) : all;
  s->tail_used = all - used;
  memcpy(s->tail, text + used, s->tail_used);
  char *plain = plain_text(text, used);
  fputs(plain ? plain : "", s->to);
  fflush(s->to);
  free(plain);
  free(text);
}

static void set_readable(SandboxJob *job) {
  static const char *const others[] = {CONFIG_OBJECTS "/ferry", CONFIG_OBJECTS "/libcudasim.a",
                                       CONFIG_OBJECTS "/libchapters.a", CONFIG_ROOT "/build/sim/core"};
  int used = 0;
  for (int i = 0; tools_seen(i); i++)
    job->readable[used++] = tools_seen(i);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (access(rooted(others[i]), F_OK) == 0)
      job->readable[used++] = rooted(others[i]);
}

// A variable of the environment, or its default, as the sandbox wants it.
static const char *setting(char *text, size_t bytes, const char *name, const char *otherwise) {
  const char *value = getenv(name);
  snprintf(text, bytes, "%s=%s", name, value && *value ? value : otherwise);
  return text;
}

// A minute, or as the server's jobs have it.
static double listing_seconds(void) {
  const char *wanted = getenv("FERRY_LIVE_SECONDS");
  const double seconds = wanted ? strtod(wanted, NULL) : 0;
  return seconds >= 1 && seconds <= 3600 ? seconds : 60;
}

static SandboxResult run(Listing *l, Shown *shown) {
  char temporary[300], home[300], devices[64], gpu[64];
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", l->folder);
  snprintf(home, sizeof home, "HOME=%s", l->folder);
  const char *environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                               "LC_ALL=C.UTF-8",
                               "CCACHE_DISABLE=1",
                               "NO_COLOR=1",
                               "OMP_NUM_THREADS=2",
                               "OMP_WAIT_POLICY=passive",
                               "FERRY_CUDA=sim",
                               temporary,
                               home,
                               setting(devices, sizeof devices, "FERRY_SIM_DEVICES", "2"),
                               getenv("FERRY_SIM_GPU") ? setting(gpu, sizeof gpu, "FERRY_SIM_GPU", "") : NULL,
                               NULL};
  SandboxJob job = {.argv = l->words,
                    .environment = environment,
                    .folder = l->folder,
                    .seconds = listing_seconds(),
                    .memory = 2048 * MIB,
                    .file_bytes = 128 * MIB,
                    .folder_bytes = 512 * MIB,
                    .output_bytes = MIB,
                    .lines = 25,
                    .heard = show,
                    .listener = shown};
  set_readable(&job);
  return sandbox_run(&job);
}

static int status_of(const SandboxResult *r) {
  static const char *const ends[] = {[SANDBOX_TIMEOUT] = "the run exceeded its time limit",
                                     [SANDBOX_MEMORY] = "the run exceeded its memory limit",
                                     [SANDBOX_OUTPUT] = "the run printed too much",
                                     [SANDBOX_FILES] = "the run wrote too much",
                                     [SANDBOX_NOT_STARTED] = "the run could not be started"};
  if (r->end == SANDBOX_EXITED)
    return r->status;
  if (r->end == SANDBOX_SIGNALED)
    fprintf(stderr, "ferry: the run was ended by signal %d (%s)\n", r->signal, strsignal(r->signal));
  else
    fprintf(stderr, "ferry: %s%s%s\n", ends[r->end], r->end == SANDBOX_NOT_STARTED ? ": " : "",
            r->end == SANDBOX_NOT_STARTED && r->output ? r->output : "");
  return r->end == SANDBOX_SIGNALED ? 128 + r->signal : EXIT_GRADER;
}

// The listing may have put anything in its place, and may no longer change what is copied.
static void copy_result(const Listing *l) {
  size_t bytes;
  char *text = sandbox_take(l->folder, "result") ? file_read(l->result, &bytes) : NULL;
  if (text && !file_write("-", text, bytes))
    fprintf(stderr, "ferry confined: the result cannot be written: %s\n", file_problem());
  free(text);
}

static bool is_copied(void) {
  char path[4096];
  tools_path(path, sizeof path, CONFIG_ROOT "/core");
  return strcmp(path, rooted(CONFIG_ROOT "/core")) != 0;
}

static int run_listing(Listing *l, char **rest, int count) {
  Shown shown = {.to = has_result(l) ? stderr : stdout};
  make_command(l, rest, count);
  if (has_result(l))
    file_claim_stdout("-");
  SandboxResult r = run(l, &shown);
  show(&shown, "", 0);
  const int status = status_of(&r);
  if (has_result(l) && r.end == SANDBOX_EXITED)
    copy_result(l);
  sandbox_result_free(&r);
  return status;
}

int cmd_confined(int argc, char **argv) {
  Listing l = {0};
  char **rest = argv;
  int rest_count = 0, status = parse(argc, argv, &l, &rest, &rest_count);
  if (status == EXIT_PASS)
    status = begin_sandbox(argv[0], l.sandbox);
  if (status >= 0)
    return status;
  if (is_copied()) {
    fprintf(
        stderr,
        "ferry confined: root's listings run as another user, who cannot read %s; make it readable (chmod -R go+rX)\n",
        root_folder());
    return EXIT_GRADER;
  }
  status = take_source(&l);
  if (status == EXIT_PASS)
    status = run_listing(&l, rest, rest_count);
  if (l.folder[0])
    sandbox_folder_remove(l.folder);
  return status;
}
