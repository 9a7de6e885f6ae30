// SPDX-License-Identifier: MIT
#include "tool/compile/process.h"
#include "tool/compile/root.h"
#include "tool/print/usage.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void words_add(Words *w, const char *word) {
  if (w->count + 1 >= w->room) {
    w->room = w->room ? 2 * w->room : 32;
    w->items = realloc(w->items, w->room * sizeof *w->items);
  }
  char text[8192];
  root_expand(text, sizeof text, word);
  char *copy = strdup(text);
  if (!w->items || !copy)
    fatal_error("out of memory");
  w->items[w->count++] = copy;
  w->items[w->count] = NULL;
}

void words_addf(Words *w, const char *format, ...) {
  char text[8192];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  words_add(w, text);
}

void words_add_all(Words *w, const Words *more) {
  for (size_t i = 0; i < more->count; i++)
    words_add(w, more->items[i]);
}

void words_split(Words *w, const char *list) {
  while (*list) {
    size_t length = strcspn(list, " ");
    if (length)
      words_addf(w, "%.*s", (int)length, list);
    list += length + (list[length] == ' ');
  }
}

void redirect_to(const char *path, int flags, int to) {
  int fd = open(path, flags, 0600);
  if (fd < 0 || dup2(fd, to) < 0)
    _exit(126);
}

int wait_for_tool(pid_t pid) {
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return 126;
  return exit_status(status);
}

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void run_instead(const char *command, const char *word) {
  char line[8300];
  snprintf(line, sizeof line, "%s \"$1\"", command);
  execl("/bin/sh", "sh", "-c", line, "sh", word, (char *)NULL);
}

int run_tool(const char *const argv[], const char *folder, const char *in, const char *out, const char *err) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    if (chdir(folder) != 0)
      _exit(126);
    redirect_to(in ? in : "/dev/null", O_RDONLY, 0);
    if (out)
      redirect_to(out, O_WRONLY | O_CREAT | O_TRUNC, 1);
    if (err)
      redirect_to(err, O_WRONLY | O_CREAT | O_TRUNC, 2);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
  }
  return pid < 0 ? 126 : wait_for_tool(pid);
}
