#include "marks.h"

#include <stdio.h>
#include <stdlib.h>

// [mark]
void mark(FyEvent **event, FyDevice device) {
  *event = fy_event_new(true);                        // PyTorch: torch.cuda.Event(enable_timing=True)
  fy_event_record(*event, fy_current_stream(device)); // PyTorch: event.record()
}
// [end]

typedef struct Moment {
  double time;
  int step, kind; // kind: 0 copy begins, 1 copy ends, 2 step begins, 3 step ends
} Moment;

static int by_time(const void *left, const void *right) {
  double a = ((const Moment *)left)->time, b = ((const Moment *)right)->time;
  return (a > b) - (a < b);
}

// One row: what is going on between each event and the next. Columns are the events' order; widths are no times.
static void print_bars(const Moment *moments, int count, const char *name, int begins) {
  char going[STEPS] = {0};
  printf("  %-7s", name);
  for (int i = 0; i + 1 < count; i++) {
    if (moments[i].kind == begins) {
      going[moments[i].step] = 1;
    } else if (moments[i].kind == begins + 1) {
      going[moments[i].step] = 0;
    }
    int shown = -1;
    for (int k = 0; k < STEPS; k++) {
      shown = going[k] ? k : shown;
    }
    printf("%c%c", shown < 0 ? '.' : '0' + shown, shown < 0 ? '.' : '0' + shown);
  }
  printf("\n");
}

void print_order(const Marks *marks, FyDevice device) {
  Moment moments[4 * STEPS];
  FyEvent *const *events[] = {marks->copy_begin, marks->copy_end, marks->step_begin, marks->step_end};
  int early = 0;
  fy_synchronize(device); // all events have passed
  for (int k = 0; k < STEPS; k++) {
    for (int kind = 0; kind < 4; kind++) { // PyTorch: origin.elapsed_time(event), in milliseconds
      moments[4 * k + kind] = (Moment){fy_event_elapsed_time(marks->origin, events[kind][k]), k, kind};
    }
    early += k > 0 && fy_event_elapsed_time(marks->copy_begin[k], marks->step_end[k - 1]) > 0;
  }
  qsort(moments, 4 * STEPS, sizeof *moments, by_time);
  print_bars(moments, 4 * STEPS, "copies", 0);
  print_bars(moments, 4 * STEPS, "steps", 2);
  printf("  copies that began before the step ahead of them had ended: %d of %d\n", early, STEPS - 1);
}
