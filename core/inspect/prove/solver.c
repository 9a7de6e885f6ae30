// SPDX-License-Identifier: MIT
// Questions to Z3, in SMT-LIB 2, over whole numbers. Each question declares the symbols that it needs, with their ranges and rules, and
// adds lemmas about products: a solver for nonlinear arithmetic rarely finds them.
#include "prove.h"
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static FILE *to_solver, *from_solver;

void start_solver(void) {
  int down[2], up[2];
  signal(SIGPIPE, SIG_IGN);
  if (pipe(down) || pipe(up))
    not_tried("no pipe can be made");
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // it may be busy when its questioner ends
    dup2(down[0], 0);
    dup2(up[1], 1);
    close(down[1]);
    close(up[0]);
    execlp("z3", "z3", "-in", "-smt2", (char *)NULL);
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  to_solver = fdopen(down[1], "w");
  from_solver = fdopen(up[0], "r");
  char line[100];
  fprintf(to_solver, "(set-option :timeout %d)\n(echo \"ready\")\n", options.milliseconds);
  fflush(to_solver);
  if (child < 0 || !fgets(line, sizeof line, from_solver) || strcmp(line, "ready\n") != 0)
    exit(EXIT_NO_TOOLS);
}

// ---- instances ----------------------------------------------------------------------------------------------------------------

const char *instance_of(const char *text, int thread, bool same_block) {
  char *copy = allocate(2 * strlen(text) + 1), *to = copy;
  for (; *text; text++)
    if (*text == '@' || (*text == '%' && !same_block))
      to += sprintf(to, "_%d", thread);
    else if (*text != '%')
      *to++ = *text;
  return copy;
}

static int *used, used_count;
static bool *is_used;

static void use_symbols(const char *text) {
  for (; *text; text++) {
    const bool begins = *text == 's' && isdigit((unsigned char)text[1]);
    const int n = begins ? atoi(text + 1) : 0;
    if (n > 0 && n < symbol_count && !is_used[n]) {
      is_used[n] = true;
      used[used_count++] = n;
    }
  }
}

static int copies_of(int symbol, bool same_block) {
  const Scope scope = symbols[symbol].scope;
  return scope == PER_THREAD || (scope == PER_BLOCK && !same_block) ? 2 : 1;
}

static void declare(FILE *out, int n, bool same_block) {
  const Symbol *s = &symbols[n];
  for (int t = 1; t <= copies_of(n, same_block); t++) {
    const char *name = instance_of(s->name, t, same_block);
    fprintf(out, "(declare-const %s %s)\n", name, s->is_condition ? "Bool" : "Int");
    if (!s->is_condition)
      fprintf(out, "(assert (<= %s %s %s))\n", number_text(s->low), name, number_text(s->high));
  }
}

static void assert_rule(FILE *out, int n, bool same_block) {
  const char *rule = symbols[n].rule, *first = rule ? instance_of(rule, 1, same_block) : NULL,
             *second = rule ? instance_of(rule, 2, same_block) : NULL;
  if (rule)
    fprintf(out, "(assert %s)\n", first);
  if (rule && strcmp(first, second) != 0)
    fprintf(out, "(assert %s)\n", second);
}

// ---- lemmas -------------------------------------------------------------------------------------------------------------------

// A product, instantiated: "(* s1 s2_1)" has the factors s1 and s2_1.
enum { MAX_PRODUCTS = 120, MAX_LEMMAS = 600 };
typedef struct Product {
  const char *factors[DEGREE];
  int count;
} Product;
static Product products[MAX_PRODUCTS];
static int product_count;

static bool same_product(const Product *a, const Product *b) {
  bool same = a->count == b->count;
  for (int i = 0; same && i < a->count; i++)
    same = strcmp(a->factors[i], b->factors[i]) == 0;
  return same;
}

static void find_products(const char *text) {
  for (; (text = strstr(text, "(* s")); text++) {
    Product p = {0};
    for (const char *at = text + 3; *at != ')' && p.count < DEGREE;) {
      const size_t length = strcspn(at, " )");
      p.factors[p.count++] = text_of("%.*s", (int)length, at);
      at += length + strspn(at + length, " ");
    }
    bool known = product_count == MAX_PRODUCTS;
    for (int i = 0; i < product_count && !known; i++)
      known = same_product(&products[i], &p);
    if (!known)
      products[product_count++] = p;
  }
}

static const char *product_text(const Product *p, int without) {
  char *text = (char *)"";
  int count = 0;
  for (int i = 0; i < p->count; i++)
    if (i != without)
      text = text_of("%s%s%s", text, count++ ? " " : "", p->factors[i]);
  return count > 1 ? text_of("(* %s)", text) : text;
}

