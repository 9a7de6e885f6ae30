// `ferry inspect` of an answer to an exercise, which may be anybody's: built by the tools that build answers to judge them, and run by the
// exercise's tests, all of it in the sandbox. What a run records comes back as a file in its folder, also where the answer crashed.
#include "answer_tools.h"
#include "case.h"
#include "tool/compile/config.h"
#include "inspect/report/inspection.h"
#include "sim/compile/kernel_flags.h"
#include "tools_root.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUN_SECONDS = 600, MOST_SETTINGS = 48, SETTING_BYTES = 512, MOST_RECORDED = 64 << 20 };
static const size_t MEMORY = (size_t)8 << 30;

bool inspect_answer_build(InspectBuild *b, const InspectOptions *o) {
  char source[PATH_MAX];
  Answer *a = b->answer = calloc(1, sizeof *a);
  if (!a || !realpath(o->file, source)) {
    fprintf(stderr, "ferry inspect: %s cannot be read: %s\n", o->file, strerror(errno));
    return false;
  }
  answer_build_inspected(a, o->exercise, source, o->blocks || o->kernel || o->exercise->open);
  if (a->status == STATUS_NOT_RUN && answer_find_mix(a)) {
    snprintf(b->source, sizeof b->source, "%s", a->source);
    snprintf(b->program, sizeof b->program, "%s", a->program);
    return sandbox_folder_own(b->folder, sizeof b->folder);
  }
  fprintf(stderr, "ferry inspect: the answer could not be built: %s\n%s", status_name(a->status),
          a->diagnostics ? a->diagnostics : "");
  return false;
}

void inspect_answer_clean(InspectBuild *b) {
  answer_free(b->answer);
  free(b->answer);
  b->answer = NULL;
  if (b->folder[0])
    sandbox_folder_remove(b->folder);
  b->folder[0] = '\0';
}

// ---- running -------------------------------------------------------------------------------------------------------------

typedef struct Settings {
  char text[MOST_SETTINGS][SETTING_BYTES];
  const char *list[MOST_SETTINGS + 1];
  int count;
} Settings;

static void add(Settings *s, const char *name, const char *value) {
  if (!value || s->count == MOST_SETTINGS)
    return;
  snprintf(s->text[s->count], SETTING_BYTES, "%s=%s", name, value);
  s->list[s->count] = s->text[s->count];
  s->count++;
}

// What the user has set for the simulator holds here too.
static void add_users(Settings *s) {
  extern char **environ;
  for (char **one = environ; *one; one++) {
    char name[64];
    const size_t length = strcspn(*one, "=");
    if (strncmp(*one, "FERRY_SIM_", 10) != 0 || length >= sizeof name || (*one)[length] != '=')
      continue;
    snprintf(name, sizeof name, "%.*s", (int)length, *one);
    if (strcmp(name, "FERRY_SIM_MEMORY_MB") != 0 && strcmp(name, "FERRY_SIM_ORDER") != 0 &&
        strcmp(name, "FERRY_SIM_GPU") != 0)
      add(s, name, *one + length + 1);
  }
}

static void set_all(Settings *s, const InspectBuild *b, const InspectOptions *o, bool descending, const char *folder) {
  char record[300];
  const char *gpu = o->gpu ? o->gpu : getenv("FERRY_SIM_GPU");
  snprintf(record, sizeof record, "%s/record", folder);
  memset(s, 0, sizeof *s);
  add(s, "PATH", "/usr/bin:/bin");
  add(s, "LC_ALL", "C.UTF-8");
  add(s, "TMPDIR", folder);
  add(s, "HOME", folder);
  add(s, "FERRY_CUDA", "sim");
  add(s, "FERRY_SIM_MEMORY_MB", KERNELS_MEMORY_MB);
  add_users(s);
  add(s, "FERRY_SIM_GPU", gpu);
  add(s, "FERRY_SIM_ORDER", descending ? "descending" : "ascending");
  add(s, "FERRY_INSPECT_RECORD", record);
  add(s, "FERRY_INSPECT_KERNEL", o->kernel);
  add(s, "FERRY_INSPECT_BLOCKS", o->blocks);
  add(s, "FERRY_INSPECT_COUNTS", descending && !gpu ? "0" : NULL); // what is counted is taken from the other run
  add(s, "FERRY_INSPECT_MIX", b->answer->mix[0] ? b->answer->mix : NULL);
}

