// SPDX-License-Identifier: MIT
// Text of a hostile program, made fit to be shown.
#ifndef TOOL_PLAIN_H
#define TOOL_PLAIN_H

#include <stddef.h>

// Bytes of the UTF-8 sequence at the beginning of `s`, which has `count` bytes; 0 when it is none (overlong, surrogate,
// noncharacter, cut short).
size_t utf8_sequence(const char *s, size_t count);

// How many of the bytes are whole characters: fewer than `count` only where the last one may go on in what follows.
size_t utf8_whole(const char *s, size_t count);

// A copy (malloc) in which nothing but newline and tab commands a terminal: the other control characters (0 to 0x1f, 0x7f, and
// 0x80 to 0x9f, which some terminals take for the beginning of an escape sequence, alone or as UTF-8's C2 80 to C2 9F), the
// marks that turn the direction of writing, and bytes that are no UTF-8 become text, such as \x1b and \u202e. NULL without
// memory. Plain text stays as it is.
char *plain_text(const char *bytes, size_t count);

// The same on one line: newline and tab become text as well. Of a name also the backslash, doubled, so that two names are never shown as
// one.
char *plain_line(const char *bytes, size_t count);
char *plain_name(const char *bytes, size_t count);

#endif
