// SPDX-License-Identifier: MIT
// The command line of `ferry scale`.
#include "tool/scale/scale_options.h"
#include "tool/commands.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char COMMAND[] = "scale";

typedef struct Given {
  const char *parameters, *buckets, *step, *forward, *backward, *gpus, *network, *node, *per_node, *alpha, *beta,
      *algorithm, *batch;
} Given;

const char *scale_algorithm_name(ScaleAlgorithm algorithm) {
  static const char *const names[] = {"best", "ring", "tree"};
  return names[algorithm];
}

// ---- numbers with units --------------------------------------------------------------------------------------------------

typedef struct Unit {
  const char *name;
  double factor;
} Unit;

static const Unit seconds[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {NULL, 0}};
static const Unit bytes[] = {{"", 1}, {"B", 1}, {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};
static const Unit rates[] = {{"B/s", 1}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"Gbit/s", 1e9 / 8}, {NULL, 0}};
static const Unit numbers[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}};

// Up to `length` characters of text: a positive number (0 where it may be) and a unit. Negative where it is none.
static double number(const char *text, size_t length, const Unit *units, bool zero) {
  char copy[64], *end;
  if (length == 0 || length >= sizeof copy || !(isdigit((unsigned char)*text) || *text == '.'))
    return -1;
  memcpy(copy, text, length);
  copy[length] = '\0';
  double value = strtod(copy, &end);
  if (!(value > 0 || (zero && value == 0)) || !isfinite(value))
    return -1;
  for (const Unit *u = units; u->name; u++)
    if (strcmp(end, u->name) == 0)
      return value * u->factor;
  return -1;
}

static bool duration(const char *text, double *to, bool zero) {
  *to = number(text, strlen(text), seconds, zero);
  return *to >= 0 && *to <= 1e5;
}

// ---- lists ---------------------------------------------------------------------------------------------------------------

// The next of a list with commas; its length, and `at` moves on. False at the end.
static bool next_of(const char **at, const char **item, size_t *length) {
  if (!*at)
    return false;
  *item = *at;
  const char *comma = strchr(*at, ',');
  *length = comma ? (size_t)(comma - *at) : strlen(*at);
  *at = comma ? comma + 1 : NULL;
  return true;
}

static int read_gpus(ScaleOptions *o, const char *list) {
  const char *at = list ? list : "8,16,32,64,128,256,512,1024,2048,4096", *item;
  size_t length;
  while (next_of(&at, &item, &length)) {
    double n = number(item, length, numbers, false);
    if (n < 1 || n > SCALE_LARGEST || n != floor(n))
      return usage_error(COMMAND, "--gpus takes whole numbers from 1 to %d with commas, not \"%.*s\"", SCALE_LARGEST,
                         (int)length, item);
    if (o->gpu_count == SCALE_MAX_GPUS)
      return usage_error(COMMAND, "--gpus takes at most %d numbers", SCALE_MAX_GPUS);
    o->gpus[o->gpu_count++] = (int)n;
  }
  for (int i = 0; i < o->gpu_count; i++)
    if (o->gpus[i] > o->per_node && o->gpus[i] % o->per_node != 0)
      return usage_error(COMMAND, "%d GPUs are no whole number of nodes of %d; ask for %d, or say --per-node",
                         o->gpus[i], o->per_node, o->gpus[i] / o->per_node * o->per_node);
  return -1;
}

static void network_names(char *text, size_t size) {
  *text = '\0';
  for (int i = 0; scale_network_at(i); i++)
    snprintf(text + strlen(text), size - strlen(text), "%s%s", i ? ", " : "", scale_network_at(i)->name);
}

static int read_network(ScaleOptions *o, const char *item, size_t length) {
  ScaleNetwork *n = &o->networks[o->network_count];
  char names[256];
  if (o->network_count == SCALE_MAX_NETWORKS)
    return usage_error(COMMAND, "--network takes at most %d names", SCALE_MAX_NETWORKS);
  snprintf(n->name, sizeof n->name, "%.*s", (int)length, item);
  char *name = n->name, *end;
  n->adapters = 1;
  long adapters = strtol(n->name, &end, 10);
  if (end > n->name && *end == 'x') {
    n->adapters = adapters >= 1 && adapters <= 64 ? (int)adapters : 0;
    name = end + 1;
  }
  n->hardware = scale_network(name);
  network_names(names, sizeof names);
  if (!n->hardware || n->adapters == 0)
    return usage_error(COMMAND, "there is no network \"%s\": it is one of %s, with 8x before it for 8 adapters a node",
                       n->name, names);
  o->network_count++;
  return -1;
}

