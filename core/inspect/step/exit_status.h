// SPDX-License-Identifier: MIT
#ifndef INSPECT_STEP_EXIT_STATUS_H
#define INSPECT_STEP_EXIT_STATUS_H

// Of a program that ./ferry step runs, and whose launch has no block such as is asked for. It has said so.
enum { STEP_NO_BLOCK = 120 };
// Of a program that has made more than FERRY_INSPECT_STOP accesses, and has written its record.
enum { INSPECT_STOPPED = 121 };

#endif
