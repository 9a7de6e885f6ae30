// What writes the loops over threads: cu2cpp_loops.c, for cu2cpp_split.c.
#ifndef CU2CPP_LOOPS_H
#define CU2CPP_LOOPS_H

#include "cu2cpp_split.h"

// A place in the text, and what the compiler calls it.
struct spot {
  size_t place, line, begin; // begin: of the line
  size_t file, file_length;  // its name in the text, with quotes; 0: the input's
};

struct writer {
  struct kernel *k;
  struct text *out;
  const struct text *in;
  bool program;
  struct spot spot; // before the kernel
  int regions;
  const char *failed; // why it cannot be written after all
  int stored_bytes;
};

// Reads on up to `place`: which line of which file that is.
struct spot spot_of(const struct writer *w, size_t place);
// Goes on, on a line of its own, as if the compiler were at `at`, up to its column.
void move_to(const struct writer *w, const char *at, bool column);
void write_range(const struct writer *w, struct range r);
// A name, with what is put behind it.
void write_name(const struct writer *w, int token, const char *behind);
void declare_plainly(const struct writer *w, const struct variable *v);
// The array of a variable that each thread has for itself, and that lives longer than one loop.
void declare_stored(struct writer *w, struct variable *v);
void open_loop(struct writer *w);
void close_loop(struct writer *w, bool returns);
// A loop over the threads for statements from `first` to before `end`; `last`: nothing comes after it.
void write_region(struct writer *w, const struct statement *first, const struct statement *end, bool last);

#endif
