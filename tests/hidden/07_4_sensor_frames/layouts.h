// SPDX-License-Identifier: MIT
// The layouts of the readings, by the name of the result. Each has a call of its own.
static const char *const layouts[] = {"frames of a slice",
                                      "frames of moments with gaps between them",
                                      "frames of every third element",
                                      "frames of an expanded sensor",
                                      "frames of an expanded moment",
                                      "frames of a permuted tensor",
                                      "frames of a single sensor",
                                      "frames of a single sensor with gaps"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };
