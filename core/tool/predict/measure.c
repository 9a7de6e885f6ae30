// SPDX-License-Identifier: MIT
// The true number of a question. No number is written down anywhere: a command of ./ferry prints it. work/.measured keeps it, a line for
// each question with a hash of what it was measured with, so that it is measured again when the program or ./ferry changes.
#include "tool/predict/predict.h"
#include "base/fnv.h"
#include "grader/sandbox.h"
#include "tool/commands.h"
#include "tool/compile/process.h"
#include "tool/compile/root.h"
#include "tool/print/shell.h"
#include "tool/print/text.h"
#include <ctype.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEASURED ".measured"
#define QUICK "--once --no-registers --no-proof" // what no number depends on

static bool is_inspection(const Question *q) {
  return strncmp(q->command, "inspect ", 8) == 0;
}

void question_command(const Question *q, char *command, size_t bytes) {
  char copy[512], quoted[512], *rest = copy;
  snprintf(copy, sizeof copy, "%s", q->command);
  snprintf(command, bytes, "%s%s%s./ferry", q->gpu ? "FERRY_SIM_GPU=" : "", q->gpu ? q->gpu : "", q->gpu ? " " : "");
  for (const char *word; (word = strsep(&rest, " "));) {
    const size_t used = strlen(command);
    snprintf(command + used, bytes - used, " %s", shell_word(word, quoted, sizeof quoted));
  }
}

// ---- what it is measured with ------------------------------------------------------------------------------------------------

// The source of the program: the file of an inspection, or the lesson's.
static bool source_of(const Question *q, char *path, size_t bytes) {
  if (is_inspection(q)) {
    const char *file = q->command + 8;
    in_root(path, bytes, "%.*s", (int)strcspn(file, " "), file);
    return access(path, R_OK) == 0;
  }
  glob_t found;
  char pattern[4096];
  in_root(pattern, sizeof pattern, "chapters/%02d_*.c*", question_lesson(q));
  const bool there = glob(pattern, 0, NULL, &found) == 0;
  if (there)
    snprintf(path, bytes, "%s", found.gl_pathv[0]);
  globfree(&found);
  return there;
}