static int read_networks(ScaleOptions *o, const Given *g) {
  const char *at = g->network ? g->network : "eth-10,eth-25,eth-100,4xib-edr,8xib-hdr,8xib-ndr", *item;
  double alpha = -1, beta = -1;
  size_t length;
  if ((g->alpha || g->beta) && !g->network)
    at = "eth-100";
  if (g->alpha && !duration(g->alpha, &alpha, true))
    return usage_error(COMMAND, "--alpha takes the time of a message without its bytes, as 14us, not \"%s\"", g->alpha);
  if (g->beta) {
    double rate = number(g->beta, strlen(g->beta), rates, false);
    beta = rate > 0 ? 1 / rate : number(g->beta, strlen(g->beta), seconds, false);
    if (!(beta >= 1e-15 && beta <= 1))
      return usage_error(
          COMMAND, "--beta takes a rate, as 12GB/s or 100Gbit/s, or seconds a byte, as 8e-11, not \"%s\"", g->beta);
  }
  while (next_of(&at, &item, &length)) {
    int status = read_network(o, item, length);
    if (status >= 0)
      return status;
  }
  for (int i = 0; i < o->network_count; i++) {
    o->own[i] = *o->networks[i].hardware;
    o->own[i].alpha = alpha >= 0 ? alpha : o->own[i].alpha;
    o->own[i].rate = beta > 0 ? 1 / beta : o->own[i].rate;
    o->own[i].source = alpha >= 0 || beta > 0 ? "given" : o->own[i].source;
    o->networks[i].hardware = &o->own[i];
  }
  return -1;
}

static int read_cluster(ScaleOptions *o, const Given *g) {
  double per_node = g->per_node ? number(g->per_node, strlen(g->per_node), numbers, false) : 8;
  if (per_node < 1 || per_node > 1024 || per_node != floor(per_node))
    return usage_error(COMMAND, "--per-node takes a whole number of GPUs from 1 to 1024, not \"%s\"", g->per_node);
  o->per_node = (int)per_node;
  o->node = scale_node(g->node ? g->node : "nvlink3");
  if (!o->node)
    return usage_error(COMMAND, "there is no node \"%s\": it is one of nvlink1 to nvlink5, pcie3", g->node);
  for (o->algorithm = SCALE_BEST; g->algorithm && strcmp(g->algorithm, scale_algorithm_name(o->algorithm)) != 0;
       o->algorithm++)
    if (o->algorithm == SCALE_TREE)
      return usage_error(COMMAND, "--algorithm takes ring, tree or best, not \"%s\"", g->algorithm);
  int status = read_networks(o, g);
  return status >= 0 ? status : read_gpus(o, g->gpus);
}

// ---- what is sent --------------------------------------------------------------------------------------------------------

static int read_sizes(ScaleOptions *o, const char *list) {
  double sizes[512];
  int count = 0;
  const char *at = list, *item;
  for (size_t length; next_of(&at, &item, &length); count++) {
    if (count == 512)
      return usage_error(COMMAND, "--buckets takes at most 512 sizes");
    sizes[count] = number(item, length, bytes, false);
    if (sizes[count] < 1 || sizes[count] > 1e15)
      return usage_error(COMMAND, "--buckets takes sizes with commas, as 1MiB,25MiB, not \"%.*s\"", (int)length, item);
  }
  o->buckets = scale_buckets_of_sizes(sizes, count);
  o->step.bucket_count = count;
  return -1;
}

