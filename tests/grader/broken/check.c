// In place of exercise 10's own check, one that breaks. test_ferry.sh compiles it with each way to break, and links it with the
// rest of ./ferry, to see that nobody loses points by it.
#include "exercise.h"
#include <stdlib.h>

static void ask(Case *c) {
  give_text(c, "device", "cpu");
  give_number(c, "rows", 2);
  give_number(c, "columns", 2);
  give_number(c, "offset", 1);
#ifdef IN_ASK
  abort();
#endif
}

static void judge(Case *c) {
#ifdef BY_PANIC
  given(c, "what was never given");
#else
  const Array *volatile none = NULL;
  expect_number(c, "none", none->f32[0], 0);
#endif
}

EXERCISE = {
    .id = "03_1_create_on_the_device",
    .title = "A check that breaks",
    .kind = "write",
    .chapter = 3,
    .functions = {"offset_grid"},
    .tests = {{"on a GPU", ask, judge}},
};
