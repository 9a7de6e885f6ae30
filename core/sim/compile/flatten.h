// What the two parts of a kernel's flattening share: compile/flatten.c writes statements and expressions, compile/calls.c the calls that have
// to be statements of their own.
#ifndef CU2CPP_FLATTEN_H
#define CU2CPP_FLATTEN_H

#include "sim/compile/loops.h"

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

struct flat {
  struct tokens *t;
  const struct text *in; // the kernel's
  struct spot spot;
  bool program;
  struct text *out;
  struct text shared; // shared arrays of functions, once for each function
  int numbers, depth;
  const char *why_not;
  int why_token;
};

void flat_refuse(struct flat *f, int token, const char *why);
char *flat_copy(const char *p, size_t length);
void flat_number(struct text *out, const char *format, int number);
void flat_line(struct flat *f, int token); // what comes next is of the token's line

// ---- compile/calls.c ----

// The bracket of a call whose name is at i, or -1; its arguments.
int flat_bracket(const struct tokens *t, int i);
int flat_arguments(const struct tokens *t, int open, struct range *arguments);
// A call that has to be a statement of its own, or several; whether there is one.
bool flat_is_apart(const struct scope *s, int i);
bool flat_has_calls(const struct scope *s, struct range e);
bool flat_every_lane(const struct scope *s, struct range e); // a mask of all lanes
// Writes the call at `name`, and to `expression` what stands for its result.
void flat_call(struct flat *f, const struct scope *s, int name, struct text *expression);

// ---- compile/flatten.c ----

void flat_word(const struct scope *s, int i, struct text *out);
bool flat_is_address(const char *text);
void flat_expression(struct flat *f, const struct scope *s, struct range e, struct text *out);
char *flat_text(struct flat *f, const struct scope *s, struct range e); // the caller frees it
void flat_list(struct flat *f, const struct scope *s, const struct statement *list, int result);

#endif
