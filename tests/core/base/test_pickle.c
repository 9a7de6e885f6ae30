// SPDX-License-Identifier: MIT
// Pickles, as Python's own pickle module reads them.
// run check: FERRY_CUDA=off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pickle.h"

static char folder[] = "/tmp/ferry-pickle-XXXXXX", path[64];

static int make_folder(void **state) {
  (void)state;
  snprintf(path, sizeof path, "%s/p.pickle", mkdtemp(folder));
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

// What Python prints for an expression in `v`, the value of the file.
static void expect_answer(const char *expression, const char *answer) {
  char command[1024], text[1024];
  if (system("python3 -c 'import pickle' >/dev/null 2>&1") != 0) {
    print_message("needs python3 with its module pickle\n");
    skip();
  }
  snprintf(command, sizeof command, "python3 -c 'import pickle\nv = pickle.load(open(\"%s\", \"rb\"))\nprint(%s)' 2>&1",
           path, expression);
  FILE *pipe = popen(command, "r");
  size_t n = fread(text, 1, sizeof text - 1, pipe);
  pclose(pipe);
  text[n > 0 ? n - 1 : 0] = '\0'; // without the newline
  assert_string_equal(text, answer);
}

static void values_of_each_kind(void **state) {
  (void)state;
  static const int64_t whole[] = {
      0, -1, 255, 256, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1, INT64_MAX, INT64_MIN};
  fy_scope {
    FyPickle *p = fy_pickle_open(path);
    fy_pickle_dict(p);
    fy_pickle_string(p, "whole");
    fy_pickle_list(p);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
      fy_pickle_int(p, whole[i]);
      fy_pickle_append(p);
    }
    fy_pickle_string(p, "others");
    fy_pickle_list(p);
    fy_pickle_float(p, -0.1);
    fy_pickle_append(p);
    fy_pickle_bool(p, true);
    fy_pickle_append(p);
    fy_pickle_bool(p, false);
    fy_pickle_append(p);
    fy_pickle_string(p, "gr\xc3\xbc\xc3\x9f");
    fy_pickle_append(p);
    fy_pickle_int(p, 1);
    fy_pickle_string(p, "");
    fy_pickle_pair(p);
    fy_pickle_append(p);
    fy_pickle_dict(p);
    fy_pickle_dict_end(p);
    fy_pickle_append(p);
    fy_pickle_dict_end(p);
    fy_pickle_commit(p);
  }
  expect_answer("v[\"whole\"]", "[0, -1, 255, 256, 2147483647, -2147483648, 2147483648, -2147483649, "
                                "9223372036854775807, -9223372036854775808]");
  expect_answer("ascii(v[\"others\"])", "[-0.1, True, False, 'gr\\xfc\\xdf', (1, ''), {}]");
}

// More strings than are remembered, longer ones, and more bytes than the buffer has.
static void many_strings(void **state) {
  (void)state;
  fy_scope {
    FyPickle *p = fy_pickle_open(path);
    fy_pickle_list(p);
    for (int round = 0; round < 3; round++)
      for (int i = 0; i < 3000; i++) {
        char text[128];
        snprintf(text, sizeof text, "%d%.*s", i, i % 90,
                 "--------------------------------------------------------"
                 "-------------------------------------------");
        fy_pickle_string(p, text);
        fy_pickle_append(p);
      }
    fy_pickle_commit(p);
  }
  expect_answer("v == 3 * [str(i) + \"-\" * (i % 90) for i in range(3000)], len(v)", "True 9000");
}

static void uncommitted_there_is_no_file(void **state) {
  (void)state;
  unlink(path);
  fy_scope {
    fy_pickle_list(fy_pickle_open(path));
  }
  assert_int_not_equal(access(path, F_OK), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_of_each_kind),
      cmocka_unit_test(many_strings),
      cmocka_unit_test(uncommitted_there_is_no_file),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
