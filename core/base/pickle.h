// SPDX-License-Identifier: MIT
// Python pickles, written: for core/ and tests. A pickle is what pickle.load() reads; of its opcodes (protocol 2) these
// functions write the few that dicts, lists, strings and numbers need.
//
//   fy_pickle_dict(p);
//   fy_pickle_string(p, "sizes");
//   fy_pickle_list(p);
//   for (int i = 0; i < 3; i++) {
//     fy_pickle_int(p, i);
//     fy_pickle_append(p);
//   }
//   fy_pickle_dict_end(p);
//   fy_pickle_commit(p);      // {"sizes": [0, 1, 2]}
#ifndef FERRY_BASE_PICKLE_H
#define FERRY_BASE_PICKLE_H

#include "base/scope.h"

// An object of the scope, written like an FyAtomicFile: without fy_pickle_commit there is no file. All functions raise
// FY_OS_ERROR naming the path, and the first FY_OUT_OF_MEMORY_ERROR.
typedef struct FyPickle FyPickle;
FyPickle *fy_pickle_open(const char *path);
void fy_pickle_commit(FyPickle *p); // after exactly one value

void fy_pickle_dict(FyPickle *p); // then key, value, key, value, ...,
void fy_pickle_dict_end(FyPickle *p);
void fy_pickle_list(FyPickle *p);   // then for each element the value, and
void fy_pickle_append(FyPickle *p); // this
void fy_pickle_pair(FyPickle *p);   // after two values: a tuple of them

void fy_pickle_string(FyPickle *p, const char *text); // UTF-8
void fy_pickle_int(FyPickle *p, int64_t value);
void fy_pickle_float(FyPickle *p, double value);
void fy_pickle_bool(FyPickle *p, bool value);

#endif
