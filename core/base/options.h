// SPDX-License-Identifier: MIT
// Options whose default is not zero, for macros that take options as designated initializers.
//
// In a struct of options a field that is not named is zero, so that an option left out cannot be told from `.enabled = false` or
// `.lr = 0`. The macro therefore hands over the text of its arguments as well, and the function looks whether the option's name is
// in it.
#ifndef FERRY_BASE_OPTIONS_H
#define FERRY_BASE_OPTIONS_H

#include <stdbool.h>

// The arguments as text; macros among them are expanded first.
#define FY_TEXT_OF(...) FY_TEXT_AS_IT_STANDS(__VA_ARGS__)
#define FY_TEXT_AS_IT_STANDS(...) #__VA_ARGS__

// Does the text name the option, as `.name =`? With no text (NULL) every option counts as named. Never raises.
bool fy_option_is_named(const char *text, const char *name);

// The value of an option that is true by default: `value` where it is named, true otherwise. Never raises.
static inline bool fy_option_or_true(const char *text, const char *name, bool value) {
  return value || !fy_option_is_named(text, name);
}

// The value of an option whose default is another number than zero. With no text (NULL) zero stands for the default. Never raises.
static inline double fy_option_or(const char *text, const char *name, double value, double otherwise) {
  return value != 0 || (text && fy_option_is_named(text, name)) ? value : otherwise;
}

#endif
