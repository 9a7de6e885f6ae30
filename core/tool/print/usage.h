// SPDX-License-Identifier: MIT
// Exit statuses, and the messages that go with them.
#ifndef TOOL_PRINT_USAGE_H
#define TOOL_PRINT_USAGE_H

// 0: all is well, 1: an answer does not pass, 2: a wrong command line, 3: Ferry itself failed.
enum { EXIT_PASS = 0, EXIT_ANSWER = 1, EXIT_USAGE = 2, EXIT_GRADER = 3 };

// "ferry COMMAND: ..." on stderr. Returns EXIT_USAGE.
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

// An error of Ferry itself or of an exercise's check: prints the message and exits with EXIT_GRADER.
void fatal_error(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
