// `ferry inspect`: what a file's kernels do, line by line.
#include "tool/commands.h"
#include "inspect/report/inspection.h"
#include "model/gpu.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse(int argc, char **argv, InspectOptions *o) {
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    const char **value = strcmp(option, "--kernel") == 0    ? &o->kernel
                         : strcmp(option, "--blocks") == 0  ? &o->blocks
                         : strcmp(option, "--program") == 0 ? &o->program
                         : strcmp(option, "--json") == 0    ? &o->json
                         : strcmp(option, "--html") == 0    ? &o->html
                         : strcmp(option, "--gpu") == 0     ? &o->gpu
                         : strcmp(option, "--sandbox") == 0 ? &o->sandbox
                                                            : NULL;
    if (strcmp(option, "--") == 0) {
      o->arguments = argv + i; // the program's own name goes where -- was
      break;
    }
    if (strcmp(option, "--table") == 0 || strcmp(option, "--quiet") == 0) {
      o->quiet = true;
      o->table |= strcmp(option, "--table") == 0;
      continue;
    }
    if (strcmp(option, "--once") == 0) {
      o->once = true;
      continue;
    }
    if (strcmp(option, "--no-registers") == 0) {
      o->no_registers = true;
      continue;
    }
    if (strcmp(option, "--nvcc") == 0) {
      o->nvcc = true;
      continue;
    }
    if (strcmp(option, "--with") == 0) {
      if (i + 1 == argc || o->with_count == INSPECT_FILES)
        return usage_error(argv[0], "--with needs a file, and there can be %d of them", INSPECT_FILES);
      o->with[o->with_count++] = argv[++i];
      continue;
    }
    if (value && i + 1 == argc)
      return usage_error(argv[0], "%s needs a value", option);
    if (value)
      *value = argv[++i];
    else if (option[0] == '-')
      return no_option(argv[0], option);
    else if (o->file)
      return usage_error(argv[0], "one file at a time: %s or %s", o->file, option);
    else
      o->file = option;
  }
  if (o->program ? o->file != NULL || o->html != NULL : !o->file)
    return o->program ? usage_error(argv[0], "--program takes the place of the file, and gives no page")
                      : usage_error(argv[0], "which file? ./ferry inspect FILE.cu");
  char *end = (char *)"";
  if (o->blocks && (strtol(o->blocks, &end, 10) < 1 || *end))
    return usage_error(argv[0], "--blocks takes a number from 1 on, not %s", o->blocks);
  return EXIT_PASS;
}

static bool has_main(const char *text) {
  for (const char *at = text; (at = strstr(at, "main")); at += 4)
    if (at > text && (at[-1] == ' ' || at[-1] == '\n') && at[4 + strspn(at + 4, " \t")] == '(')
      return true;
  return false;
}

// An answer has no main of its own: 65_tiled_matmul.cu, or a file in a folder of that name.
static const Exercise *exercise_of(const char *file) {
  char path[4096];
  snprintf(path, sizeof path, "%s", file);
  for (int turn = 0; turn < 2; turn++) {
    char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    name[strcspn(name, ".")] = '\0';
    for (int i = 0; i < exercise_count(); i++)
      if (strcmp(exercise_at(i)->id, name) == 0 && strcmp(exercise_extension(exercise_at(i)), "cu") == 0)
        return exercise_at(i);
    if (!slash)
      return NULL;
    *slash = '\0';
  }
  return NULL;
}

static int not_a_program(const InspectOptions *o) {
  fprintf(stderr,
          "ferry inspect: %s has no main, and is no answer to an exercise: nothing would launch its kernels.\n"
          "Write a main that does, or name the file as its exercise (65_tiled_matmul.cu).\n",
          o->file);
  return EXIT_USAGE;
}

static bool run_and_add(Inspection *i, const InspectBuild *b, const InspectOptions *o, bool descending) {
  char record[512];
  int status =
      inspect_run(b, o, descending ? "descending" : "ascending", descending || o->quiet, record, sizeof record);
  if (!descending && status != 0)
    printf("(the program ended with status %d%s)\n", status, status > 128 ? ", by a signal" : "");
  if (status >= 0 && inspection_add(i, b, record, descending))
    return true;
  fprintf(stderr,
          "ferry inspect: the program left no record (status %d): it was killed, or has called _exit or abort\n",
          status);
  return false;
}

// A scored test has large inputs: as many blocks of each launch are looked at as when it is scored, unless something else was asked for.
static const InspectOptions *with_blocks(const InspectOptions *o, const Test *test) {
  static InspectOptions some;
  static char blocks[16];
  if (!test->scored || test->scored->blocks <= 0 || o->blocks)
    return o;
  some = *o;
  snprintf(blocks, sizeof blocks, "%d", test->scored->blocks);
  some.blocks = blocks;
  return &some;
}

