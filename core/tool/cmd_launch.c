// SPDX-License-Identifier: MIT
// `ferry launch`: one program as several processes, by mpirun. Between mpirun and each rank stands `ferry launch-rank`, which
// gives the rank torchrun's variables, marks what it prints, and says how it ended.
#include "tool/commands.h"
#include "tool/compile/config.h"
#include "tool/compile/process.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- before mpirun ---------------------------------------------------------------------------------------------------------

typedef struct Launch {
  int ranks;
  const char *hosts;
  bool plain; // nothing before the lines
  char **program;
} Launch;

static const char *value_of(int argc, char **argv, int *i, const char *name) {
  const size_t length = strlen(name);
  if (strncmp(argv[*i], name, length) != 0)
    return NULL;
  if (argv[*i][length] == '=')
    return argv[*i] + length + 1;
  return argv[*i][length] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

// -1, or an exit status after a message.
static int read_arguments(int argc, char **argv, Launch *launch) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    const char *count = NULL, *hosts = NULL;
    if ((count = value_of(argc, argv, &i, "-n"))) {
      char *end;
      long n = strtol(count, &end, 10);
      if (*end || n < 1 || n > 4096)
        return usage_error("launch", "-n takes a number of ranks from 1 to 4096, but got %s", count);
      launch->ranks = (int)n;
    } else if ((hosts = value_of(argc, argv, &i, "--hosts"))) {
      launch->hosts = hosts;
    } else if (strcmp(argv[i], "--plain") == 0) {
      launch->plain = true;
    } else {
      bool needs_value = strcmp(argv[i], "-n") == 0 || strcmp(argv[i], "--hosts") == 0;
      return needs_value ? usage_error("launch", "%s needs a value", argv[i]) : no_option("launch", argv[i]);
    }
  }
  launch->program = argv + i;
  if (i == argc)
    return usage_error("launch", "which program?");
  return launch->ranks > 0 ? -1 : usage_error("launch", "-n N is missing: the number of ranks");
}

static bool is_there(const char *program) {
  char command[300];
  snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
  return system(command) == 0;
}

// Ranks on other hosts get what was set for the program here: Ferry's variables and NCCL's, and those that torchrun knows and
// `launch-rank` does not give them.
static bool is_passed(const char *variable) {
  static const char *const begun[] = {"FERRY_", "NCCL_", "MASTER_ADDR=", "MASTER_PORT=", "OMP_NUM_THREADS="};
  for (size_t i = 0; i < sizeof begun / sizeof *begun; i++)
    if (strncmp(variable, begun[i], strlen(begun[i])) == 0)
      return strchr(variable, '=') != NULL;
  return false;
}

extern char **environ;

// "-x NAME" for each; returns how many words there are then.
static int pass_variables(char **command, int used) {
  for (char **variable = environ; *variable; variable++)
    if (is_passed(*variable)) {
      command[used++] = (char *)"-x";
      command[used++] = strndup(*variable, strcspn(*variable, "="));
    }
  return used;
}

static size_t count_variables(void) {
  size_t count = 0;
  while (environ[count])
    count++;
  return count;
}

int cmd_launch(int argc, char **argv) {
  Launch launch = {0};
  int status = read_arguments(argc, argv, &launch), used = 0;
  if (status >= 0)
    return status;
  if (!is_there("mpirun")) {
    fprintf(
        stderr,
        "ferry launch: there is no mpirun: install Open MPI (Debian: openmpi-bin, libopenmpi-dev), then run make\n");
    return EXIT_GRADER;
  }
  char self[4096], ranks[16];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  snprintf(ranks, sizeof ranks, "%d", launch.ranks);
  char **command = calloc((size_t)argc + 24 + 2 * (count_variables() + 2), sizeof *command);
  if (!command) {
    fprintf(stderr, "ferry launch: out of memory\n");
    return EXIT_GRADER;
  }
  const char *fixed[] = {"mpirun", "--oversubscribe", "-n", ranks, NULL};
  for (int i = 0; fixed[i]; i++)
    command[used++] = (char *)fixed[i];
  if (geteuid() == 0)
    command[used++] = (char *)"--allow-run-as-root";
  if (launch.hosts) {
    command[used++] = (char *)"--host";
    command[used++] = (char *)launch.hosts;
  } else {
    command[used++] = (char *)"--bind-to";
    command[used++] = (char *)"none";
  }
  char master[256] = "127.0.0.1";
  if (launch.hosts)
    snprintf(master, sizeof master, "%.*s", (int)strcspn(launch.hosts, ",:"), launch.hosts);
  setenv("MASTER_ADDR", master, 0);
  // `launch-rank` says how a rank ended, so mpirun need not. Open MPI 5 has neither the option --quiet nor this setting.
  setenv("OMPI_MCA_orte_execute_quiet", "1", 0);
  setenv("FERRY_LAUNCH_STYLE", launch.plain ? "plain" : *style(RED) ? "color" : "mark", 1);
  if (launch.hosts)
    used = pass_variables(command, used);
  command[used++] = self;
  command[used++] = (char *)"launch-rank";
  for (char **word = launch.program; *word; word++)
    command[used++] = *word;
  fflush(stdout);
  execvp("mpirun", command);
  fprintf(stderr, "ferry launch: mpirun cannot be started: %s\n", strerror(errno));
  return EXIT_GRADER;
}

