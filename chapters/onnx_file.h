// Chapter 15's part on files that other programs open.
#ifndef CHAPTERS_ONNX_FILE_H
#define CHAPTERS_ONNX_FILE_H

#include "common.h"

// Two sections: a network saved as ONNX, and what comes of it when it is loaded. `path`: where to; NULL: a file that goes with
// the program.
void onnx_file_sections(FyDevice device, const char *path);

#endif
