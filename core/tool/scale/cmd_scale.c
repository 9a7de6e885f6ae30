// SPDX-License-Identifier: MIT
// `ferry scale`: what is left of many GPUs' speed, on paper.
#include "tool/commands.h"
#include "tool/compile/config.h"
#include "tool/print/text.h"
#include "tool/scale/scale_options.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// The message-by-message run is for no more than so much.
enum { EVENTS_GPUS = 64, EVENTS_BUCKETS = 512 };
static const double EVENTS_BYTES = 4.0 * (1 << 30);

static double one_gpu(const ScaleOptions *o) {
  return o->step.forward + o->step.backward + o->step.rest;
}

static ScaleCluster cluster_of(const ScaleOptions *o, int network, int gpus) {
  ScaleCluster c;
  scale_cluster(&c, gpus, o->per_node, o->node, o->networks[network].hardware, o->networks[network].adapters);
  return c;
}

static ScaleResult result_of(const ScaleOptions *o, int network, int gpus) {
  ScaleCluster c = cluster_of(o, network, gpus);
  return scale_step(&c, o->algorithm, &o->step);
}

static double bytes_of(const ScaleOptions *o) {
  double bytes = 0;
  for (int i = 0; i < o->step.bucket_count; i++)
    bytes += o->step.buckets[i].bytes;
  return bytes;
}

// Negative where it was not asked for, or is too large.
static double events_of(const ScaleOptions *o, int network, int gpus) {
  ScaleCluster c = cluster_of(o, network, gpus);
  bool small = gpus <= EVENTS_GPUS && o->step.bucket_count <= EVENTS_BUCKETS && bytes_of(o) <= EVENTS_BYTES;
  return o->events && small ? scale_step_by_events(&c, o->algorithm, &o->step) : -1;
}

// Words in lines of no more than 80 columns, the first after `first`, the others after as many spaces.
static void print_wrapped(const char *first, const char *text) {
  int indent = printf("%s", first), column = indent;
  for (size_t length; *text; text += length + strspn(text + length, " ")) {
    length = strcspn(text, " ");
    if (column > indent && column + 1 + (int)length > 80) {
      printf("\n%*s", indent, "");
      column = indent;
    }
    column += printf("%s%.*s", column > indent ? " " : "", (int)length, text);
  }
  printf("\n");
}

// ---- for people ----------------------------------------------------------------------------------------------------------

static void print_link(const char *what, const char *name, const ScaleHardware *h) {
  printf("%-14s %s: %s\n%15salpha %.1f us, %.1f GB/s (%s)\n", what, name, h->about, "", 1e6 * h->alpha, 1e-9 * h->rate,
         h->source);
}

static void print_inputs(const ScaleOptions *o) {
  printf("%smodeled%s, not measured: on paper, from these numbers\n", style(BOLD), style(PLAIN));
  printf("gradients      %s%s%.1f MiB of %s in %d buckets\n", o->model ? o->model : "", o->model ? ": " : "",
         bytes_of(o) / (1 << 20), o->dtype, o->step.bucket_count);
  char step[160];
  snprintf(step, sizeof step, "%.4g ms on one GPU: forward %.4g, backward %.4g, rest %.4g", 1e3 * one_gpu(o),
           1e3 * o->step.forward, 1e3 * o->step.backward, 1e3 * o->step.rest);
  print_wrapped("step           ", step);
  print_wrapped("               ", o->step_from);
  char what[40];
  snprintf(what, sizeof what, "%d a node", o->per_node);
  print_link(what, o->node->name, o->node);
  for (int i = 0; i < o->network_count; i++)
    print_link(i ? "" : "between nodes", o->networks[i].name, o->networks[i].hardware);
  print_wrapped("source         ", scale_hardware_source());
  printf("all-reduce     %s, each bucket as soon as it is ready, in order\n\n", scale_algorithm_name(o->algorithm));
}

static const char *shade(double efficiency) {
  return style(efficiency >= 0.9 ? GREEN : efficiency >= 0.7 ? YELLOW : RED);
}

static void print_matrix(const ScaleOptions *o) {
  printf("%sefficiency, modeled%s\n  GPUs", style(BOLD), style(PLAIN));
  for (int n = 0; n < o->network_count; n++)
    printf(" %11s", o->networks[n].name);
  printf("\n");
  for (int i = 0; i < o->gpu_count; i++) {
    printf("%6d", o->gpus[i]);
    for (int n = 0; n < o->network_count; n++) {
      double e = result_of(o, n, o->gpus[i]).efficiency;
      printf(" %s%9.1f %%%s", shade(e), 100 * e, style(PLAIN));
    }
    printf("\n");
  }
}

static void print_details(const ScaleOptions *o) {
  printf("%s  GPUs      step ms  all-reduce ms  not hidden ms  efficiency%s%s\n", style(BOLD),
         o->events ? "  by events" : "", style(PLAIN));
  for (int i = 0; i < o->gpu_count; i++) {
    ScaleResult r = result_of(o, 0, o->gpus[i]);
    double events = events_of(o, 0, o->gpus[i]);
    printf("%6d %12.3f %14.3f %14.3f  %s%8.1f %%%s", o->gpus[i], 1e3 * r.seconds, 1e3 * r.communication,
           1e3 * r.exposed, shade(r.efficiency), 100 * r.efficiency, style(PLAIN));
    if (events > 0)
      printf("  %7.1f %%", 100 * one_gpu(o) / events);
    printf("\n");
  }
  if (o->events)
    printf("by events: the same schedule message by message, up to %d GPUs and 4 GiB\n", EVENTS_GPUS);
}

// ---- for programs --------------------------------------------------------------------------------------------------------

static void write_csv_of(const ScaleOptions *o, Text *t) {
  text_add(t,
           "kind,network,adapters,node,per_node,gpus,algorithm,one_gpu_s,step_s,all_reduce_s,not_hidden_s,efficiency,"
           "events_s\n");
  for (int n = 0; n < o->network_count; n++)
    for (int i = 0; i < o->gpu_count; i++) {
      ScaleResult r = result_of(o, n, o->gpus[i]);
      double events = events_of(o, n, o->gpus[i]);
      text_add(t, "modeled,%s,%d,%s,%d,%d,%s,%.9g,%.9g,%.9g,%.9g,%.6f,", o->networks[n].name, o->networks[n].adapters,
               o->node->name, o->per_node, o->gpus[i], scale_algorithm_name(o->algorithm), one_gpu(o), r.seconds,
               r.communication, r.exposed, r.efficiency);
      if (events > 0)
        text_add(t, "%.9g", events);
      text_add(t, "\n");
    }
}

static void json_link(Text *t, const char *name, const ScaleHardware *h) {
  text_add(t, "{\"name\": ");
  text_json(t, name);
  text_add(t, ", \"alpha_s\": %.9g, \"bytes_per_s\": %.9g, \"source\": ", h->alpha, h->rate);
  text_json(t, h->source);
}

static void write_json_of(const ScaleOptions *o, Text *t) {
  text_add(t, "{\n  \"kind\": \"modeled\",\n  \"model\": ");
  text_json(t, o->model ? o->model : "");
  text_add(
      t,
      ",\n  \"dtype\": \"%s\",\n  \"step\": {\"forward_s\": %.9g, \"backward_s\": %.9g, \"rest_s\": %.9g, \"from\": ",
      o->dtype, o->step.forward, o->step.backward, o->step.rest);
  text_json(t, o->step_from);
  text_add(t, "},\n  \"buckets\": [");
  for (int i = 0; i < o->step.bucket_count; i++)
    text_add(t, "%s{\"bytes\": %.0f, \"ready\": %.6f}", i ? ", " : "", o->step.buckets[i].bytes,
             o->step.buckets[i].ready);
  text_add(t, "],\n  \"source\": ");
  text_json(t, scale_hardware_source());
  text_add(t, ",\n  \"algorithm\": \"%s\",\n  \"per_node\": %d,\n  \"node\": ", scale_algorithm_name(o->algorithm),
           o->per_node);
  json_link(t, o->node->name, o->node);
  text_add(t, "},\n  \"networks\": [");
  for (int n = 0; n < o->network_count; n++) {
    text_add(t, "%s\n    ", n ? "," : "");
    json_link(t, o->networks[n].name, o->networks[n].hardware);
    text_add(t, ", \"adapters\": %d, \"rows\": [", o->networks[n].adapters);
    for (int i = 0; i < o->gpu_count; i++) {
      ScaleResult r = result_of(o, n, o->gpus[i]);
      double events = events_of(o, n, o->gpus[i]);
      text_add(t,
               "%s\n      {\"gpus\": %d, \"step_s\": %.9g, \"all_reduce_s\": %.9g, \"not_hidden_s\": %.9g, "
               "\"efficiency\": %.6f",
               i ? "," : "", o->gpus[i], r.seconds, r.communication, r.exposed, r.efficiency);
      if (events > 0)
        text_add(t, ", \"events_s\": %.9g", events);
      text_add(t, "}");
    }
    text_add(t, "]}");
  }
  text_add(t, "\n  ]\n}\n");
}

static int print_text(void (*write)(const ScaleOptions *o, Text *t), const ScaleOptions *o) {
  Text t = {0};
  write(o, &t);
  bool written = fwrite(t.at, 1, t.used, stdout) == t.used && fflush(stdout) == 0;
  text_free(&t);
  return written ? EXIT_PASS : EXIT_GRADER;
}

// ---- a picture -------------------------------------------------------------------------------------------------------------

// A line for each network, with tabs, and what the style of the other pictures wants to know.
static bool write_data(const ScaleOptions *o, const char *folder) {
  char path[4096];
  Text t = {0};
  text_add(&t, "gpus");
  for (int n = 0; n < o->network_count; n++)
    text_add(&t, "\t%s", o->networks[n].name);
  for (int i = 0; i < o->gpu_count; i++) {
    text_add(&t, "\n%d", o->gpus[i]);
    for (int n = 0; n < o->network_count; n++)
      text_add(&t, "\t%.6f", 100 * result_of(o, n, o->gpus[i]).efficiency);
  }
  text_add(&t, "\n");
  snprintf(path, sizeof path, "%s/modeled.dat", folder);
  bool written = file_write(path, t.at, t.used);
  text_free(&t);
  text_add(&t,
           "cpu_cpu = ''; cpu_cores = ''; cpu_threads = ''; cpu_date = ''; cpu_version = ''; cpu_commit = ''; "
           "cpu_others = ''\n"
           "cpu_recorded = 0; gpu_recorded = 0\nnetworks = %d; per_node = %d; bytes = %.0f; buckets = %d; step = %.9g\n"
           "model = '%s'; node = '%s'; source = '%s'\n",
           o->network_count, o->per_node, bytes_of(o), o->step.bucket_count, one_gpu(o),
           o->model ? o->model : "gradients", o->node->about, scale_hardware_source());
  text_add(&t, "step_from = \"");
  for (const char *c = o->step_from; *c; c++)
    text_add(&t, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
  text_add(&t, "\"\n");
  snprintf(path, sizeof path, "%s/info.gp", folder);
  written = file_write(path, t.at, t.used) && written;
  text_free(&t);
  return written;
}

static bool draw(const char *data, const char *theme, const char *format, const char *out) {
  char settings[12288], folder[4096], script[4096];
  in_root(folder, sizeof folder, "plots");
  in_root(script, sizeof script, "plots/modeled.gp");
  snprintf(settings, sizeof settings, "theme='%s'; format='%s'; data='%s'; folder='%s'; out='%s/modeled-%s.%s'", theme,
           format, data, folder, out, theme, format);
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    setenv("LC_ALL", "C.UTF-8", 1);
    execlp("gnuplot", "gnuplot", "-e", settings, script, (char *)NULL);
    _exit(127);
  }
  int status = -1;
  if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr,
            WIFEXITED(status) && WEXITSTATUS(status) == 127
                ? "ferry scale: gnuplot is not installed (Debian: apt-get install gnuplot-nox)\n"
                : "ferry scale: gnuplot could not draw %s\n",
            out);
    return false;
  }
  return true;
}

static int plot(const ScaleOptions *o) {
  static const char *const themes[] = {"light", "dark"}, *const formats[] = {"png", "svg"};
  char data[] = "/tmp/ferry-scale-XXXXXX", path[64];
  if (strchr(o->plot, '\'') || strlen(o->plot) > 2048)
    return usage_error("scale", "--plot takes a folder without quotes in its name");
  if (mkdir(o->plot, 0777) != 0 && errno != EEXIST)
    return usage_error("scale", "--plot %s cannot be made: %s", o->plot, strerror(errno));
  if (!mkdtemp(data)) {
    fprintf(stderr, "ferry scale: no folder can be made in /tmp: %s\n", strerror(errno));
    return EXIT_GRADER;
  }
  bool drawn = write_data(o, data);
  for (int i = 0; i < 4 && drawn; i++)
    drawn = draw(data, themes[i / 2], formats[i % 2], o->plot);
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", data, i ? "info.gp" : "modeled.dat");
    unlink(path);
  }
  rmdir(data);
  if (drawn)
    printf("4 pictures in %s: modeled-light.png, .svg, modeled-dark.png, .svg\n", o->plot);
  return drawn ? EXIT_PASS : EXIT_GRADER;
}

// ---- what is known ---------------------------------------------------------------------------------------------------------

static int list(void) {
  printf("models (--model)\n");
  for (int i = 0; scale_model_at(i); i++)
    printf("  %-18s %s\n", scale_model_at(i)->name, scale_model_at(i)->about);
  printf("within a node (--node)\n");
  for (int i = 0; scale_node_at(i); i++)
    printf("  %-8s %-46s %5.1f us %6.1f GB/s\n", scale_node_at(i)->name, scale_node_at(i)->about,
           1e6 * scale_node_at(i)->alpha, 1e-9 * scale_node_at(i)->rate);
  printf("between nodes (--network), one adapter\n");
  for (int i = 0; scale_network_at(i); i++)
    printf("  %-8s %-46s %5.1f us %6.1f GB/s\n", scale_network_at(i)->name, scale_network_at(i)->about,
           1e6 * scale_network_at(i)->alpha, 1e-9 * scale_network_at(i)->rate);
  printf("an all-reduce's own latency: %.1f us\n", 1e6 * scale_call());
  print_wrapped("", scale_hardware_source());
  print_wrapped("", scale_rates_source());
  return EXIT_PASS;
}

static int published(void) {
  int missed = 0, rows = 0;
  printf("%sefficiency in %%: published, modeled, and the difference in points%s\n", style(BOLD), style(PLAIN));
  for (int source = 0; scale_published_source(source); source++) {
    printf("\n");
    print_wrapped("", scale_published_source(source));
    for (int i = 0; scale_published_at(i); i++) {
      const ScalePublished *p = scale_published_at(i);
      if (p->source != source)
        continue;
      double modeled = scale_published_modeled(p);
      char network[40];
      snprintf(network, sizeof network, "%dx%s", p->adapters, p->network);
      printf("  %-40s %4d  %-9s %5.1f %6.1f %s%+6.1f%s\n", p->what, p->gpus, network, 100 * p->efficiency,
             100 * modeled, style(p->missed ? RED : GREEN), 100 * (modeled - p->efficiency), style(PLAIN));
      if (*p->assumed)
        print_wrapped("      assumed: ", p->assumed);
      if (p->missed)
        print_wrapped("      not met: ", p->missed);
      rows++;
      missed += fabs(modeled - p->efficiency) > 0.1;
    }
  }
  printf("\n%d of %d within 10 points.\n", rows - missed, rows);
  print_wrapped(
      "",
      "No number is fitted to a figure. A step is divided 1 : 2 into forward and backward, which is assumed; gradients "
      "are float32.");
  print_wrapped("", scale_hardware_source());
  return EXIT_PASS;
}

static int report(const ScaleOptions *o) {
  if (o->plot)
    return plot(o);
  if (o->json)
    return print_text(write_json_of, o);
  if (o->csv)
    return print_text(write_csv_of, o);
  print_inputs(o);
  if (o->network_count > 1)
    print_matrix(o);
  else
    print_details(o);
  return EXIT_PASS;
}

int cmd_scale(int argc, char **argv) {
  static ScaleOptions o;
  int status = scale_options(&o, argc, argv);
  if (status < 0)
    status = o.list ? list() : o.published ? published() : report(&o);
  free(o.buckets);
  return status;
}
