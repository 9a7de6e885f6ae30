// SPDX-License-Identifier: MIT
// Folders of answers, where somebody else changes them while they are removed or taken over; and hostile text.
//
// The functions of the system that change files are wrapped by the linker (--wrap).
#include "tool/print/plain.h"
#include "sandbox_impl.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

static void (*before_change)(void); // called before each change of a file

int __real_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode) {
  if (before_change)
    before_change();
  return __real_chmod(path, mode);
}

int __real_unlinkat(int at, const char *name, int flags);
int __wrap_unlinkat(int at, const char *name, int flags);
int __wrap_unlinkat(int at, const char *name, int flags) {
  if (before_change)
    before_change();
  return __real_unlinkat(at, name, flags);
}

int __real_openat(int at, const char *name, int flags, int mode);
int __wrap_openat(int at, const char *name, int flags, int mode);
int __wrap_openat(int at, const char *name, int flags, int mode) {
  if (before_change)
    before_change();
  return __real_openat(at, name, flags, mode);
}

// ---- folders -------------------------------------------------------------------------------------------------------------

static char place[128]; // where everything happens: $TMPDIR

static void make(const char *format, const char *name, char *path) {
  snprintf(path, 512, format, place, name);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static int changes, change_at, swapped;
static char folder_of_answer[256], victim[512], victim_file[600];

// Somebody puts a link to another folder where one of the answer's was.
static void swap_for_link(void) {
  char inner[512], aside[512];
  if (changes++ != change_at)
    return;
  snprintf(inner, sizeof inner, "%s/inner", folder_of_answer);
  snprintf(aside, sizeof aside, "%s/aside-%d", place, change_at);
  if (rename(inner, aside) != 0)
    return;
  assert_int_equal(symlink(victim, inner), 0);
  swapped++;
}

static void swap_whole_folder(void) {
  char aside[512];
  if (changes++ != change_at)
    return;
  snprintf(aside, sizeof aside, "%s/whole-%d", place, change_at);
  if (rename(folder_of_answer, aside) != 0)
    return;
  assert_int_equal(symlink(victim, folder_of_answer), 0);
  swapped++;
}

static void remove_while(void (*somebody)(void)) {
  swapped = 0;
  for (change_at = 0; change_at < 24; change_at++) {
    char path[512];
    struct stat about;
    assert_true(sandbox_folder(folder_of_answer, sizeof folder_of_answer));
    snprintf(path, sizeof path, "%s/inner", folder_of_answer);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/inner/deeper", folder_of_answer);
    assert_int_equal(mkdir(path, 0), 0);
    changes = 0;
    before_change = somebody;
    sandbox_folder_remove(folder_of_answer);
    before_change = NULL;
    assert_int_equal(stat(victim, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0500);
    assert_int_equal(stat(victim_file, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0400);
    unlink(folder_of_answer);
  }
  assert_true(swapped > 3);
}

static void test_a_folder_swapped_while_it_is_removed(void **state) {
  (void)state;
  make("%s/%s", "victim", victim);
  snprintf(victim_file, sizeof victim_file, "%s/file", victim);
  assert_int_equal(mkdir(victim, 0700), 0);
  write_text(victim_file, "precious");
  chmod(victim_file, 0400);
  chmod(victim, 0500);
  remove_while(swap_for_link);
  remove_while(swap_whole_folder);
  chmod(victim, 0700);
}

static void test_folders_of_others_stay(void **state) {
  (void)state;
  char path[512], inner[600];
  if (geteuid() != 0)
    skip(); // it takes root to make a file of somebody else's
  make("%s/%s", "ferry-answer-4000000-abcdef", path);
  snprintf(inner, sizeof inner, "%s/inner", path);
  assert_int_equal(mkdir(path, 0755), 0);
  assert_int_equal(mkdir(inner, 0755), 0);
  assert_int_equal(chown(path, 4242, 4242), 0);
  sandbox_folder_remove(path);
  assert_int_equal(access(inner, F_OK), 0);
  assert_int_equal(chown(path, sandbox_user_of(4000000), 0), 0);
  assert_int_equal(chown(inner, 4242, 4242), 0);
  sandbox_folder_remove(path); // what somebody else put into one of ours is not looked into; it goes when it is empty
  assert_int_equal(access(inner, F_OK), 0);
  assert_int_equal(chown(inner, 0, 0), 0);
  sandbox_folder_remove(path);
  assert_int_not_equal(access(path, F_OK), 0);
}

static void test_a_deep_folder_is_removed(void **state) {
  (void)state;
  char folder[256];
  assert_true(sandbox_folder(folder, sizeof folder));
  int at = open(folder, O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 3000; i++) {
    assert_int_equal(mkdirat(at, "d", 0700), 0);
    int deeper = openat(at, "d", O_RDONLY | O_DIRECTORY, 0);
    assert_true(deeper >= 0);
    close(at);
    at = deeper;
  }
  close(at);
  sandbox_folder_remove(folder);
  assert_int_not_equal(access(folder, F_OK), 0);
}

static void test_only_a_plain_file_is_taken_over(void **state) {
  (void)state;
  char folder[256], program[300], other[512];
  struct stat about;
  make("%s/%s", "other-file", other);
  write_text(other, "precious");
  __real_chmod(other, 0600);
  assert_true(sandbox_folder(folder, sizeof folder));
  snprintf(program, sizeof program, "%s/program", folder);
  assert_false(sandbox_take(folder, "program")); // there is none
  assert_int_equal(symlink(other, program), 0);
  assert_false(sandbox_take(folder, "program"));
  unlink(program);
  assert_int_equal(link(other, program), 0);
  assert_false(sandbox_take(folder, "program"));
  unlink(program);
  assert_int_equal(mkfifo(program, 0777), 0);
  assert_false(sandbox_take(folder, "program"));
  unlink(program);
  assert_int_equal(stat(other, &about), 0);
  assert_int_equal(about.st_mode & 07777, 0600);
  write_text(program, "#!/bin/sh\n");
  assert_true(sandbox_take(folder, "program"));
  assert_int_equal(stat(program, &about), 0);
  assert_int_equal(about.st_mode & 07777, 0755);
  assert_int_equal(about.st_uid, geteuid());
  sandbox_folder_remove(folder);
}

static void test_a_folder_that_anybody_may_rename_is_none(void **state) {
  (void)state;
  char open_place[512], folder[256];
  make("%s/%s", "open", open_place);
  assert_int_equal(mkdir(open_place, 0700), 0);
  __real_chmod(open_place, 0777);
  setenv("TMPDIR", open_place, 1);
  assert_false(sandbox_folder(folder, sizeof folder));
  __real_chmod(open_place, 01777);
  assert_true(sandbox_folder(folder, sizeof folder));
  sandbox_folder_remove(folder);
  setenv("TMPDIR", place, 1);
}

// ---- text ----------------------------------------------------------------------------------------------------------------

static void expect_plain(const char *bytes, size_t count, const char *want) {
  char *got = plain_text(bytes, count), *again = plain_text(got, strlen(got));
  assert_string_equal(got, want);
  assert_string_equal(again, want);
  free(got);
  free(again);
}
#define PLAIN(bytes, want) expect_plain(bytes, sizeof(bytes) - 1, want)

static void test_control_characters_become_text(void **state) {
  (void)state;
  PLAIN("two words\n\tand more: \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\xa2\n",
        "two words\n\tand more: \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\xa2\n");
  PLAIN("\x1b[2J\x07\r\x7f", "\\x1b[2J\\x07\\x0d\\x7f");
  PLAIN("a\0b", "a\\x00b");
  PLAIN("\x9b"
        "31m\x80\x9f",
        "\\x9b31m\\x80\\x9f");
  PLAIN("\xc2\x9b"
        "31m\xc2\x80\xc2\x9f\xc2\xa0",
        "\\xc2\\x9b31m\\xc2\\x80\\xc2\\x9f\xc2\xa0");
  PLAIN("\xc0\x9b\xe0\x82\x9b\xed\xa0\x80\xff\xe2\x82", "\\xc0\\x9b\\xe0\\x82\\x9b\\xed\\xa0\\x80\\xff\\xe2\\x82");
  PLAIN("\xe2\x80\xae"
        "abc\xe2\x81\xa6\xe2\x80\xa8",
        "\\u202eabc\\u2066\\u2028");
  for (int c = 0; c < 256; c++) {
    char one[] = {'x', (char)c, 'y'}, *got = plain_text(one, sizeof one);
    for (const char *p = got; *p; p++)
      assert_true(*p == '\n' || *p == '\t' || (*p >= 32 && *p < 127));
    free(got);
  }
}

// ---- all of it -------------------------------------------------------------------------------------------------------------

static int set_up(void **state) {
  (void)state;
  snprintf(place, sizeof place, "%s/test_folders-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  return mkdtemp(place) ? setenv("TMPDIR", place, 1) : -1;
}

static int clean_up(void **state) {
  char command[300];
  (void)state;
  snprintf(command, sizeof command, "rm -rf '%s'", place);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_folder_swapped_while_it_is_removed),
      cmocka_unit_test(test_folders_of_others_stay),
      cmocka_unit_test(test_a_deep_folder_is_removed),
      cmocka_unit_test(test_only_a_plain_file_is_taken_over),
      cmocka_unit_test(test_a_folder_that_anybody_may_rename_is_none),
      cmocka_unit_test(test_control_characters_become_text),
  };
  return cmocka_run_group_tests(tests, set_up, clean_up);
}
