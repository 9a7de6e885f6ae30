// The sections of chapter 15 on ONNX files.
#ifndef CHAPTERS_ONNX_FILE_H
#define CHAPTERS_ONNX_FILE_H

#include "common.h"

// Runs two sections: saves a traced network as an ONNX file, and loads it. Writes to `path`, or to a temporary file if `path`
// is NULL.
void onnx_file_sections(FyDevice device, const char *path);

#endif
