// SPDX-License-Identifier: MIT
// Options whose default is not zero, for macros that take options as designated initializers.
//
// In a struct of options, a field that is not named is zero. So a function cannot distinguish an omitted option from
// `.enabled = false` or `.lr = 0`. For this reason, the macro also passes its arguments as text, and the function
// searches the text for the option's name.
#ifndef FERRY_BASE_OPTIONS_H
#define FERRY_BASE_OPTIONS_H

#include <stdbool.h>

// The arguments as text; macros in the arguments are expanded first.
#define FY_TEXT_OF(...) FY_TEXT_AS_IT_STANDS(__VA_ARGS__)
#define FY_TEXT_AS_IT_STANDS(...) #__VA_ARGS__

// Returns whether the text names the option, as in `.name =`. If the text is NULL, every option counts as named. Never
// raises.
bool fy_option_is_named(const char *text, const char *name);

// Returns the value of an option that is true by default: `value` if the option is named, otherwise true. Never raises.
static inline bool fy_option_or_true(const char *text, const char *name, bool value) {
  return value || !fy_option_is_named(text, name);
}

// Returns the value of an option whose default, `otherwise`, is not zero. If the text is NULL, zero means the default.
// Never raises.
static inline double fy_option_or(const char *text, const char *name, double value, double otherwise) {
  return value != 0 || (text && fy_option_is_named(text, name)) ? value : otherwise;
}

#endif
