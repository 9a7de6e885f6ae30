#include "memory_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *place_text(const char *file, int line) {
  if (!file) {
    return "unknown";
  }
  const char *slash = strrchr(file, '/');
  return text("%s:%d", slash ? slash + 1 : file, line);
}

// All blocks of the device, to be freed; malloc's memory is not the allocator's, so asking changes nothing.
static FyMemoryBlock *blocks_of(FyDevice device, size_t *count) {
  size_t capacity = fy_memory_blocks(device, NULL, 0) + 64;
  FyMemoryBlock *blocks = malloc(capacity * sizeof *blocks);
  if (!blocks) {
    refuse("out of memory");
  }
  *count = fy_memory_blocks(device, blocks, capacity);
  if (*count > capacity) {
    *count = capacity;
  }
  return blocks;
}

// ---- segments ---------------------------------------------------------------------------------------------------------

void print_segments(FyDevice device, size_t unit) {
  size_t count;
  FyMemoryBlock *b = blocks_of(device, &count);
  for (size_t i = 0; i < count; i++) {
    if (b[i].address == b[i].segment) {
      printf("%s%s pool  ", i ? "|\n" : "", b[i].small ? "small" : "large");
    }
    size_t width = (b[i].size + unit / 2) / unit;
    putchar('|');
    for (size_t k = 0; k < width || k == 0; k++) {
      putchar(b[i].state == FY_MEMORY_INACTIVE ? '.' : '#');
    }
  }
  printf(count ? "|\n" : "no segments\n");
  free(b);
}

void print_blocks(FyDevice device, bool small, int most) {
  size_t count;
  FyMemoryBlock *b = blocks_of(device, &count);
  Table table = table_begin({"block at", 10}, {"size", 10}, {"asked for", 10}, {"state", 10}, {"by", 20});
  for (size_t i = 0; i < count && most > 0; i++) {
    if (b[i].small == small) {
      bool used = b[i].state != FY_MEMORY_INACTIVE;
      table_row(&table, text("+%zu", (size_t)(b[i].address - b[i].segment)), text("%zu", b[i].size),
                used ? text("%zu", b[i].requested) : "-", used ? "in use" : "free",
                used ? place_text(b[i].file, b[i].line) : "-");
      most--;
    }
  }
  free(b);
}

// ---- by line ----------------------------------------------------------------------------------------------------------

static int by_line(const void *a, const void *b) {
  const FyMemoryBlock *x = a, *y = b;
  if (x->file != y->file) {
    return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
  }
  return (x->line > y->line) - (x->line < y->line);
}

static int by_size(const void *a, const void *b) {
  size_t x = ((const FyMemoryBlock *)a)->size, y = ((const FyMemoryBlock *)b)->size;
  return (x < y) - (x > y);
}

void print_by_line(FyDevice device, int most) {
  size_t count, lines = 0;
  FyMemoryBlock *b = blocks_of(device, &count);
  qsort(b, count, sizeof *b, by_line);
  for (size_t i = 0; i < count; i++) {
    if (b[i].state == FY_MEMORY_INACTIVE) {
      continue;
    }
    if (lines == 0 || by_line(&b[lines - 1], &b[i]) != 0) {
      b[lines] = b[i];
      b[lines++].requested = 1; // from here on it counts blocks
    } else {
      b[lines - 1].size += b[i].size;
      b[lines - 1].requested++;
    }
  }
  qsort(b, lines, sizeof *b, by_size);
  Table table = table_begin({"line", 24}, {"blocks", 8}, {"bytes", 12});
  for (size_t i = 0; i < lines && (int)i < most; i++) {
    table_row(&table, place_text(b[i].file, b[i].line), text("%zu", b[i].requested), bytes_text((double)b[i].size));
  }
  free(b);
}

// ---- over time --------------------------------------------------------------------------------------------------------

static const FyMemoryEvent *peak_of(const FyMemoryEvent *events, size_t count) {
  const FyMemoryEvent *peak = events;
  for (size_t i = 0; i < count; i++) {
    peak = events[i].allocated > peak->allocated ? &events[i] : peak;
  }
  return peak;
}

static void print_bar(const char *phase, const FyMemoryEvent *e, size_t peak) {
  static const char full[] = "########################################";
  int bar = (int)((double)e->allocated / (double)peak * (double)(sizeof full - 1) + 0.5);
  printf("%-9s %c %8s %9s  %.*s\n", phase, e->action == FY_MEMORY_ALLOC ? '+' : '-', bytes_text((double)e->size),
         bytes_text((double)e->allocated), bar, full);
}

const FyMemoryEvent *print_timeline(const FyMemoryEvent *events, const Phase *phases, int phase_count, size_t least) {
  const FyMemoryEvent *peak = peak_of(events, phases[phase_count - 1].end);
  size_t first = 0;
  for (int p = 0; p < phase_count; p++) {
    const char *name = phases[p].name;
    for (size_t i = first; i < phases[p].end; i++) {
      bool changes = events[i].action == FY_MEMORY_ALLOC || events[i].action == FY_MEMORY_FREE_REQUESTED;
      if (changes && events[i].size >= least) {
        print_bar(name, &events[i], peak->allocated);
        name = "";
      }
    }
    first = phases[p].end;
  }
  return peak;
}
