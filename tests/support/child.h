// SPDX-License-Identifier: MIT
// A test's child: what must not happen in the test's own process.
#ifndef FERRY_TESTS_CHILD_H
#define FERRY_TESTS_CHILD_H

#ifdef __cplusplus
extern "C" {
#endif

// What the last child wrote to standard output and standard error, as far as it has room.
extern char child_output[16384];

// Runs body(context) in a forked child, which ends with the status that it returns (or by itself, or another program takes its
// place). Returns the exit status, or 128 and the signal's number where one has ended it; -1 when there was no child to be had.
int run_child(int (*body)(void *context), void *context);

// Fails the test unless the child wrote this.
void expect_child_wrote(const char *text);

#ifdef __cplusplus
}
#endif

#endif
