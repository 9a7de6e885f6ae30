// SPDX-License-Identifier: MIT
// Times that scripts ask for (requests.c).
#ifndef REQUESTS_H
#define REQUESTS_H

#include <stdbool.h>
#include <stdio.h>

int answer_requests(FILE *in); // returns an exit status

#endif
