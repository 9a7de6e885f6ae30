// SPDX-License-Identifier: MIT
// Shared by the two files of the inliner: inline.c writes statements and expressions, inline_calls.c the calls that must be named or
// inlined.
#ifndef CU2CPP_INLINE_H
#define CU2CPP_INLINE_H

#include "sim/compile/workitem_loops.h"

enum { MAX_ARGUMENTS = 16, MAX_DEPTH = 8 };

// A function whose text is being written: the kernel, or one that it calls.
struct scope {
  const struct kernel *k;
  int number;                         // of this copy of a function; 0: the kernel
  char *instead[MAX_VARIABLES];       // what is written for a parameter
  char *type_argument[MAX_ARGUMENTS]; // of its template
  int type_name[MAX_ARGUMENTS], type_count;
  const struct scope *outer;
};

struct inliner {
  struct tokens *t;
  const struct text *in; // the kernel's
  struct spot spot;
  bool program;
  struct text *out;
  struct text shared; // shared arrays of functions, once for each function
  int numbers, depth;
  enum refusal why_not;
  int why_token;
};

void inline_refuse(struct inliner *f, int token, enum refusal why);
char *inline_copy(const char *p, size_t length);
void inline_number(struct text *out, const char *format, int number);
void inline_line(struct inliner *f, int token); // what comes next is of the token's line

// ---- compile/inline_calls.c ----

// The bracket of a call whose name is at i, or -1; its arguments.
int inline_bracket(const struct tokens *t, int i);
int inline_arguments(const struct tokens *t, int open, struct range *arguments);
// A call that has to be a statement of its own, or several; whether there is one.
bool inline_needs_name(const struct scope *s, int i);
bool inline_has_calls(const struct scope *s, struct range e);
bool inline_every_lane(const struct scope *s, struct range e); // a mask of all lanes
// Writes the call at `name`, and to `expression` what stands for its result.
void inline_call(struct inliner *f, const struct scope *s, int name, struct text *expression);

// ---- compile/inline.c ----

void inline_word(const struct scope *s, int i, struct text *out);
bool inline_is_address(const char *text);
void inline_expression(struct inliner *f, const struct scope *s, struct range e, struct text *out);
char *inline_text(struct inliner *f, const struct scope *s, struct range e); // the caller frees it
void inline_list(struct inliner *f, const struct scope *s, const struct statement *list, int result);

#endif
