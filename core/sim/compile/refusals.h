// SPDX-License-Identifier: MIT
// Why a kernel is not compiled to work-item loops: the complete table. A kernel that is refused runs on fibers, one for each thread
// that waits; the result is the same, only slower. CU2CPP_TELL=1 prints the reason for each kernel.
#ifndef CU2CPP_REFUSALS_H
#define CU2CPP_REFUSALS_H

// clang-format off
#define REFUSALS(X) \
  /* What the text is. */ \
  X(REFUSED_MISSING_INCLUDE, "an included file that cannot be found") \
  X(REFUSED_DIRECTIVE, "a preprocessor's condition within the kernel") \
  X(REFUSED_MACRO_VARIABLE, "a macro that names a variable of the kernel's") \
  X(REFUSED_WAIT_OR_MACRO, "a word that waits, or a macro that does more than compute") \
  X(REFUSED_HIDDEN_JUMP, "a barrier or a jump that is no statement of its own") \
  X(REFUSED_HIDDEN_NAME, "a name that hides another") \
  /* Statements and declarations that are not parsed. */ \
  X(REFUSED_DECLARATION, "a declaration that is more than names") \
  X(REFUSED_TOO_MANY_VARIABLES, "too many variables") \
  X(REFUSED_NO_STATEMENT, "a statement that is not there") \
  X(REFUSED_FOR_HEAD, "a for without its two semicolons") \
  X(REFUSED_DO_WITHOUT_WHILE, "a do without its while") \
  X(REFUSED_LOOP_HEAD, "a loop without its bracket") \
  X(REFUSED_LABEL, "a label") \
  X(REFUSED_STATEMENT, "a statement of a kind that is not taken apart") \
  X(REFUSED_PARAMETER_TYPE, "a parameter that is more than a type and a name") \
  X(REFUSED_UNNAMED_PARAMETER, "a parameter without a name") \
  X(REFUSED_LAUNCH_OR_LAMBDA, "a launch or a lambda") \
  /* Calls that may wait for another thread. */ \
  X(REFUSED_WAITING_CALL, "a call of what may wait") \
  X(REFUSED_WAITING_OPERATOR, "an operator or a constructor in the program that may wait") \
  X(REFUSED_ATOMIC_RESULT, "an atomic function's result in a loop") \
  X(REFUSED_INLINE, "a call of a function that waits, and that is not taken apart") \
  X(REFUSED_RECURSION, "a function that calls itself, or very many") \
  X(REFUSED_CONDITIONAL_CALL, "a call that is made under a condition, of what may wait") \
  X(REFUSED_CALL_IN_LOOP_HEAD, "a loop that begins or ends with a call of what may wait") \
  X(REFUSED_CALL_IN_STATEMENT, "a call of what may wait in a statement that is not taken apart") \
  X(REFUSED_FOREIGN_ARGUMENT, "a group or an array that is not the caller's own") \
  X(REFUSED_REFERENCE_ARGUMENT, "a reference to more than a variable") \
  X(REFUSED_SHARED_ARRAY, "a shared array of a function that depends on other things of its") \
  X(REFUSED_WARP_ARGUMENTS, "a warp function with other arguments") \
  X(REFUSED_PARTIAL_MASK, "a warp function whose mask may not be all lanes") \
  X(REFUSED_THREAD_QUERY, "a function that asks for its thread, which it would take for a constant") \
  /* Barriers and warp functions that threads may reach by different paths. */ \
  X(REFUSED_DIVERGENT_BARRIER, "a condition before a barrier that may differ from thread to thread") \
  X(REFUSED_DIVERGENT_WARP, "a condition before a warp function that may differ from lane to lane") \
  X(REFUSED_BARRIER_IN_STATEMENT, "a barrier in a statement that is not taken apart") \
  X(REFUSED_LOOP_START, "a loop with a barrier whose beginning may differ from thread to thread") \
  X(REFUSED_LOOP_STEP, "a loop with a barrier whose step may differ from thread to thread") \
  X(REFUSED_LOOP_VARIABLE, "a loop with a barrier whose variable may differ from thread to thread") \
  X(REFUSED_EARLY_RETURN, "a return of some threads before a barrier of others") \
  X(REFUSED_TOO_MANY_CONDITIONS, "too many conditions before warp functions") \
  X(REFUSED_WARP_CHANGE, "a variable of all threads that every warp changes") \
  X(REFUSED_WARP_CHANGE_NEEDED, "a variable that every warp changes, and that is needed after a barrier") \
  /* Variables without a context array. */ \
  X(REFUSED_PARAMETER_CONTEXT, "a parameter that cannot be kept for each thread") \
  X(REFUSED_VARIABLE_CONTEXT, "a variable that cannot be kept for each thread") \
  X(REFUSED_COARSENED_CONTEXT, "a variable that is kept for each thread of blocks side by side") \
  /* The loop of cudasim_launch.h is as fast. */ \
  X(REFUSED_NOTHING_GAINED, "no barrier")
// clang-format on

#define REFUSAL_NAME(name, text) name,
enum refusal { NOT_REFUSED, REFUSALS(REFUSAL_NAME) };
#undef REFUSAL_NAME

const char *refusal_text(enum refusal why); // compile/regions.c

#endif
