// SPDX-License-Identifier: MIT
// Files that appear whole or not at all, whoever else writes them, and whatever lies in the way.
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include "base/atomic_file.h"
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ferry-atomic-XXXXXX";
static char path[64];

static int set_up(void **state) {
  (void)state;
  snprintf(path, sizeof path, "%s/file", mkdtemp(folder));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static const char *content(const char *of) {
  static char text[64];
  FILE *file = fopen(of, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static int files(void) {
  char command[128], line[16] = "";
  snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
  FILE *pipe = popen(command, "r");
  assert_non_null(fgets(line, sizeof line, pipe));
  pclose(pipe);
  return atoi(line);
}

static void save(const char *text) {
  fy_scope {
    FyAtomicFile *file = fy_atomic_file_open(path);
    fy_atomic_file_write(file, text, strlen(text));
    fy_atomic_file_commit(file);
  }
}

static void a_file_appears_at_commit(void **state) {
  (void)state;
  save("old");
  fy_scope {
    FyAtomicFile *file = fy_atomic_file_open(path);
    fy_atomic_file_write(file, "new", 3);
    assert_string_equal(content(path), "old");
    fy_atomic_file_commit(file);
    assert_string_equal(content(path), "new");
  }
  fy_scope {
    fy_atomic_file_write(fy_atomic_file_open(path), "never", 5);
  }
  assert_string_equal(content(path), "new");
  assert_int_equal(files(), 1);
}

static void two_writers_of_one_file(void **state) {
  (void)state;
  FyAtomicFile *first = fy_atomic_file_open(path), *second = fy_atomic_file_open(path);
  fy_atomic_file_write(first, "the first", 9);
  fy_atomic_file_write(second, "2nd", 3);
  fy_atomic_file_commit(first);
  assert_string_equal(content(path), "the first");
  fy_atomic_file_commit(second);
  assert_string_equal(content(path), "2nd");
  assert_int_equal(files(), 1);
}

static void *save_often(void *text) {
  for (int i = 0; i < 50; i++)
    save(text);
  return NULL;
}

static void threads_that_save_under_one_name(void **state) {
  (void)state;
  pthread_t threads[2];
  char *const texts[] = {"a longer text of the one", "short"};
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, save_often, texts[i]), 0);
  for (int i = 0; i < 100; i++) {
    const char *text = content(path);
    assert_true(strcmp(text, texts[0]) == 0 || strcmp(text, texts[1]) == 0 ||
                strcmp(text, "2nd") == 0); // the last test's
  }
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(files(), 1);
}

// Whoever may write to the folder could have put links there: none is followed.
static void links_in_the_way(void **state) {
  (void)state;
  char victim[80], link[120];
  snprintf(victim, sizeof victim, "%s/victim", folder);
  FILE *file = fopen(victim, "w");
  fputs("precious", file);
  fclose(file);
  for (int i = 0; i < 20; i++) {
    snprintf(link, sizeof link, "%s.tmp.%ld.%d", path, (long)getpid(), i);
    assert_int_equal(symlink(victim, link), 0);
  }
  save("saved");
  assert_string_equal(content(path), "saved");
  assert_string_equal(content(victim), "precious");
  assert_int_equal(files(), 22);
}

static void what_cannot_be_written(void **state) {
  (void)state;
  assert_raises(FY_OS_ERROR, "/nonexistent/file: cannot write: No such file or directory",
                fy_atomic_file_open("/nonexistent/file"));
  assert_raises_about(FY_TYPE_ERROR, "NULL", fy_atomic_file_open(NULL));
  char long_path[5000];
  memset(long_path, 'a', sizeof long_path - 1);
  long_path[sizeof long_path - 1] = '\0';
  assert_raises_about(FY_OS_ERROR, "the path is too long", fy_atomic_file_open(long_path));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_appears_at_commit),         cmocka_unit_test(two_writers_of_one_file),
      cmocka_unit_test(threads_that_save_under_one_name), cmocka_unit_test(links_in_the_way),
      cmocka_unit_test(what_cannot_be_written),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
