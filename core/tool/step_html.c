// SPDX-License-Identifier: MIT
// A page that plays a record: player.html with its style, its script and the record in it.
#include "tool/step_html.h"
#include "tool/compile/config.h"
#include "tool/compile/files.h"
#include "tool/print/text.h"
#include <stdlib.h>
#include <string.h>

static char *part(const char *name) {
  char path[4096];
  in_root(path, sizeof path, "core/step/%s", name);
  return file_read(path, NULL);
}

static bool add_scripts(Text *script) {
  static const char *const names[] = {"recording.js", "lanes.js", "player.js"};
  bool good = true;
  for (int i = 0; i < 3; i++) {
    char *text = part(names[i]);
    good &= text != NULL;
    text_add(script, "%s", text ? text : "");
    free(text);
  }
  return good;
}

// In a script, "</" would end it, and "<!--" begin a comment: in JSON both can be written with an escape.
static void add_record(Text *page, const char *record) {
  for (const char *at = record; *at;) {
    const size_t length = strcspn(at, "<");
    text_add(page, "%.*s", (int)length, at);
    at += length;
    if (*at == '<') {
      text_add(page, "\\u003c");
      at++;
    }
  }
}

static void add(Text *page, const char *mark, const char *style, const char *script, const char *record) {
  if (strcmp(mark, "STYLE") == 0)
    text_add(page, "%s", style);
  else if (strcmp(mark, "SCRIPT") == 0)
    text_add(page, "%s", script);
  else if (strcmp(mark, "RECORD") == 0)
    add_record(page, record);
}

bool step_write_html(const char *record, const char *to) {
  static const char *const marks[] = {"STYLE", "SCRIPT", "RECORD"};
  char *html = part("player.html"), *style = part("player.css"), *text = file_read(record, NULL);
  Text page = {0}, script = {0};
  bool good = html && style && text && add_scripts(&script);
  for (char *at = html; good && at;) {
    char *mark = strstr(at, "/*");
    const char *found = NULL;
    for (int i = 0; mark && i < 3; i++)
      if (strncmp(mark + 2, marks[i], strlen(marks[i])) == 0 && strncmp(mark + 2 + strlen(marks[i]), "*/", 2) == 0)
        found = marks[i];
    text_add(&page, "%.*s", mark ? (int)(mark - at) : (int)strlen(at), at);
    if (found)
      add(&page, found, style, script.at, text);
    else if (mark)
      text_add(&page, "/*");
    at = mark ? mark + 2 + (found ? strlen(found) + 2 : 0) : NULL;
  }
  good = good && file_write(to, page.at, page.used);
  text_free(&page);
  free(html);
  free(style);
  text_free(&script);
  free(text);
  return good;
}
