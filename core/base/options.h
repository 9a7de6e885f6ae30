// Options that are true unless a caller says otherwise, for macros that take options as designated initialisers.
//
// In a struct of options what is not named is zero, so that a bool left out cannot be told from `.enabled = false`. The macro
// therefore hands over the text of its arguments as well, and the function looks whether the option's name is in it.
#ifndef FERRY_BASE_OPTIONS_H
#define FERRY_BASE_OPTIONS_H

#include <stdbool.h>

// The arguments as text; macros among them are expanded first.
#define FY_TEXT_OF(...) FY_TEXT_AS_IT_STANDS(__VA_ARGS__)
#define FY_TEXT_AS_IT_STANDS(...) #__VA_ARGS__

// Does the text name the option, as `.name =`? With no text (NULL) every option counts as named. Never raises.
bool fy_option_is_named(const char *text, const char *name);

// What such an option is: `value` where it is named, true otherwise. Never raises.
static inline bool fy_option_or_true(const char *text, const char *name, bool value) {
  return value || !fy_option_is_named(text, name);
}

#endif
