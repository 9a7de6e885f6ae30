// Pictures in a terminal: a character for two rows of a column, since characters are twice as high as they are wide.
#include "training.h"

#include <stdio.h>
#include <string.h>

enum { ACROSS = 3, GAP = 2 };

// How light a place is, 0 to 1: the mean over the channels and the two rows.
static double lightness(const Picture *picture, int64_t row, int64_t column) {
  const float *values = fy_numpy(picture->image);
  int64_t channels = fy_size_at(picture->image, 0), height = fy_size_at(picture->image, 1);
  int64_t width = fy_size_at(picture->image, 2);
  double sum = 0;
  for (int64_t c = 0; c < channels; c++) {
    for (int64_t i = 0; i < 2; i++) {
      sum += values[(c * height + row + i) * width + column];
    }
  }
  return (sum / (2.0 * (double)channels) + 1) / 2;
}

enum { LINE = 2048 };

// Appends one row of a picture to a line.
static void add_row(const Picture *picture, int64_t row, char *line) {
  static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
  size_t length = strlen(line);
  for (int64_t column = 0; column < fy_size_at(picture->image, 2) && length + 4 < LINE; column++) {
    int shade = (int)(lightness(picture, row, column) * 5);
    length += (size_t)sprintf(line + length, "%s", shades[shade < 0 ? 0 : shade > 4 ? 4 : shade]);
  }
}

static void print_without_blanks_at_the_end(char *line) {
  size_t length = strlen(line);
  while (length > 0 && line[length - 1] == ' ') {
    length--;
  }
  printf("%.*s\n", (int)length, line);
}

static void print_captions(const Picture *pictures, int count, int line, int64_t width) {
  if (!*pictures->caption[line]) {
    return;
  }
  for (int i = 0; i + 1 < count; i++) {
    printf("%-*s", (int)width + GAP, pictures[i].caption[line]);
  }
  printf("%s\n", pictures[count - 1].caption[line]);
}

Picture picture_of(FyTensor *image, const char *first, const char *second) {
  Picture picture = {.image = image};
  snprintf(picture.caption[0], sizeof picture.caption[0], "%s", first);
  snprintf(picture.caption[1], sizeof picture.caption[1], "%s", second);
  return picture;
}

const char *synthetic_class(int label) {
  static const char *const names[] = {"pattern 0", "pattern 1", "pattern 2", "pattern 3", "pattern 4",
                                      "pattern 5", "pattern 6", "pattern 7", "pattern 8", "pattern 9"};
  return names[label];
}

void show_pictures(const Picture *pictures, int count) {
  for (; count > 0; count -= ACROSS, pictures += ACROSS) {
    int across = count < ACROSS ? count : ACROSS;
    int64_t height = fy_size_at(pictures->image, 1), width = fy_size_at(pictures->image, 2);
    for (int64_t row = 0; row + 1 < height; row += 2) {
      char line[LINE] = "";
      for (int i = 0; i < across; i++) {
        add_row(&pictures[i], row, line);
        strncat(line, "  ", LINE - 1 - strlen(line));
      }
      print_without_blanks_at_the_end(line);
    }
    print_captions(pictures, across, 0, width);
    print_captions(pictures, across, 1, width);
  }
}