// What the exercise's driver is asked; what it answers is not looked at. malloc.
static uint8_t *request_of(const Exercise *e, const char *test, size_t *bytes) {
  static Case c; // large
  uint8_t *request = NULL;
  for (int i = 0; i < MAX_TESTS && e->tests[i].name; i++)
    if (strcmp(e->tests[i].name, test) == 0) {
      case_begin(&c, e, &e->tests[i], hash_text(1, test), 1);
      case_ask(&c);
      request = message_pack(&c.request, bytes);
      case_free(&c);
    }
  return request;
}

static SandboxResult run(const InspectBuild *b, const InspectOptions *o, bool descending, const char *test,
                         const char *folder) {
  static Settings settings; // large
  char bundle[512];
  size_t bytes = 0;
  uint8_t *request = request_of(o->exercise, test, &bytes);
  const char *argv[] = {b->program, NULL};
  set_all(&settings, b, o, descending, folder);
  tools_path(bundle, sizeof bundle, CONFIG_ROOT "/build/bundle");
  SandboxJob job = {.argv = argv,
                    .environment = settings.list,
                    .folder = folder,
                    .readable = {b->program, bundle, b->answer->mix[0] ? b->answer->mix : NULL},
                    .request = request,
                    .request_bytes = bytes,
                    .seconds = RUN_SECONDS,
                    .memory = MEMORY,
                    .file_bytes = MOST_RECORDED,
                    .folder_bytes = 2 * (size_t)MOST_RECORDED,
                    .output_bytes = 1 << 20,
                    .lines = 25};
  SandboxResult r = sandbox_run(&job);
  free(request);
  return r;
}

// The answer may have put anything there.
static FILE *open_record(const char *folder) {
  char path[300];
  struct stat about;
  snprintf(path, sizeof path, "%s/record", folder);
  const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool plain = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1;
  FILE *record = plain ? fdopen(file, "r") : NULL;
  if (!record && file >= 0)
    close(file);
  return record;
}

static bool take_record(Inspection *i, Answer *a, FILE *record, bool descending) {
  places_forget();
  const bool good = inspection_want(record) && answer_find_places(a, i);
  if (good)
    inspection_take(i, record, descending);
  return good;
}

static void say_no_record(const SandboxResult *r, const char *test) {
  static const char *const ends[] = {"it ended without one",    "it was killed",       "it did not end in time",
                                     "it took too much memory", "it printed too much", "it wrote too much",
                                     "it could not be started"};
  fprintf(stderr, "ferry inspect: the answer left no record in the test \"%s\": %s\n%s", test, ends[r->end],
          r->output ? r->output : "");
}

bool inspect_answer_run(Inspection *i, InspectBuild *b, const InspectOptions *o, bool descending, const char *test) {
  char folder[256];
  if (!sandbox_folder(folder, sizeof folder)) {
    fprintf(stderr, "ferry inspect: no temporary folder could be made: %s\n", strerror(errno));
    return false;
  }
  SandboxResult r = run(b, o, descending, test, folder);
  FILE *record = open_record(folder);
  const bool added = record && take_record(i, b->answer, record, descending);
  if (!added)
    say_no_record(&r, test);
  if (record)
    fclose(record);
  sandbox_result_free(&r);
  sandbox_folder_remove(folder);
  return added;
}

// ---- registers -------------------------------------------------------------------------------------------------------------

bool inspect_answer_registers(const InspectBuild *b, const char *said) {
  Command c = {0};
  Answer tool = {.exercise = b->answer->exercise};
  char header[512], *text = NULL;
  if (!sandbox_folder(tool.folder, sizeof tool.folder))
    return false;
  snprintf(header, sizeof header, CONFIG_ROOT "/tests/hidden/%s/answer.h", tool.exercise->id);
  command_program(&c, CONFIG_NVCC);
  command_words(&c,
                "-std=c++17 -O2 -w -arch=sm_90 -Xptxas -v -cubin -o registers.cubin -I" CONFIG_ROOT "/core -include");
  command_word(&c, "%s", header);
  command_word(&c, "%s", b->answer->source);
  bool good = answer_run_tool(&tool, &c, (const char *[2]){header, b->answer->folder}, NVCC_SECONDS, &text);
  FILE *file = good ? fopen(said, "wxe") : NULL;
  good = file && fputs(text, file) >= 0;
  good = file && fclose(file) == 0 && good;
  free(text);
  free(tool.diagnostics);
  sandbox_folder_remove(tool.folder);
  return good;
}