// u w and v w: u < v and w >= 0 imply u w + w <= v w.
static int compare_products(FILE *out, const Product *a, const Product *b) {
  int count = 0;
  for (int i = 0; i < a->count; i++)
    for (int k = 0; k < b->count; k++) {
      const char *rest = product_text(a, i), *u = a->factors[i], *v = b->factors[k];
      if (strcmp(u, v) == 0 || strcmp(rest, product_text(b, k)) != 0)
        continue;
      const char *x = product_text(a, -1), *y = product_text(b, -1);
      fprintf(out, "(assert (=> (and (< %s %s) (>= %s 0)) (<= (+ %s %s) %s)))\n", u, v, rest, x, rest, y);
      fprintf(out, "(assert (=> (and (< %s %s) (>= %s 0)) (<= (+ %s %s) %s)))\n", v, u, rest, y, rest, x);
      count += 2;
    }
  return count;
}

static void put_lemmas(FILE *out) {
  int count = 0;
  for (int i = 0; i < product_count; i++) {
    for (int k = 0; k < products[i].count && count < MAX_LEMMAS; k++, count += 2) {
      const char *rest = product_text(&products[i], k), *u = products[i].factors[k],
                 *x = product_text(&products[i], -1);
      fprintf(out, "(assert (=> (and (>= %s 1) (>= %s 0)) (>= %s %s)))\n", u, rest, x, rest);
      fprintf(out, "(assert (=> (and (<= %s 0) (>= %s 0)) (<= %s 0)))\n", u, rest, x);
    }
    for (int k = 0; k < i && count < MAX_LEMMAS; k++)
      count += compare_products(out, &products[i], &products[k]);
  }
}

// ---- questions ------------------------------------------------------------------------------------------------------------------

// Such launches are small enough to run.
static void put_small(FILE *out, bool same_block) {
  for (int i = 0; i < used_count; i++) {
    const Symbol *s = &symbols[used[i]];
    if (s->scope == PER_LAUNCH && s->shown && !s->is_condition)
      fprintf(out, "(assert (<= %s %s))\n", instance_of(s->name, 1, same_block),
              strncmp(s->shown, "gridDim", 7) == 0    ? "4"
              : strncmp(s->shown, "blockDim", 8) == 0 ? "256"
                                                      : "2000");
  }
}

static Answer read_answer(void) {
  char line[1000];
  fflush(to_solver);
  if (!fgets(line, sizeof line, from_solver))
    not_tried("Z3 has ended");
  if (options.verbose)
    fprintf(stderr, "%s", line);
  if (strncmp(line, "(error", 6) == 0)
    not_tried("Z3 says %s", line);
  return strcmp(line, "unsat\n") == 0 ? UNSATISFIABLE : strcmp(line, "sat\n") == 0 ? SATISFIABLE : UNKNOWN;
}

Answer ask(const char *first, const char *second, const char *both, bool same_block, bool small) {
  static bool open;
  char *question;
  size_t length;
  FILE *out = open_memstream(&question, &length);
  used = used ? used : allocate(sizeof *used * MAX_SYMBOLS);
  is_used = is_used ? is_used : allocate(MAX_SYMBOLS);
  memset(is_used, 0, MAX_SYMBOLS);
  used_count = product_count = 0;
  use_symbols(first);
  use_symbols(second);
  use_symbols(both);
  for (int i = 0; i < used_count; i++)
    if (symbols[used[i]].rule)
      use_symbols(symbols[used[i]].rule);
  for (int i = 0; i < used_count; i++)
    declare(out, used[i], same_block);
  for (int i = 0; i < used_count; i++)
    assert_rule(out, used[i], same_block);
  fprintf(out, "(assert %s)\n(assert %s)\n(assert %s)\n", instance_of(first, 1, same_block),
          instance_of(second, 2, same_block), both);
  fflush(out);
  find_products(question);
  put_lemmas(out);
  if (small)
    put_small(out, same_block);
  fclose(out);
  if (options.verbose)
    fprintf(stderr, "%s", question);
  fprintf(to_solver, "%s(push)\n%s(check-sat)\n", open ? "(pop)\n" : "", question);
  free(question);
  open = true;
  return read_answer();
}

const char *model_value(int symbol, int thread, bool same_block) {
  static char line[300];
  if (!is_used[symbol])
    return NULL;
  const char *name = instance_of(symbols[symbol].name, thread, same_block);
  fprintf(to_solver, "(get-value (%s))\n", name);
  fflush(to_solver);
  if (!fgets(line, sizeof line, from_solver) || strncmp(line, "((", 2) != 0)
    return NULL;
  char *value = line + 2 + strlen(name) + 1;
  value[strcspn(value, "\n")] = '\0';
  char *end = value + strlen(value) - 2;
  *end = '\0';
  if (strncmp(value, "(- ", 3) == 0) {
    value[strlen(value) - 1] = '\0';
    value += 2;
    *value = '-';
  }
  return value;
}
