// SPDX-License-Identifier: MIT
// The members of the file's structs, for `./ferry step`: behind each definition at file scope whose members are plain, a list of them
// (CUDASIM_STEP_MEMBERS of cudasim_step.h).
#include "sim/compile/step_hooks.h"

#include <stdio.h>

#include "sim/compile/kernel.h"

enum { MOST_MEMBERS = 64 };

// The names of the members between two tokens; -1: some are not plain.
static int find_members(const struct tokens *t, int begin, int end, int names[MOST_MEMBERS]) {
  static const char *const not_plain[] = {"(",    ":",     "static", "template", "using", "typedef", "struct", "union",
                                          "enum", "class", "~",      "operator", "<",     "friend",  "{",      NULL};
  static const char *const after_name[] = {";", ",", "[", "=", NULL};
  int count = 0;
  bool named = false; // this declarator's name has come
  for (int i = begin; i < end; i = token_next(t, i)) {
    if (token_in(t, i, not_plain) || count == MOST_MEMBERS)
      return -1;
    if (token_is(t, i, "[") && t->all[i].match > i) {
      i = t->all[i].match;
    } else if (token_is(t, i, ",") || token_is(t, i, ";")) {
      named = false;
    } else if (!named && t->all[i].kind == TOKEN_WORD && token_in(t, token_next(t, i), after_name)) {
      names[count++] = i;
      named = true;
    }
  }
  return count;
}

size_t step_struct_members(const struct tokens *t, int i, struct text *list) {
  int names[MOST_MEMBERS];
  const int next = token_next(t, i);
  const bool tagged = t->all[next].kind == TOKEN_WORD, defined = token_is(t, token_before(t, i), "typedef");
  const int open = tagged ? token_next(t, next) : next, close = token_is(t, open, "{") ? t->all[open].match : -1;
  if (!token_is(t, i, "struct") || t->all[i].within >= 0 || close < open || token_is(t, token_before(t, i), ">"))
    return 0;
  const int after = token_next(t, close), name = defined ? after : next,
            semicolon = defined ? token_next(t, after) : after;
  const int count = find_members(t, open + 1, close, names);
  if (!token_is(t, semicolon, ";") || t->all[name].kind != TOKEN_WORD || count <= 0)
    return 0;
  append_string(list, " CUDASIM_STEP_MEMBERS(");
  append(list, t->all[name].p, (size_t)t->all[name].length);
  for (int m = 0; m < count; m++) {
    append_string(list, ", CUDASIM_STEP_MEMBER(");
    append(list, t->all[name].p, (size_t)t->all[name].length);
    append_string(list, ", ");
    append(list, t->all[names[m]].p, (size_t)t->all[names[m]].length);
    append_string(list, ")");
  }
  append_string(list, ")");
  return (size_t)(t->all[semicolon].p + 1 - t->all[0].p);
}