static int read_gradients(ScaleOptions *o, const Given *g) {
  int element = 4, status = -1;
  if (o->dtype && strcmp(o->dtype, "float16") != 0 && strcmp(o->dtype, "bfloat16") != 0 &&
      strcmp(o->dtype, "float32") != 0)
    return usage_error(COMMAND, "--dtype takes float32, float16 or bfloat16, not \"%s\"", o->dtype);
  element = o->dtype && strcmp(o->dtype, "float32") != 0 ? 2 : 4;
  o->dtype = o->dtype ? o->dtype : "float32";
  if ((o->model != NULL) + (g->parameters != NULL) + (g->buckets != NULL) != 1)
    return usage_error(COMMAND, "say what is sent by one of --model NAME, --parameters N and --buckets SIZE,SIZE");
  if (g->buckets)
    status = read_sizes(o, g->buckets);
  if (g->parameters) {
    o->parameters = number(g->parameters, strlen(g->parameters), numbers, false);
    if (o->parameters < 1 || o->parameters > 1e13)
      return usage_error(COMMAND, "--parameters takes a number, as 25600000 or 25.6M, not \"%s\"", g->parameters);
    o->buckets = scale_buckets_of_parameters(o->parameters, element, &o->step.bucket_count);
  }
  if (o->model) {
    bool known = false;
    for (int i = 0; scale_model_at(i); i++)
      known |= strcmp(scale_model_at(i)->name, o->model) == 0;
    if (!known)
      return usage_error(
          COMMAND, "there is no model \"%s\" (./ferry scale --list has them); --parameters N is for others", o->model);
    o->buckets = scale_buckets_of_model(o->model, element, &o->step.bucket_count, &o->parameters);
  }
  if (status < 0 && !o->buckets) {
    fprintf(stderr, "ferry scale: no memory\n");
    return EXIT_GRADER;
  }
  o->step.buckets = o->buckets;
  return status;
}

// ---- a step's time -------------------------------------------------------------------------------------------------------

// A row of a file of ./ferry bench: the one with the largest batch where none is asked for.
typedef struct Row {
  char machine[96], device[96], date[32];
  double seconds, batch;
  bool simulated, is_bench;
} Row;

static void header(const char *line, const char *key, char *to, size_t size) {
  if (strncmp(line, "# ", 2) == 0 && strncmp(line + 2, key, strlen(key)) == 0 && line[2 + strlen(key)] == ':')
    snprintf(to, size, "%.*s", (int)strcspn(line + 4 + strlen(key), "\n"), line + 4 + strlen(key));
}

// Columns: bench, device, simulated, dtype, size, repeat, median.
static void read_row(Row *row, char *line, const char *bench, double batch) {
  char *columns[7], *rest = line;
  for (int i = 0; i < 7; i++)
    if (!(columns[i] = strsep(&rest, "\t")))
      return;
  row->is_bench |= strcmp(columns[0], "bench") == 0 && strcmp(columns[6], "median") == 0;
  if (!row->is_bench || strcmp(columns[0], bench) != 0 || strcmp(columns[3], "float32") != 0)
    return;
  double size = strtod(columns[4], NULL), median = strtod(columns[6], NULL);
  if (!(median > 0) || !(batch > 0 ? size == batch : size > row->batch))
    return;
  row->simulated |= strcmp(columns[2], "no") != 0;
  row->seconds = median;
  row->batch = size;
}

static int read_bench(ScaleOptions *o) {
  char bench[80], line[4096], simulated[8] = "";
  Row row = {.seconds = 0};
  if (!o->model)
    return usage_error(COMMAND, "--bench takes a model's step from the file: it needs --model, one of ./ferry bench's");
  snprintf(bench, sizeof bench, "train_%s", o->model);
  FILE *file = fopen(o->bench, "re");
  if (!file)
    return usage_error(COMMAND, "%s cannot be read: %s", o->bench, strerror(errno));
  while (fgets(line, sizeof line, file)) {
    header(line, "machine", row.machine, sizeof row.machine);
    header(line, "device_name", row.device, sizeof row.device);
    header(line, "date", row.date, sizeof row.date);
    header(line, "simulated", simulated, sizeof simulated);
    if (*line != '#')
      read_row(&row, line, bench, o->batch);
  }
  fclose(file);
  if (!row.is_bench)
    return usage_error(COMMAND, "%s is no file of ./ferry bench; make one: ./ferry bench %s --out FILE", o->bench,
                       bench);
  if (row.seconds <= 0)
    return usage_error(COMMAND, "%s has no row %s%s in float32; measure it: ./ferry bench %s --out FILE", o->bench,
                       bench, o->batch > 0 ? " of that --batch" : "", bench);
  if (row.simulated || strcmp(simulated, "no") != 0)
    return usage_error(COMMAND, "%s was measured on simulated devices, whose times say nothing about a GPU", o->bench);
  scale_divide(&o->step, row.seconds);
  snprintf(o->step_from, sizeof o->step_from, "measured: batch %.0f, %s%s%s, %s", row.batch, row.machine,
           strstr(row.machine, row.device) ? "" : ", ", strstr(row.machine, row.device) ? "" : row.device, row.date);
  return -1;
}

static int read_step(ScaleOptions *o, const Given *g) {
  double step = 0, forward = 0, backward = 0;
  bool parts = g->forward || g->backward;
  if (g->batch && (o->batch = number(g->batch, strlen(g->batch), numbers, false)) < 1)
    return usage_error(COMMAND, "--batch takes a number of samples, not \"%s\"", g->batch);
  if (g->batch && !o->bench)
    return usage_error(COMMAND, "--batch chooses a row of --bench FILE, which is missing");
  if (o->bench && (g->step || parts))
    return usage_error(COMMAND, "--bench FILE has the step's time: leave out --step-time, --forward and --backward");
  if (o->bench)
    return read_bench(o);
  if (!g->step && !(g->forward && g->backward))
    return usage_error(COMMAND,
                       "say how long a step takes on one GPU: --step-time 97ms, or --forward and --backward, or "
                       "--bench FILE");
  if (parts && !(g->forward && g->backward))
    return usage_error(COMMAND, "--forward and --backward belong together");
  if (g->step && !duration(g->step, &step, false))
    return usage_error(COMMAND, "--step-time takes a time, as 97ms, not \"%s\"", g->step);
  if (g->forward && !duration(g->forward, &forward, true))
    return usage_error(COMMAND, "--forward takes a time, as 32ms, not \"%s\"", g->forward);
  if (g->backward && !duration(g->backward, &backward, false))
    return usage_error(COMMAND, "--backward takes a time, as 65ms, not \"%s\"", g->backward);
  if (g->step && parts && forward + backward > step * (1 + 1e-9))
    return usage_error(COMMAND, "--forward and --backward are together longer than --step-time");
  scale_divide(&o->step, step);
  if (parts) {
    o->step.forward = forward;
    o->step.backward = backward;
    o->step.rest = g->step ? fmax(step - forward - backward, 0) : 0;
  }
  snprintf(o->step_from, sizeof o->step_from, "%s", parts ? "given" : "given; divided 1 : 2, which is assumed");
  return -1;
}

// ---- everything ----------------------------------------------------------------------------------------------------------

static const char **value_of(ScaleOptions *o, Given *g, const char *option) {
  const struct {
    const char *name, **place;
  } options[] = {{"--model", &o->model},       {"--parameters", &g->parameters},
                 {"--buckets", &g->buckets},   {"--dtype", &o->dtype},
                 {"--step-time", &g->step},    {"--forward", &g->forward},
                 {"--backward", &g->backward}, {"--bench", &o->bench},
                 {"--batch", &g->batch},       {"--gpus", &g->gpus},
                 {"--network", &g->network},   {"--node", &g->node},
                 {"--per-node", &g->per_node}, {"--alpha", &g->alpha},
                 {"--beta", &g->beta},         {"--algorithm", &g->algorithm},
                 {"--plot", &o->plot}};
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    if (strcmp(options[i].name, option) == 0)
      return options[i].place;
  return NULL;
}

static bool *flag_of(ScaleOptions *o, const char *option) {
  const struct {
    const char *name;
    bool *place;
  } flags[] = {{"--events", &o->events},
               {"--json", &o->json},
               {"--csv", &o->csv},
               {"--published", &o->published},
               {"--list", &o->list}};
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    if (strcmp(flags[i].name, option) == 0)
      return flags[i].place;
  return NULL;
}

int scale_options(ScaleOptions *o, int argc, char **argv) {
  Given g = {.step = NULL};
  for (int i = 1; i < argc; i++) {
    const char **value = value_of(o, &g, argv[i]);
    bool *flag = flag_of(o, argv[i]);
    if (!value && !flag)
      return no_option(COMMAND, argv[i]);
    if (value && i + 1 == argc)
      return usage_error(COMMAND, "%s needs a value", argv[i]);
    if (value)
      *value = argv[++i];
    else
      *flag = true;
  }
  if (o->json + o->csv > 1)
    return usage_error(COMMAND, "--json or --csv, not both");
  if (o->published || o->list)
    return -1;
  if (o->events && !o->json && !o->csv && (!g.network || strchr(g.network, ',')))
    return usage_error(COMMAND, "--events is for the table of one --network, or for --json and --csv");
  int status = read_gradients(o, &g);
  status = status < 0 ? read_step(o, &g) : status;
  return status < 0 ? read_cluster(o, &g) : status;
}
