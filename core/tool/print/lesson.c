// SPDX-License-Identifier: MIT
#include "tool/print/lesson.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void lesson_command(const char *lesson, char *command, size_t bytes) {
  const char *name = strrchr(lesson, '/'), *anchor = strchr(lesson, '#');
  name = name ? name + 1 : lesson;
  anchor = anchor ? anchor : " --read";
  if (isdigit((unsigned char)*name))
    snprintf(command, bytes, "./ferry chapter %d%s", atoi(name), anchor);
  else
    snprintf(command, bytes, "./ferry chapter %.*s%s", (int)strcspn(name, ".#"), name, anchor);
}

static char *next_line(char *line) {
  line += strcspn(line, "\n");
  return line + (*line == '\n');
}

// The first heading from `line` on, NULL: there is none. What looks like one in a listing is a comment.
static char *next_heading(char *line) {
  for (bool listing = false; *line; line = next_line(line)) {
    listing ^= strncmp(line, "```", 3) == 0;
    if (!listing && *line == '#')
      return line;
  }
  return NULL;
}

static void anchor_of(const char *heading, char *anchor, size_t bytes) {
  size_t used = 0;
  heading += strspn(heading, "# ");
  for (; *heading && *heading != '\n' && used + 1 < bytes; heading++)
    if (isalnum((unsigned char)*heading) || strchr(" _-", *heading))
      anchor[used++] = *heading == ' ' ? '-' : (char)tolower((unsigned char)*heading);
  anchor[used] = '\0';
}

char *lesson_section(char *text, const char *anchor) {
  char is[256], *found = NULL;
  int count = 0;
  for (char *line = next_heading(text); line; line = next_heading(next_line(line))) {
    anchor_of(line, is, sizeof is);
    if (strcmp(is, anchor) == 0)
      return line;
    if (strstr(is, anchor)) {
      found = line;
      count++;
    }
  }
  return count == 1 ? found : NULL;
}

char *lesson_section_end(char *section) {
  size_t level = strspn(section, "#");
  char *line = section;
  do
    line = next_heading(next_line(line));
  while (line && strspn(line, "#") > level);
  return line ? line : section + strlen(section);
}

char *lesson_same_section(char *text, const char *section, char *translation) {
  char *there = next_heading(translation);
  for (char *line = next_heading(text); line && there && line != section; line = next_heading(next_line(line)))
    there = next_heading(next_line(there));
  return there;
}

void lesson_sections(FILE *to, char *text) {
  char anchor[256];
  for (char *line = next_heading(text); line; line = next_heading(next_line(line))) {
    anchor_of(line, anchor, sizeof anchor);
    fprintf(to, "  #%s\n", anchor);
  }
}