static uint64_t hash_string(uint64_t before, const char *text) {
  return fy_fnv(before, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t hash_pick(uint64_t key, const Pick *p) {
  key = hash_string(hash_string(hash_string(hash_string(key, p->row), p->also), p->source), p->after);
  return fy_fnv(key, &p->nth, sizeof p->nth);
}

static uint64_t key_of(const Question *q, const char *source) {
  struct stat program = {0};
  uint64_t key = hash_string(hash_string(hash_string(FY_FNV_BEGIN, q->command), q->gpu), source);
  key = hash_pick(hash_pick(key, &q->of), &q->by);
  key = fy_fnv(key, &q->times, sizeof q->times);
  if (stat("/proc/self/exe", &program) == 0)
    key = fy_fnv(fy_fnv(key, &program.st_size, sizeof program.st_size), &program.st_mtim, sizeof program.st_mtim);
  return key;
}

// ---- work/.measured ----------------------------------------------------------------------------------------------------------

static bool recall(const Question *q, uint64_t key, double *truth) {
  bool damaged, found = false;
  char *text = work_read(MEASURED, &damaged), id[16];
  uint64_t its;
  for (const char *line = text; line && *line && !found;) {
    found = sscanf(line, "%15s %" SCNx64 " %lf", id, &its, truth) == 3 && strcmp(id, q->id) == 0 && its == key;
    line = strchr(line, '\n');
    line = line ? line + 1 : NULL;
  }
  free(text);
  return found;
}

// A cache: where it is damaged or cannot be written, the number is measured again.
static void keep(const Question *q, uint64_t key, double truth) {
  bool damaged;
  char path[4096], id[16];
  const int lock = work_lock();
  char *old = work_read(MEASURED, &damaged);
  Text text = {0};
  for (const char *line = damaged ? NULL : old; line && *line; line = strchr(line, '\n') + 1)
    if (sscanf(line, "%15s", id) == 1 && question_named(id) && strcmp(id, q->id) != 0)
      text_add(&text, "%.*s\n", (int)strcspn(line, "\n"), line);
  text_add(&text, "%s %016" PRIx64 " %.17g\n", q->id, key, truth);
  work_path(path, sizeof path, MEASURED);
  if (work_exists())
    file_write(path, text.at, text.used);
  work_unlock(lock);
  text_free(&text);
  free(old);
}

// ---- the number in the output ----------------------------------------------------------------------------------------------------

// Runs of blanks as one, in place: columns of a table are as wide as their widest number.
static void squeeze(char *text) {
  char *to = text;
  for (const char *at = text; *at; at++)
    if (*at != ' ' || at[1] != ' ')
      *to++ = *at;
  *to = '\0';
}

// `"line": 20,` for the line of the source that begins, after blanks, with `begin`. False: there is none.
static bool line_text(const char *source, const char *begin, char *text, size_t bytes) {
  int number = 1;
  for (const char *line = source; line && *line; number++) {
    if (strncmp(line + strspn(line, " "), begin, strlen(begin)) == 0) {
      snprintf(text, bytes, "\"line\": %d,", number);
      return true;
    }
    line = strchr(line, '\n');
    line = line ? line + 1 : NULL;
  }
  return false;
}

static bool number_after(const char *at, int nth, double *number) {
  for (; *at; at++) {
    if (!isdigit((unsigned char)*at))
      continue;
    char *end;
    *number = strtod(at, &end);
    if (nth-- == 0)
      return true;
    at = end - 1;
  }
  return false;
}

static bool pick(char *output, const char *source, const Pick *p, double *number) {
  char wanted[64] = "", *rest = output;
  if (p->source && !line_text(source, p->source, wanted, sizeof wanted))
    return false;
  bool found = false;
  for (char *line; !found && (line = strsep(&rest, "\n"));) {
    const char *row = strstr(line, p->row), *after = row && p->after ? strstr(line, p->after) : row;
    if (after && strstr(line, wanted) && (!p->also || strstr(line, p->also)))
      found = number_after(after + strlen(p->after ? p->after : p->row), p->nth, number);
  }
  return found;
}

static bool read_number(const Question *q, const char *output, const char *source, double *truth) {
  char *once = strdup(output), *again = strdup(output);
  double of = 0, by = 1;
  bool found = once && again;
  if (found) {
    squeeze(once);
    squeeze(again);
    found = pick(once, source, &q->of, &of) && (!q->by.row || (pick(again, source, &q->by, &by) && by != 0));
  }
  free(once);
  free(again);
  *truth = of / by * (q->times != 0 ? q->times : 1);
  return found;
}

// ---- the run -----------------------------------------------------------------------------------------------------------------------

// On simulated devices, always alike.
static void set_environment(const Question *q) {
  static const char *const others[] = {"FERRY_SIM_MODE", "FERRY_SIM_ORDER", "FERRY_SIM_COUNT", "FERRY_SIM_GPU"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    unsetenv(others[i]);
  setenv("FERRY_CUDA", "sim", 1);
  setenv("FERRY_SIM_DEVICES", "2", 1);
  if (q->gpu)
    setenv("FERRY_SIM_GPU", q->gpu, 1);
}

static bool run(const Question *q, char **output) {
  char folder[4096], out[4200], err[4200], self[4096] = "", command[1024];
  Words words = {0};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !sandbox_folder_own(folder, sizeof folder)) {
    fprintf(stderr, "ferry predict: a temporary folder cannot be created in $TMPDIR or /tmp\n");
    return false;
  }
  snprintf(out, sizeof out, "%s/out", folder);
  snprintf(err, sizeof err, "%s/err", folder);
  words_add(&words, self);
  words_split(&words, q->command);
  if (is_inspection(q))
    words_split(&words, strstr(q->command, "--table") ? QUICK : QUICK " --quiet --json -");
  set_environment(q);
  const int status = run_tool(words.items, root_folder(), NULL, out, err);
  *output = file_read(out, NULL);
  char *said = file_read(err, NULL);
  const bool good = *output && (status == EXIT_PASS || (is_inspection(q) && status == EXIT_ANSWER));
  question_command(q, command, sizeof command);
  if (!good)
    fprintf(stderr, "ferry predict: the measurement failed: %s ended with status %d.\n%.400s", command, status,
            said ? said : "");
  free(said);
  sandbox_folder_remove(folder);
  return good;
}

// The numbers of all questions with the same command.
static void keep_all(const Question *of, const char *output, const char *source) {
  double truth;
  for (const Question *q = questions; q->id; q++) {
    const bool same =
        strcmp(q->command, of->command) == 0 && !q->gpu == !of->gpu && (!q->gpu || strcmp(q->gpu, of->gpu) == 0);
    if (same && read_number(q, output, source, &truth))
      keep(q, key_of(q, source), truth);
  }
}

bool question_can_be_measured(const Question *q) {
  char path[4096], command[1024];
  if (source_of(q, path, sizeof path) && access(path, R_OK) == 0)
    return true;
  question_command(q, command, sizeof command);
  fprintf(stderr,
          "ferry predict: the program that %s runs is not here. An installed Ferry has no programs of lessons: use a "
          "clone.\n",
          command);
  return false;
}

bool question_measure(const Question *q, double *truth) {
  char path[4096], command[1024], *output = NULL;
  char *source = question_can_be_measured(q) && source_of(q, path, sizeof path) ? file_read(path, NULL) : NULL;
  if (!source)
    return false;
  question_command(q, command, sizeof command);
  const uint64_t key = key_of(q, source);
  bool good = recall(q, key, truth);
  if (!good) {
    good = run(q, &output);
    if (good && !read_number(q, output, source, truth)) {
      fprintf(stderr, "ferry predict: the number of question %s is not in the output of %s. Run make again.\n", q->id,
              command);
      good = false;
    }
    if (good)
      keep_all(q, output, source);
  }
  free(output);
  free(source);
  return good;
}
