// SPDX-License-Identifier: MIT
// Reads the values of JSON of which a record consists. After the first failure each of them reads nothing.
#ifndef STEP_RECORD_JSON_H
#define STEP_RECORD_JSON_H

#include "step/record_impl.h"
#include "base/json_scan.h"

typedef struct Reader {
  FyJsonScan scan; // after a failure: where and what was expected
  Record *r;
  bool wrong;
} Reader;

bool read_fails(Reader *in, const char *expected); // returns false
bool read_accept(Reader *in, char character);

// An array's elements: `for (bool more = read_begin(in); more; more = read_more(in))`
bool read_begin(Reader *in);
bool read_more(Reader *in);
// An object's keys, one after another; NULL at its end. `first` is true at the first call.
const char *read_key(Reader *in, bool *first);

const char *read_text(Reader *in); // nothing but newlines and tabs in it commands a terminal
StepValue read_number(Reader *in);
int64_t read_integer(Reader *in, int64_t least, int64_t most);
int read_whole(Reader *in, int least);
uint32_t read_mask(Reader *in);
bool read_truth(Reader *in); // true, false, 1 or 0
bool read_null(Reader *in);  // passes null, if it is next
void read_integers(Reader *in, int *to, int count, int least);
StepVector read_vector(Reader *in, uint32_t lanes);
void read_skip(Reader *in, int level); // a value of any kind; level 0

#endif
