// SPDX-License-Identifier: MIT
// What a platform needs to grade with Ferry: a zip for Gradescope, a folder for Classroom 50.
#ifndef TOOL_GRADE_PACKAGE_H
#define TOOL_GRADE_PACKAGE_H

#include "grader/grade.h"

// How the platform is to grade; NULL: as ./ferry grade does without the option.
typedef struct PackageOptions {
  const char *only, *seed, *limit, *sandbox;
} PackageOptions;

// Whether --gradescope or --classroom50 names a package rather than a file of results.
bool package_is_wanted(const Grading *g);

// Writes it. An exit status, after a message if it is not EXIT_PASS.
int grade_package(const Grading *g, const PackageOptions *o, const char *command);

#endif
