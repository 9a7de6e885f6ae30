// SPDX-License-Identifier: MIT
// The lessons as files: their sections, and the command that shows one.
#ifndef TOOL_LESSON_H
#define TOOL_LESSON_H

#include <stdio.h>

// "docs/20_the_first_kernel.md#grid-block-guard" as the command that shows it: "./ferry chapter 20#grid-block-guard".
void lesson_command(const char *lesson, char *command, size_t bytes);

// A section of a lesson's text by its anchor, which is made of the heading as GitHub does ("Grid, block, guard" has
// grid-block-guard), or by a part of the anchor that no other section's has: the line of the heading, or NULL.
char *lesson_section(char *text, const char *anchor);
// Where that section ends: at the next heading of its level, or a higher one.
char *lesson_section_end(char *section);
// The heading in a translation that is at the place of `section` in `text`. NULL: it has fewer.
char *lesson_same_section(char *text, const char *section, char *translation);
// All anchors, a line for each.
void lesson_sections(FILE *to, char *text);

#endif