// ---- between mpirun and the program ------------------------------------------------------------------------------------------

typedef struct Stream {
  int from, to;
  char line[4096]; // what has come of a line
  size_t length;
} Stream;

static char mark[64];
static pid_t child;

static void name_rank(const char *rank) {
  static const char *const colors[] = {"\033[36m", "\033[33m", "\033[32m", "\033[35m", "\033[34m", "\033[31m"};
  const char *wanted = getenv("FERRY_LAUNCH_STYLE");
  mark[0] = '\0';
  if (wanted && strcmp(wanted, "color") == 0)
    snprintf(mark, sizeof mark, "%s[%s]\033[0m ", colors[atoi(rank) % 6], rank);
  else if (!wanted || strcmp(wanted, "plain") != 0)
    snprintf(mark, sizeof mark, "[%s] ", rank);
}

// Whole lines go out in one piece, so that those of several ranks do not mix.
static void pass_line(Stream *s) {
  char text[sizeof mark + sizeof s->line];
  size_t length = strlen(mark);
  memcpy(text, mark, length);
  memcpy(text + length, s->line, s->length);
  length += s->length;
  for (size_t done = 0; done < length;) {
    ssize_t n = write(s->to, text + done, length - done);
    if (n <= 0)
      break;
    done += (size_t)n;
  }
  s->length = 0;
}

static bool forward_output(Stream *s) {
  char piece[4096];
  ssize_t n = read(s->from, piece, sizeof piece);
  if (n < 0 && errno == EINTR)
    return true;
  for (ssize_t i = 0; i < n; i++) {
    s->line[s->length++] = piece[i];
    if (piece[i] == '\n' || s->length == sizeof s->line)
      pass_line(s);
  }
  if (n > 0)
    return true;
  if (s->length > 0) {
    s->line[s->length - (s->length == sizeof s->line)] = '\n';
    s->length += s->length < sizeof s->line;
    pass_line(s);
  }
  return false;
}

static void end_child(int signal_number) {
  if (child > 0)
    kill(child, signal_number);
}

static void copy_variable(const char *from, const char *to) {
  const char *value = getenv(from);
  if (value)
    setenv(to, value, 1);
}

static void start(char **program, int out, int error) {
  dup2(out, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execvp(program[0], program);
  fprintf(stderr, "ferry launch: %s cannot be started: %s\n", program[0], strerror(errno));
  _exit(127);
}

// How the rank ended, for who reads the output; its status.
static int end_of(const char *rank, int status) {
  int code = exit_status(status);
  const char *host = getenv("HOSTNAME");
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM)
    fprintf(stderr, "ferry launch: rank %s (process %d%s%s) was ended by signal %d (%s)\n", rank, (int)child,
            host ? " on " : "", host ? host : "", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (WIFEXITED(status) && code != 0)
    fprintf(stderr, "ferry launch: rank %s (process %d%s%s) ended with status %d\n", rank, (int)child,
            host ? " on " : "", host ? host : "", code);
  return code;
}

int cmd_launch_rank(int argc, char **argv) {
  int out[2], error[2], status = 0;
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  if (argc < 2 || !rank)
    return usage_error("launch-rank", "this is for mpirun, which ./ferry launch starts");
  copy_variable("OMPI_COMM_WORLD_RANK", "RANK");
  copy_variable("OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK");
  copy_variable("OMPI_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE");
  copy_variable("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE");
  setenv("OMP_NUM_THREADS", "1", 0); // ranks share the cores
  name_rank(rank);
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0)
    return EXIT_GRADER;
  signal(SIGTERM, end_child);
  child = fork();
  if (child == 0) {
    signal(SIGTERM, SIG_DFL);
    start(argv + 1, out[1], error[1]);
  }
  close(out[1]);
  close(error[1]);
  Stream streams[2] = {{.from = out[0], .to = STDOUT_FILENO}, {.from = error[0], .to = STDERR_FILENO}};
  struct pollfd asked[2] = {{.fd = out[0], .events = POLLIN}, {.fd = error[0], .events = POLLIN}};
  while (asked[0].fd >= 0 || asked[1].fd >= 0) {
    if (poll(asked, 2, -1) < 0 && errno != EINTR)
      break;
    for (int i = 0; i < 2; i++)
      if (asked[i].fd >= 0 && asked[i].revents && !forward_output(&streams[i]))
        asked[i].fd = -1;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  status = end_of(rank, status);
  if (status != 0) // a moment for the others to say what they were waiting for, before mpirun ends them
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  return status;
}
