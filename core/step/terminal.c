// SPDX-License-Identifier: MIT
// The interactive view: a page (page.c) of the size of the terminal, and keys that go to other steps. It is drawn by ncurses. Without
// ncurses (STEP_CURSES) there is only the message that says so.
#include "step/step.h"
#include "tool/print/usage.h"
#include <unistd.h>

#ifndef STEP_CURSES

bool step_has_terminal(char *why, size_t why_bytes) {
  snprintf(why, why_bytes,
           "the interactive view needs ncurses: install libncurses-dev, then type make. --at STEP prints a step");
  return false;
}

int step_terminal(const Record *r, int step) {
  (void)r;
  (void)step;
  return EXIT_GRADER;
}

#else

#include "step/page.h"
#include "step/walk.h"
#include "tool/print/style.h"
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { LEAST_ROWS = 24, LEAST_COLUMNS = 80, ESCAPE = 27, DELETE = 127, BACKSPACE = 8, ESCAPE_MS = 25, CONTROL_L = 12 };

static const char *const keys[] = {
    "forwards      backwards",
    "n right space p left     step",
    "N             P          step of the same warp",
    "o             O          step over calls",
    "u             U          out of the function",
    "down          up         step at this line, of any warp",
    "]             [          barrier",
    "d             D          divergence: fewer lanes than before",
    "r             R          reconvergence: more lanes than before",
    "f             F          finding of the inspector",
    "G End         g Home     end",
    "/   where a variable or an element changes, so that it holds:",
    "    x    x@5 > 3 (in lane 5)    part[62] == 4    p.x    thread == 37",
    "w   backwards to the last write of an element: part[62]",
    ":   the next step at a line: 29           @  a step: 77, race:2, finding:1, end",
    ". , the next and the previous one of what / w or : has found",
    "l   a lane whose values are shown, too    v  the variables to show",
    "m   all of shared memory, or only what the step touches      q  quit",
    "",
    "The step did the marked line. Values are those after it, * marks its changes.",
    "The order of the steps is one of many that a GPU may choose.",
    NULL,
};

// ---- drawing ---------------------------------------------------------------------------------------------------------------

static bool colors;

static void begin_colors(void) {
  const char *no_color = getenv("NO_COLOR");
  colors = has_colors() && !(no_color && *no_color);
  if (!colors)
    return;
  start_color();
  use_default_colors();
  static const short of[] = {COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE};
  for (short i = 0; i < 4; i++)
    init_pair((short)(i + 1), of[i], -1);
}

static attr_t attribute(Style s) {
  if (s == BOLD || s == DIM)
    return s == BOLD ? A_BOLD : A_DIM;
  if (s == PLAIN || !colors)
    return s == RED || s == YELLOW ? A_BOLD : A_NORMAL;
  return (attr_t)COLOR_PAIR(s) | (s == YELLOW ? A_BOLD : 0);
}

// A line up to its newline, cut at the right edge. Returns where it ends.
static const char *draw_line(int row, const char *line) {
  mbstate_t state = {0};
  int column = 0;
  move(row, 0);
  attrset(A_NORMAL);
  for (size_t bytes; *line && *line != '\n'; line += bytes) {
    wchar_t text[2] = {0};
    bytes = 1;
    if (*line > 0 && *line <= 7) {
      attrset(attribute((Style)(*line - 1)));
      continue;
    }
    const size_t found = mbrtowc(text, line, MB_CUR_MAX, &state);
    const bool known = found > 0 && found < (size_t)-2 && wcwidth(*text) > 0;
    if (known)
      bytes = found;
    else {
      state = (mbstate_t){0};
      text[0] = '?';
    }
    column += wcwidth(*text);
    if (column <= COLS)
      addwstr(text);
  }
  attrset(A_NORMAL);
  return *line ? line + 1 : line;
}

static void draw_bottom(const char *text, attr_t attributes) {
  move(LINES - 1, 0);
  clrtoeol();
  attrset(attributes);
  addnstr(text, COLS - 1);
  attrset(A_NORMAL);
}

static void draw(const StepWalk *w) {
  static const char bar[] = "n p step  N P warp  o over  ] barrier  d divergence  f finding  / find  ? help";
  StepView view = w->view;
  Text page = {0};
  char small[80];
  view.columns = COLS;
  view.rows = LINES - 1;
  step_page(w->r, w->step, &view, &page);
  erase();
  const char *line = page.at;
  for (int row = 0; row < LINES - 1 && line && *line; row++)
    line = draw_line(row, line);
  if (LINES < LEAST_ROWS || COLS < LEAST_COLUMNS) {
    snprintf(small, sizeof small, "%d x %d: this view needs %d x %d", COLS, LINES, LEAST_COLUMNS, LEAST_ROWS);
    draw_bottom(small, A_REVERSE);
  } else {
    draw_bottom(w->message[0] ? w->message : bar, w->message[0] ? A_REVERSE : A_DIM);
  }
  text_free(&page);
  refresh();
}

static void help(void) {
  int key;
  do {
    erase();
    for (int i = 0; keys[i] && i < LINES - 1; i++)
      draw_line(i, keys[i]);
    draw_bottom("any key goes back", A_DIM);
    refresh();
    key = getch();
  } while (key == KEY_RESIZE);
}

// ---- questions -------------------------------------------------------------------------------------------------------------

// A line of input. False: the user has left it with Escape.
static bool ask(const StepWalk *w, const char *question, char *answer, size_t bytes) {
  size_t used = 0;
  answer[0] = '\0';
  for (;;) {
    char line[300];
    snprintf(line, sizeof line, "%s %s", question, answer);
    draw_bottom(line, A_BOLD);
    curs_set(1);
    refresh();
    const int key = getch();
    if (key == '\n' || key == '\r' || key == KEY_ENTER || key == ESCAPE || key == ERR) {
      curs_set(0);
      return key != ESCAPE && key != ERR;
    }
    if (key == KEY_RESIZE)
      draw(w);
    else if ((key == KEY_BACKSPACE || key == DELETE || key == BACKSPACE) && used)
      answer[--used] = '\0';
    else if (key >= ' ' && key < DELETE && used + 1 < bytes) {
      answer[used++] = (char)key;
      answer[used] = '\0';
    }
  }
}

static void ask_key(StepWalk *w, int key) {
  static const struct {
    int key;
    const char *question;
  } questions[] = {{'/', "/ variable or element, such as x or x@5 > 3:"},
                   {'w', "last write of element, such as part[62]:"},
                   {':', "next step at line:"},
                   {'@', "step, race:1, finding:1 or end:"},
                   {'l', "lane, 0 to 31 (nothing: none):"},
                   {'v', "variables to show, separated by blanks (nothing: all):"}};
  char answer[120];
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
    if (questions[i].key == key && ask(w, questions[i].question, answer, sizeof answer))
      step_walk_answer(w, key, answer);
}

// ---- keys ------------------------------------------------------------------------------------------------------------------

// The letter that does the same.
static int letter(int key) {
  return key == KEY_RIGHT || key == ' ' ? 'n'
         : key == KEY_LEFT              ? 'p'
         : key == KEY_HOME              ? 'g'
         : key == KEY_END               ? 'G'
         : key == KEY_DOWN              ? 'j'
         : key == KEY_UP                ? 'k'
                                        : key;
}

static bool handle(StepWalk *w, int pressed) {
  const int key = letter(pressed);
  w->message[0] = '\0';
  if (key == 'q' || key == ERR)
    return false;
  if (key == '?' || key == 'h')
    help();
  else if (key == CONTROL_L)
    clear();
  else if (key > 0 && key < DELETE && strchr("/w:@lv", key))
    ask_key(w, key);
  else if (key != KEY_RESIZE && !step_walk_key(w, key))
    snprintf(w->message, sizeof w->message, "this key does nothing. ? shows the keys, q quits");
  return true;
}

bool step_has_terminal(char *why, size_t why_bytes) {
  const bool both = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  if (!both)
    snprintf(why, why_bytes, "the interactive view needs a terminal for its input and output. --at STEP prints a step");
  return both;
}

int step_terminal(const Record *r, int step) {
  StepWalk w;
  SCREEN *screen;
  setlocale(LC_CTYPE, "");
  set_escdelay(ESCAPE_MS);
  screen = newterm(NULL, stdout, stdin);
  if (!screen) {
    const char *term = getenv("TERM");
    fprintf(stderr, "ferry step: the terminal \"%s\" is not known here: set TERM, or print a step by --at STEP\n",
            term ? term : "");
    return EXIT_USAGE;
  }
  step_walk_begin(&w, r, step);
  begin_colors();
  cbreak();
  noecho();
  keypad(stdscr, TRUE);
  curs_set(0);
  do
    draw(&w);
  while (handle(&w, getch()));
  endwin();
  delscreen(screen);
  return EXIT_PASS;
}

#endif
