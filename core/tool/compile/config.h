// SPDX-License-Identifier: MIT
// Where things are and what compiles them: what the Makefile knew when it built ./ferry.
#ifndef TOOL_CONFIG_H
#define TOOL_CONFIG_H

#include <stdbool.h>

#include "grader_config.h" // generated: CONFIG_CC, CONFIG_CXX, CONFIG_NVCC, CONFIG_BUILD, CONFIG_LINK, ...
#include "tool/compile/root.h"

#define CONFIG_OBJECTS CONFIG_ROOT "/" CONFIG_BUILD
#define CONFIG_PRECOMPILED CONFIG_OBJECTS "/sim/precompiled"
#define CONFIG_LIBRARY CONFIG_OBJECTS "/libferry.a"

#endif
