// SPDX-License-Identifier: MIT
#ifndef TOOL_STEP_HTML_H
#define TOOL_STEP_HTML_H

#include <stdbool.h>

// Writes a page that plays the record of ./ferry step in the file `record`. False: file_problem says why.
bool step_write_html(const char *record, const char *to);

#endif
