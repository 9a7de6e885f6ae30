// SPDX-License-Identifier: MIT
// The scope stack's inside: for base/ only.
#ifndef FERRY_BASE_SCOPE_IMPL_H
#define FERRY_BASE_SCOPE_IMPL_H

#include "base/scope.h"

int fy_scope_depth(void);                // open scopes of this thread
void fy_scope_close_to_depth(int depth); // closes the ones beyond
void fy_scope_merge(int mark);           // ends a scope, handing what it owns to the one around

#endif