static bool run_all(Inspection *i, InspectBuild *b, const InspectOptions *o) {
  const int orders = o->once ? 1 : 2;
  for (int n = 0; n < orders && !o->exercise; n++)
    if (!run_and_add(i, b, o, n == 1))
      return false;
  const Test *tests = o->exercise ? o->exercise->tests : NULL;
  for (const Test *t = tests; t && t < tests + MAX_TESTS && t->name; t++)
    for (int n = 0; n < orders && !t->huge; n++)
      if (!inspect_answer_run(i, b, with_blocks(o, t), n == 1, t->name))
        return false;
  return true;
}

static void say_left_out(const Exercise *e) {
  for (const Test *t = e->tests; t < e->tests + MAX_TESTS && t->name; t++)
    if (t->huge)
      printf("  left out, since it takes long to look at so much: the test\n  \"%s\"\n", t->name);
}

static bool knows_kernel(const Inspection *i, const char *name) {
  for (int k = 0; k < i->kernel_count; k++)
    if (strncmp(i->kernels[k].launch, name, strlen(name)) == 0)
      return true;
  return false;
}

static int report(Inspection *i, const InspectBuild *b, const InspectOptions *o) {
  char said[512];
  inspection_finish(i);
  if (inspect_ask_ptxas(b, o, said, sizeof said))
    inspection_registers(i, said);
  if (o->kernel && !knows_kernel(i, o->kernel)) {
    fprintf(stderr, "ferry inspect: no kernel %s was launched; without --kernel all are shown\n", o->kernel);
    return EXIT_USAGE;
  }
  if (o->table)
    inspect_print_table(i, o->kernel);
  else
    inspect_print(i);
  if (!o->table && o->exercise)
    say_left_out(o->exercise);
  if ((o->json && !inspect_write_json(i, o->json)) || (o->html && !inspect_write_html(i, o->html))) {
    fprintf(stderr, "ferry inspect: the report cannot be written: %s\n", file_problem());
    return EXIT_GRADER;
  }
  return inspection_errors(i) ? EXIT_ANSWER : EXIT_PASS;
}

// An answer runs in the sandbox, a program as the user's own. An answer with a main would be taken for a program, so what may be either is
// neither.
static int which_of_both(InspectOptions *o, const char *text) {
  const Exercise *e = o->file ? exercise_of(o->file) : NULL;
  const bool program = !text || has_main(text), own = o->sandbox && strcmp(o->sandbox, "none") == 0;
  if (program && e && text && !own)
    return usage_error(
        "inspect",
        "%s is named as an answer to %s, and has a main. An answer has none; --sandbox none runs it as a "
        "program of yours, with nothing between it and your files",
        o->file, e->id);
  if (!program && !e)
    return not_a_program(o);
  o->exercise = program ? NULL : e;
  if (o->exercise && o->with_count > 0)
    return usage_error("inspect", "--with is for programs: an answer is one file");
  return o->exercise ? begin_sandbox("inspect", o->sandbox) : -1;
}

static bool build(InspectBuild *b, const InspectOptions *o) {
  if (o->exercise)
    return inspect_answer_build(b, o);
  const bool good = inspect_compile(b, o);
  if (good && !inspect_has_loops(o) && !inspect_write_mix(b, b->mix, sizeof b->mix))
    b->mix[0] = '\0';
  return good;
}

static bool can_be_played(const char *id) {
  const struct model_gpu *gpu = model_gpu_named(id);
  return gpu && model_gpu_can_be_played(gpu);
}

int cmd_inspect(int argc, char **argv) {
  static char *no_arguments[2];
  InspectOptions o = {.arguments = no_arguments};
  InspectBuild b = {0};
  int status = parse(argc, argv, &o);
  if (status != EXIT_PASS)
    return status;
  file_claim_stdout(o.json);
  file_claim_stdout(o.html);
  char *text = o.program ? NULL : file_read(o.file, NULL);
  if (!text && !o.program) {
    fprintf(stderr, "ferry inspect: %s cannot be read: %s\n", o.file, strerror(errno));
    return EXIT_USAGE;
  }
  const char *shown = o.program ? o.program : o.file, *name = strrchr(shown, '/');
  Inspection i = {.source = b.source, .title = name ? name + 1 : shown, .text = text};
  if (o.gpu && !can_be_played(o.gpu))
    return usage_error(argv[0], "no GPU %s can be played: FERRY_SIM_GPU=list shows which", o.gpu);
  if ((status = which_of_both(&o, text)) >= 0)
    return status;
  i.gpu = o.gpu ? o.gpu : getenv("FERRY_SIM_GPU");
  const bool good = build(&b, &o) && run_all(&i, &b, &o);
  status = good ? report(&i, &b, &o) : EXIT_GRADER;
  if (b.answer)
    inspect_answer_clean(&b);
  inspect_clean(&b);
  free(text);
  return status;
}
