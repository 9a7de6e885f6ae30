// SPDX-License-Identifier: MIT
// Layouts of the readings, each of which has a call of its own, by what comes back of it.
static const char *const layouts[] = {"frames of a slice",
                                      "frames of moments with room between",
                                      "frames of every third element",
                                      "frames of a sensor, expanded",
                                      "frames of a moment, expanded",
                                      "frames of a permuted tensor",
                                      "frames of a single sensor",
                                      "frames of a single sensor, moment by moment"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };
