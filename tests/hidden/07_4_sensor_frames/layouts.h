// SPDX-License-Identifier: MIT
// The layouts of the readings, by the name of the result. Each has a call of its own.
static const char *const layouts[] = {"frames of a slice",
                                      "frames of moments with room between",
                                      "frames of every third element",
                                      "frames of a sensor, expanded",
                                      "frames of a moment, expanded",
                                      "frames of a permuted tensor",
                                      "frames of a single sensor",
                                      "frames of a single sensor, moment by moment"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };
