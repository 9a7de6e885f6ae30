// SPDX-License-Identifier: MIT
// A lesson on the terminal: Markdown as docs/ has it (headings, paragraphs, lists, tables, code, pictures), its comments left out.
#include "tool/print/page.h"
#include "tool/print/style.h"
#include "tool/print/term.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Stand for themselves until the end, because they take no columns.
enum { CODE_ON = 1, CODE_OFF, BOLD_ON, BOLD_OFF };

typedef struct Page {
  FILE *to;
  const char *at;  // what is still to be read
  char *paragraph; // what has been gathered of one
  size_t used, room;
  char first[16]; // what its first line begins with: a list's mark
} Page;

// ---- within a line -----------------------------------------------------------------------------------------------------

static void gather(Page *p, const char *text, size_t bytes) {
  if (p->used + bytes + 2 > p->room) {
    p->room = 2 * (p->used + bytes) + 256;
    p->paragraph = realloc(p->paragraph, p->room);
    if (!p->paragraph)
      abort();
  }
  memcpy(p->paragraph + p->used, text, bytes);
  p->used += bytes;
  p->paragraph[p->used] = '\0';
}

static void gather_mark(Page *p, char mark) {
  gather(p, &mark, 1);
}

static bool colors(void) {
  return *style(BOLD) != '\0';
}

// `[text](address)`: the text; the address as well where it leads out of the book. Bytes that were read.
static size_t gather_link(Page *p, const char *text, size_t length) {
  const char *middle = strstr(text, "](");
  const char *end = middle ? strchr(middle, ')') : NULL;
  if (!end || (size_t)(end - text) >= length || memchr(text + 1, '[', (size_t)(middle - text - 1)))
    return 0;
  for (const char *c = text + 1; c < middle; c++)
    if (*c != '`')
      gather(p, c, 1);
  if (strncmp(middle + 2, "http", 4) == 0) {
    gather(p, " <", 2);
    gather(p, middle + 2, (size_t)(end - middle - 2));
    gather(p, ">", 1);
  }
  return (size_t)(end - text) + 1;
}

// An HTML tag, or an entity: what it comes to as text. Bytes that were read, 0: it is none.
static size_t gather_html(Page *p, const char *text, size_t length) {
  static const struct {
    const char *name, *is;
  } entities[] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}, {"&nbsp;", " "}, {"&quot;", "\""}};
  for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
    if (strncmp(text, entities[i].name, strlen(entities[i].name)) == 0) {
      gather(p, entities[i].is, 1);
      return strlen(entities[i].name);
    }
  const char *end = text[0] == '<' && (isalpha((unsigned char)text[1]) || text[1] == '/') ? strchr(text, '>') : NULL;
  if (!end || (size_t)(end - text) >= length)
    return 0;
  const char *alt = strncmp(text, "<img", 4) == 0 ? strstr(text, "alt=\"") : NULL;
  if (alt && alt < end) {
    gather(p, "[Picture: ", 10);
    gather(p, alt + 5, strcspn(alt + 5, "\""));
    gather(p, "]", 1);
  }
  return (size_t)(end - text) + 1;
}

// A line's text without its marks. Within `code` nothing else is one.
static void gather_line(Page *p, const char *text, size_t length) {
  bool code = false, bold = false;
  for (size_t i = 0; i < length; i++) {
    size_t read = 0;
    if (text[i] == '`') {
      code = !code;
      if (colors())
        gather_mark(p, code ? CODE_ON : CODE_OFF);
      else
        gather(p, "`", 1);
    } else if (code) {
      gather(p, text + i, 1);
    } else if (strncmp(text + i, "**", 2) == 0) {
      bold = !bold;
      gather_mark(p, bold ? BOLD_ON : BOLD_OFF);
      i++;
    } else if (text[i] == '*' && i + 1 < length && (text[i + 1] != ' ' || (i > 0 && text[i - 1] != ' '))) {
    } else if (text[i] == '*' && i + 1 == length && i > 0 && text[i - 1] != ' ') {
    } else if ((text[i] == '[' && (read = gather_link(p, text + i, length - i))) ||
               ((text[i] == '<' || text[i] == '&') && (read = gather_html(p, text + i, length - i)))) {
      i += read - 1;
    } else if (text[i] == '\\' && i + 1 < length && ispunct((unsigned char)text[i + 1])) {
      gather(p, text + ++i, 1);
    } else if (text[i] != '!' || i + 1 == length || text[i + 1] != '[') {
      gather(p, text + i, 1);
    }
  }
}

static void end_paragraph(Page *p) {
  while (p->used > 0 && p->paragraph[p->used - 1] == ' ')
    p->paragraph[--p->used] = '\0';
  if (p->used > 0)
    term_paragraph(p->to, p->first, (int)strlen(p->first), p->paragraph);
  p->used = 0;
  p->first[0] = '\0';
}

// ---- tables ------------------------------------------------------------------------------------------------------------

enum { MAX_CELLS = 16, MAX_TABLE = 200 };

typedef struct Table {
  char *cell[MAX_TABLE][MAX_CELLS];
  int rows, columns, width[MAX_CELLS];
} Table;

static void table_row(Page *p, Table *t, const char *line, size_t length) {
  size_t i = 1;
  for (int k = 0; k < MAX_CELLS && i < length; k++) {
    size_t end = i;
    while (end < length && (line[end] != '|' || line[end - 1] == '\\'))
      end++;
    p->used = 0;
    gather(p, "", 0);
    gather_line(p, line + i, end - i);
    char *text = p->paragraph + strspn(p->paragraph, " ");
    size_t used = strlen(text);
    while (used > 0 && text[used - 1] == ' ')
      text[--used] = '\0';
    t->cell[t->rows][k] = strdup(text);
    int wide = term_columns(text, used);
    t->width[k] = wide > t->width[k] ? wide : t->width[k];
    t->columns = k + 1 > t->columns ? k + 1 : t->columns;
    i = end + 1;
  }
  t->rows++;
  p->used = 0;
}

// The widest gives way until all have room.
static void fit_columns(Table *t) {
  int room = term_width() - 2 * t->columns;
  for (;;) {
    int all = 0, widest = 0;
    for (int k = 0; k < t->columns; k++) {
      all += t->width[k];
      widest = t->width[k] > t->width[widest] ? k : widest;
    }
    if (all <= room || t->width[widest] <= 8)
      return;
    t->width[widest]--;
  }
}

static void print_row(Page *p, const Table *t, int row) {
  const char *rest[MAX_CELLS];
  bool more = true;
  for (int k = 0; k < t->columns; k++)
    rest[k] = t->cell[row][k] ? t->cell[row][k] : "";
  while (more) {
    more = false;
    for (int k = 0; k < t->columns; k++) {
      size_t left = strlen(rest[k]), bytes = left > 0 ? term_fitting(rest[k], left, t->width[k]) : 0;
      while (term_columns(rest[k], bytes) > t->width[k]) // one long word: it is cut
        bytes--;
      int pad = k + 1 < t->columns ? t->width[k] - term_columns(rest[k], bytes) : 0;
      fprintf(p->to, "  %.*s%*s", (int)bytes, rest[k], pad > 0 ? pad : 0, "");
      rest[k] += bytes;
      rest[k] += strspn(rest[k], " ");
      more |= *rest[k] != '\0';
    }
    fprintf(p->to, "\n");
  }
}

static void table(Page *p) {
  static Table t; // large
  t = (Table){0};
  while (*p->at == '|' && t.rows < MAX_TABLE) {
    size_t length = strcspn(p->at, "\n");
    if (strspn(p->at, "|-: ") < length)
      table_row(p, &t, p->at, length);
    p->at += length + (p->at[length] == '\n');
  }
  fit_columns(&t);
  for (int r = 0; r < t.rows; r++) {
    if (r == 0)
      fputc(BOLD_ON, p->to);
    print_row(p, &t, r);
    if (r == 0)
      fputc(BOLD_OFF, p->to);
    for (int k = 0; k < t.columns; k++)
      free(t.cell[r][k]);
  }
}

// ---- blocks ------------------------------------------------------------------------------------------------------------

static void code_block(Page *p) {
  p->at += strcspn(p->at, "\n");
  p->at += *p->at == '\n';
  while (*p->at && strncmp(p->at, "```", 3) != 0) {
    size_t length = strcspn(p->at, "\n");
    char line[1024];
    snprintf(line, sizeof line, "%s%.*s", length ? "    " : "", (int)length, p->at);
    term_wrap(p->to, *line ? line : "\n", 4);
    p->at += length + (p->at[length] == '\n');
  }
}

static void heading(Page *p, const char *line, size_t length) {
  size_t level = strspn(line, "#");
  gather_line(p, line + level + 1, length - level - 1);
  fprintf(p->to, "%c%s%c\n", BOLD_ON, p->paragraph, BOLD_OFF);
  for (int i = level <= 2 ? term_columns(p->paragraph, p->used) : 0; i > 0; i--)
    fputs(level == 1 ? "=" : "-", p->to);
  if (level <= 2)
    fputc('\n', p->to);
  p->used = 0;
}

// "- " or "1. " at the beginning: how many bytes, with the blanks before it.
static size_t list_mark(const char *line) {
  size_t blanks = strspn(line, " "), digits = strspn(line + blanks, "0123456789");
  if (digits > 0 && digits < 3 && strncmp(line + blanks + digits, ". ", 2) == 0)
    return blanks + digits + 2;
  return strncmp(line + blanks, "- ", 2) == 0 || strncmp(line + blanks, "* ", 2) == 0 ? blanks + 2 : 0;
}

static void line_of(Page *p, const char *line, size_t length) {
  size_t mark = list_mark(line);
  if (line[0] == '#') {
    end_paragraph(p);
    heading(p, line, length);
    return;
  }
  if (length == strspn(line, " ")) {
    bool any = p->used > 0;
    end_paragraph(p);
    if (any || p->at[0] != '\n')
      fputc('\n', p->to);
    return;
  }
  if (mark > 0 && mark < sizeof p->first - 2) {
    end_paragraph(p);
    snprintf(p->first, sizeof p->first, "  %.*s", (int)mark, line);
  } else if (p->used > 0) {
    gather(p, " ", 1);
  }
  size_t skip = mark > 0 ? mark : strspn(line, " >");
  gather_line(p, line + skip, length - skip);
}

static void print_marks(FILE *to, const char *text) {
  bool code = false;
  for (; *text; text++)
    switch (*text) {
    case CODE_ON:
    case CODE_OFF:
      code = *text == CODE_ON;
      fputs(style(code ? BLUE : PLAIN), to);
      break;
    case BOLD_ON:
    case BOLD_OFF:
      fputs(style(*text == BOLD_ON ? BOLD : PLAIN), to);
      break;
    case '\n': // pagers begin each line without colors
      fprintf(to, "%s\n%s", code ? style(PLAIN) : "", code ? style(BLUE) : "");
      break;
    default:
      fputc(*text, to);
    }
}

// A box's comment "<!-- predict 22.1; 22.2 -->": its answer follows, so this is where to guess first.
static void guess_first(Page *p, const char *comment) {
  char ids[64];
  if (sscanf(comment, " <!-- predict %60[0-9.; ]--", ids) != 1)
    return;
  end_paragraph(p);
  fprintf(p->to, "Guess before you read on: ./ferry predict %.*s\n", (int)strcspn(ids, "; "), ids);
}

void page_render(FILE *to, const char *markdown) {
  char *text = NULL;
  size_t bytes = 0;
  Page p = {.to = open_memstream(&text, &bytes), .at = markdown};
  if (!p.to)
    return;
  while (*p.at) {
    size_t length = strcspn(p.at, "\n");
    const char *line = p.at, *end;
    if (strncmp(line + strspn(line, " "), "<!--", 4) == 0 && (end = strstr(line, "-->"))) {
      guess_first(&p, line);
      p.at = end + 3;
      p.at += *p.at == '\n';
    } else if (strncmp(line, "```", 3) == 0) {
      end_paragraph(&p);
      code_block(&p);
      p.at += strcspn(p.at, "\n");
      p.at += *p.at == '\n';
    } else if (*line == '|') {
      end_paragraph(&p);
      table(&p);
    } else {
      p.at += length + (line[length] == '\n');
      line_of(&p, line, length);
    }
  }
  end_paragraph(&p);
  fclose(p.to);
  print_marks(to, text);
  free(text);
  free(p.paragraph);
}
