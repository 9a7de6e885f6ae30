// SPDX-License-Identifier: MIT
// Findings as SARIF 2.1.0 (Static Analysis Results Interchange Format), which code hosts and editors show at their lines.
#include "base/version.h"
#include "inspect/report/inspection.h"
#include "tool/compile/files.h"
#include "tool/print/text.h"
#include <string.h>

// A path as a URI: relative as it is, absolute with a scheme.
static void text_uri(Text *t, const char *path) {
  text_add(t, *path == '/' ? "\"file://" : "\"");
  for (const char *c = path; *c; c++)
    if (('a' <= *c && *c <= 'z') || ('A' <= *c && *c <= 'Z') || ('0' <= *c && *c <= '9') || strchr("/._-~", *c))
      text_add(t, "%c", *c);
    else
      text_add(t, "%%%02X", (unsigned char)*c);
  text_add(t, "\"");
}

// A physical location, with its message where there is one.
static void text_location(Text *t, const Inspection *i, Spot spot, const char *message) {
  text_add(t, "{\"physicalLocation\": {\"artifactLocation\": {\"uri\": ");
  text_uri(t, inspect_path(i, spot));
  text_add(t, "}, \"region\": {\"startLine\": %d, \"startColumn\": %d}}", spot.line, inspect_column(i, spot));
  if (message) {
    text_add(t, ", \"message\": {\"text\": ");
    text_json(t, message);
    text_add(t, "}");
  }
  text_add(t, "}");
}

static void text_related(Text *t, const Inspection *i, const InspectFinding *f) {
  const char *comma = "";
  if (!f->second.file && !f->third.file)
    return;
  text_add(t, ", \"relatedLocations\": [");
  if (f->second.file) {
    text_location(t, i, f->second, "the other access");
    comma = ", ";
  }
  if (f->third.file) {
    text_add(t, "%s", comma);
    text_location(t, i, f->third, "allocated here");
  }
  text_add(t, "]");
}

static void text_message(Text *t, const Inspection *i, const InspectFinding *f) {
  char message[2048];
  snprintf(message, sizeof message, "%s%s%s: %s. %s", f->kind->title, f->kernel >= 0 ? " in " : "",
           f->kernel >= 0 ? i->kernels[f->kernel].name : "", f->detail, f->kind->remedy);
  text_json(t, message);
}

static void text_result(Text *t, const Inspection *i, const InspectFinding *f) {
  char command[2048];
  text_add(t, "{\"ruleId\": \"%s\", \"level\": \"%s\", \"message\": {\"text\": ", f->kind->id,
           f->kind->note ? "note" : "error");
  text_message(t, i, f);
  text_add(t, "}");
  if (f->first.file) {
    text_add(t, ", \"locations\": [");
    text_location(t, i, f->first, NULL);
    text_add(t, "]");
  }
  text_related(t, i, f);
  text_add(t, ", \"occurrenceCount\": %llu", (unsigned long long)(inspect_times(f) ? inspect_times(f) : 1));
  if (inspect_step_command(i, f, command, sizeof command)) {
    text_add(t, ", \"properties\": {\"step\": ");
    text_json(t, command);
    text_add(t, "}");
  }
  text_add(t, "}");
}

// Each kind once.
static void text_rules(Text *t, const Inspection *i) {
  const char *comma = "";
  for (int n = 0; n < i->finding_count; n++) {
    const InspectKind *kind = i->findings[n].kind;
    bool earlier = false;
    for (int m = 0; m < n; m++)
      earlier |= i->findings[m].kind == kind;
    if (earlier)
      continue;
    text_add(t, "%s\n      {\"id\": \"%s\", \"shortDescription\": {\"text\": ", comma, kind->id);
    text_json(t, kind->title);
    text_add(t, "}, \"help\": {\"text\": ");
    text_json(t, kind->remedy);
    text_add(t, "}}");
    comma = ",";
  }
}

bool inspect_write_sarif(const Inspection *i, const char *path) {
  Text t = {0};
  text_add(&t, "{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n  \"version\": \"2.1.0\",\n"
               "  \"runs\": [{\n    \"tool\": {\"driver\": {\"name\": \"ferry inspect\", \"version\": "
               "\"" FERRY_VERSION_STRING "\", \"rules\": [");
  text_rules(&t, i);
  text_add(&t, "]}},\n    \"results\": [");
  for (int n = 0; n < i->finding_count; n++) {
    text_add(&t, "%s\n      ", n ? "," : "");
    text_result(&t, i, &i->findings[n]);
  }
  text_add(&t, "]\n  }]\n}\n");
  const bool written = file_write(path, t.at, t.used);
  text_free(&t);
  return written;
}
