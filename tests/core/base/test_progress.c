// SPDX-License-Identifier: MIT
// The line of progress: on a terminal, with and without color, and in a file.
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct Capture {
  int saved, reader, writer;
  char text[8192];
} Capture;

static void redirect(Capture *c) {
  fflush(stdout);
  c->saved = dup(STDOUT_FILENO);
  dup2(c->writer, STDOUT_FILENO);
}

// What was printed since.
static const char *end_capture(Capture *c) {
  fflush(stdout);
  dup2(c->saved, STDOUT_FILENO);
  close(c->saved);
  close(c->writer);
  // To the end, which a terminal tells by an error: what was written to it may arrive in pieces, and later.
  size_t length = 0;
  for (ssize_t n; (n = read(c->reader, c->text + length, sizeof c->text - 1 - length)) > 0;)
    length += (size_t)n;
  c->text[length] = '\0';
  close(c->reader);
  return c->text;
}

static void to_a_pipe(Capture *c) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  c->reader = ends[0];
  c->writer = ends[1];
  redirect(c);
}

static void to_a_terminal(Capture *c, int columns) {
  c->reader = posix_openpt(O_RDWR | O_NOCTTY);
  assert_true(c->reader >= 0 && grantpt(c->reader) == 0 && unlockpt(c->reader) == 0);
  c->writer = open(ptsname(c->reader), O_RDWR | O_NOCTTY);
  assert_true(c->writer >= 0);
  assert_int_equal(ioctl(c->writer, TIOCSWINSZ, &(struct winsize){.ws_row = 24, .ws_col = (unsigned short)columns}), 0);
  redirect(c);
}

static void run_half(void) {
  FyProgress bar = fy_progress_begin("epoch 1/3", 1000, "samples");
  fy_progress_add(&bar, 400);
  fy_progress_add(&bar, 100);
  fy_progress_show(&bar, "loss %.4f", 0.25);
  fy_progress_end(&bar, "loss %.4f", 0.125);
}

static void in_a_file(void **state) {
  (void)state;
  Capture c;
  to_a_pipe(&c);
  run_half();
  const char *text = end_capture(&c);
  assert_null(strchr(text, '\r'));
  assert_null(strchr(text, '\033'));
  assert_ptr_equal(strstr(text, "epoch 1/3:  50 %  loss 0.2500  "), text);
  assert_non_null(strstr(text, " samples/s  0:00 left\nepoch 1/3:  50 %  loss 0.1250  "));
  assert_non_null(strstr(text, " samples/s  in 0:00\n"));
}

static void on_a_terminal(void **state) {
  (void)state;
  Capture c;
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  to_a_terminal(&c, 100);
  run_half();
  const char *text = end_capture(&c);
  assert_non_null(strstr(text, "\r\033[1mepoch 1/3\033[0m [============>           ]  50 %  loss 0.2500  "));
  // The times themselves are a matter of the machine.
  assert_non_null(strstr(text, " samples/s  0:"));
  assert_non_null(strstr(text, " left\033[K\r\033[1mepoch 1/3"));
  assert_non_null(strstr(text, " samples/s  in 0:"));
  assert_non_null(strstr(text, "\033[K\r\n")); // the terminal makes \n of \r\n
}

static void without_color(void **state) {
  (void)state;
  Capture c;
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  to_a_terminal(&c, 100);
  run_half();
  const char *text = end_capture(&c);
  unsetenv("NO_COLOR");
  assert_null(strstr(text, "\033[1m"));
  assert_non_null(strstr(text, "\repoch 1/3 [============>           ]  50 %  loss 0.2500  "));
}

static void on_a_narrow_terminal(void **state) {
  (void)state;
  Capture c;
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  to_a_terminal(&c, 30);
  run_half();
  const char *text = end_capture(&c);
  unsetenv("NO_COLOR");
  assert_ptr_equal(strstr(text, "\repoch 1/3 [============>     \033[K"), text); // 29 columns
}

static void on_a_dumb_terminal(void **state) {
  (void)state;
  Capture c;
  setenv("TERM", "dumb", 1);
  to_a_terminal(&c, 100);
  run_half();
  const char *text = end_capture(&c);
  assert_null(strchr(text, '\033'));
  assert_ptr_equal(strstr(text, "epoch 1/3:  50 %  loss 0.2500"), text);
}

static void when_it_is_due(void **state) {
  (void)state;
  FyProgress terminal = {.label = "x", .unit = "steps", .total = 2, .terminal = true};
  FyProgress file = fy_progress_begin("x", 2, "steps");
  file.terminal = false;
  assert_true(fy_progress_due(&terminal)); // shown long ago
  assert_false(fy_progress_due(&file));
  file.shown -= 11;
  assert_true(fy_progress_due(&file));
  terminal.shown = file.shown + 11;
  assert_false(fy_progress_due(&terminal));
}

static void nothing_to_do(void **state) {
  (void)state;
  Capture c;
  to_a_pipe(&c);
  FyProgress bar = fy_progress_begin("empty", 0, "steps");
  fy_progress_end(&bar, "done");
  assert_non_null(strstr(end_capture(&c), "empty: 100 %  done  0 steps/s  in 0:00\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_a_file),          cmocka_unit_test(on_a_terminal),
      cmocka_unit_test(without_color),      cmocka_unit_test(on_a_narrow_terminal),
      cmocka_unit_test(on_a_dumb_terminal), cmocka_unit_test(when_it_is_due),
      cmocka_unit_test(nothing_to_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
