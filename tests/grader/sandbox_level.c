// SPDX-License-Identifier: MIT
// Which way of shutting commands in: chosen once, by trying it with a command of the grader's own. After that a start succeeds
// at that level, or it fails; no failure ever lowers the level.
#include "sandbox_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 64, TRIES = 7, FIRST_WAIT_MS = 10, HIDDEN = 16, LAST_USERS = 1000 };

static const char *const names[SANDBOX_LEVELS] = {"namespaces", "user", "bubblewrap", "landlock", "none"};

static SandboxLevel level = SANDBOX_LEVELS; // none has been chosen yet
static unsigned in_force;                   // of the level that was chosen
static const char *asked;                   // the level that was asked for, NULL: the strongest
static char refusals[1024];

const char *sandbox_level_name(SandboxLevel which) {
  return which < SANDBOX_LEVELS ? names[which] : "";
}

bool sandbox_level_named(const char *name) {
  for (int i = 0; i < SANDBOX_LEVELS; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return false;
}

const char *sandbox_chosen(void) {
  return sandbox_level_name(level);
}

const char *sandbox_refused(void) {
  return refusals;
}

// ---- another user ----------------------------------------------------------------------------------------------------------

// A number that a grader can give to its commands' user or group: one of the machine's billions that nobody has; in a user
// namespace with fewer, one of the upper half of the longest range. 0: there is none.
static unsigned number_of(const char *map, unsigned grader) {
  unsigned inside, outside, count, first = 0, most = 0;
  FILE *file = fopen(map, "re");
  if (!file)
    return FIRST_USER + grader;
  while (fscanf(file, "%u %u %u", &inside, &outside, &count) == 3)
    if (count > most) {
      first = inside;
      most = count;
    }
  fclose(file);
  if (first <= FIRST_USER && first + (uint64_t)most >= END_OF_USERS)
    return FIRST_USER + grader;
  return most >= LAST_USERS ? first + most / 2 + grader % (most / 2) : 0;
}

uid_t sandbox_user_of(pid_t grader) {
  unsigned user = geteuid() == 0 ? number_of("/proc/self/uid_map", (unsigned)grader) : 0;
  return user && user == number_of("/proc/self/gid_map", (unsigned)grader) ? (uid_t)user : (uid_t)-1;
}

bool sandbox_side_by_side(void) {
  return level == SANDBOX_NAMESPACES || level == SANDBOX_USER_NAMESPACE;
}

static pid_t helped; // the grader whose commands this process runs for it; 0: it is one itself

void sandbox_help(pid_t grader) {
  helped = grader;
}

pid_t sandbox_grader(void) {
  return helped ? helped : getpid();
}

uid_t sandbox_other_user(void) {
  static pid_t asked; // workers are processes of their own, each with another user
  static uid_t user;
  pid_t grader = sandbox_grader();
  if (asked != grader)
    user = sandbox_user_of(grader);
  asked = grader;
  return geteuid() == 0 ? user : (uid_t)-1;
}

// ---- plans -----------------------------------------------------------------------------------------------------------------

static unsigned level_protections(SandboxLevel which) {
  unsigned namespaces = PROTECT_PID_NAMESPACE | PROTECT_MOUNT_NAMESPACE | PROTECT_NETWORK | PROTECT_FILES;
  unsigned always =
      PROTECT_LIMITS | PROTECT_NO_NEW_PRIVS | PROTECT_SUBREAPER | PROTECT_CAPABILITIES | PROTECT_PROCESSES;
  SystemCallFilter filter;
  if (sandbox_filter(false, true, &filter))
    always |= PROTECT_SYSTEM_CALLS | PROTECT_NETWORK;
  if (which == SANDBOX_NAMESPACES)
    return always | namespaces;
  if (which == SANDBOX_USER_NAMESPACE)
    return always | namespaces | PROTECT_USER_NAMESPACE;
  if (which == SANDBOX_BUBBLEWRAP)
    return always | PROTECT_BUBBLEWRAP | PROTECT_MOUNT_NAMESPACE | PROTECT_NETWORK | PROTECT_FILES;
  if (which == SANDBOX_LANDLOCK)
    return always | PROTECT_LANDLOCK | PROTECT_FILES | (sandbox_landlock_holds_signals() ? PROTECT_SIGNALS : 0);
  return always;
}

// Root's commands are always another user's. Where root is root of a user namespace that has no other, what it may do is what a
// user may, and a user namespace of the command's own makes it somebody else.
static Plan plan_of(SandboxLevel which, unsigned protections) {
  bool other = protections & PROTECT_OTHER_USER;
  return (Plan){.level = which,
                .protections = protections,
                .namespaces = which == SANDBOX_NAMESPACES || which == SANDBOX_USER_NAMESPACE,
                .outside = sandbox_mount_namespace(),
                .user = sandbox_other_user(),
                .process_limit = (other ? 0 : sandbox_processes_of(geteuid())) + PROCESSES};
}

// Whether a user who owns nothing and is in no group can reach the folder in which those of answers are made.
static bool others_can_reach(const char *folder) {
  char path[4096];
  struct stat about;
  if (snprintf(path, sizeof path, "%s/", folder) >= (int)sizeof path)
    return false;
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool open = stat(path, &about) == 0 && (about.st_mode & S_IXOTH);
    *slash = '/';
    if (!open)
      return false;
  }
  return true;
}

static bool fits(SandboxLevel which, const char **why) {
  bool root = geteuid() == 0, other = sandbox_other_user() != (uid_t)-1;
  *why = NULL;
  if (which == SANDBOX_NAMESPACES && !root)
    *why = "it needs root";
  else if (root && !other && which != SANDBOX_USER_NAMESPACE)
    *why = "there is no other user to run it as";
  else if (root && other && which != SANDBOX_NAMESPACES && !others_can_reach(sandbox_temporary_folder()))
    *why = "it needs a TMPDIR that other users can access";
  else if (which == SANDBOX_LANDLOCK && sandbox_landlock_version() == 0)
    *why = "this kernel has no Landlock";
  return !*why;
}

// ---- trying ----------------------------------------------------------------------------------------------------------------

static bool no_namespaces_allowed(void) {
  static const char *const kinds[] = {"user", "pid", "mnt", "net", "ipc"};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    char path[64];
    int most = 1;
    snprintf(path, sizeof path, "/proc/sys/user/max_%s_namespaces", kinds[i]);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &most) != 1)
      most = 1;
    if (file)
      fclose(file);
    if (most == 0)
      return true;
  }
  return false;
}

// Whether an error says that this machine does not permit it. All others may pass: too many processes, descriptors, no memory.
static bool is_refusal(int error) {
  return error == EPERM || error == EACCES || error == ENOSYS || error == EINVAL || error == EOPNOTSUPP ||
         error == EUSERS || error == ENODEV || (error == ENOSPC && no_namespaces_allowed());
}

static Started try_again(const SandboxJob *job, const Plan *plan, char *why, size_t bytes) {
  Started started = {0};
  long wait = FIRST_WAIT_MS;
  for (int i = 0; i < TRIES; i++, wait *= 2) {
    started = sandbox_attempt(job, plan, why, bytes);
    if (started.supervisor > 0 || is_refusal(started.error))
      return started;
    nanosleep(&(struct timespec){.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000}, NULL);
  }
  return started;
}

typedef enum Trial { WORKS, REFUSED, TROUBLE } Trial;

// What bubblewrap says of a refusal; in its words, since it has no number for it.
static bool says_refused(const char *text) {
  static const char *const words[] = {"not permitted", "ermission", "not implemented", "Invalid argument",
                                      "nknown option"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strstr(text, words[i]))
      return true;
  return false;
}

// A run of a command of ours, to its end: bubblewrap says only while it runs that it cannot.
static Trial try_plan(const SandboxJob *job, SandboxLevel which, unsigned protections, char *why, size_t bytes) {
  Plan plan = plan_of(which, protections);
  Started started = try_again(job, &plan, why, bytes);
  if (started.supervisor == 0)
    return is_refusal(started.error) ? REFUSED : TROUBLE;
  SandboxResult result = sandbox_watch(job, started);
  bool works = result.end == SANDBOX_EXITED && result.status == 0;
  bool refused = result.end == SANDBOX_NOT_STARTED && result.output && says_refused(result.output);
  if (!works)
    snprintf(why, bytes, "%s", result.output && *result.output ? result.output : "a command ended with an error");
  why[strcspn(why, "\n")] = '\0';
  sandbox_result_free(&result);
  return works ? WORKS : refused ? REFUSED : TROUBLE;
}

// With a cgroup where one can be had. `on` becomes what was in force.
static Trial try_level(const SandboxJob *job, SandboxLevel which, unsigned *on, char *why, size_t bytes) {
  const char *unfit;
  if (!fits(which, &unfit)) {
    snprintf(why, bytes, "%s", unfit);
    return REFUSED;
  }
  if (which == SANDBOX_BUBBLEWRAP && !sandbox_bubblewrap(job)) {
    snprintf(why, bytes, job->gpu ? "it does not show a GPU" : "it is not installed");
    return REFUSED;
  }
  *on = level_protections(which) | (sandbox_other_user() != (uid_t)-1 ? PROTECT_OTHER_USER : 0);
  Trial trial = try_plan(job, which, *on | PROTECT_CGROUP, why, bytes);
  if (trial == WORKS)
    *on |= PROTECT_CGROUP;
  return trial == REFUSED ? try_plan(job, which, *on, why, bytes) : trial;
}

static bool begin(char *folder, size_t bytes, char *why, size_t why_bytes) {
  if (!sandbox_limits_suffice(why, why_bytes))
    return false;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_DUMPABLE, 0);
  umask(
      022); // what is made for commands can be read by the user that runs them, whatever the grader's user wants of other files
  sandbox_cgroup_sweep();
  sandbox_hide(sandbox_temporary_folder());
  if (sandbox_folder(folder, bytes))
    return true;
  snprintf(why, why_bytes, "a temporary folder could not be created in $TMPDIR or /tmp: %s", strerror(errno));
  return false;
}

static bool choose_from(int first, int last, const SandboxJob *job, char *why, size_t bytes) {
  size_t told = 0;
  for (int i = first; i <= last; i++) {
    char what[256] = "";
    unsigned on = 0;
    Trial trial = try_level(job, (SandboxLevel)i, &on, what, sizeof what);
    if (trial == WORKS) {
      level = (SandboxLevel)i;
      in_force = on;
      return true;
    }
    if (trial == TROUBLE) {
      snprintf(why, bytes, "the level %s could not be tested (%s)", names[i], what);
      return false;
    }
    if (told < sizeof refusals)
      told += (size_t)snprintf(refusals + told, sizeof refusals - told, "%s%s (%s)", told ? ", " : "", names[i], what);
  }
  snprintf(why, bytes, "refused here: %.500s%s", refusals,
           first != last ? "; --sandbox none runs answers almost without protection" : "");
  return false;
}

bool sandbox_choose(const char *wanted, bool gpu, char *why, size_t bytes) {
  char folder[256];
  int first = SANDBOX_NAMESPACES, last = SANDBOX_LANDLOCK;
  if (level != SANDBOX_LEVELS)
    return true;
  refusals[0] = '\0';
  asked = wanted;
  for (int i = 0; wanted && i < SANDBOX_LEVELS; i++)
    if (strcmp(wanted, names[i]) == 0)
      first = last = i;
  if (!begin(folder, sizeof folder, why, bytes))
    return false;
  const char *argv[] = {"/bin/sh", "-c", ":", NULL}, *environment[] = {NULL};
  SandboxJob job = {.argv = argv,
                    .environment = environment,
                    .folder = folder,
                    .scratch = true,
                    .seconds = 10,
                    .memory = 256u << 20,
                    .file_bytes = 1 << 20,
                    .output_bytes = 4096,
                    .gpu = gpu};
  bool chosen = choose_from(first, last, &job, why, bytes);
  sandbox_folder_remove(folder);
  return chosen;
}

Started sandbox_start(const SandboxJob *job, char *why, size_t bytes) {
  if (!sandbox_choose(asked, job->gpu, why, bytes))
    return (Started){0};
  Plan plan = plan_of(level, in_force);
  return try_again(job, &plan, why, bytes);
}

// ---- out of sight ----------------------------------------------------------------------------------------------------------

const char *sandbox_hidden[HIDDEN + 1];

bool sandbox_is_below(const char *path, const char *folder) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0' || length == 1);
}

void sandbox_hide(const char *path) {
  char *real = realpath(path, NULL);
  int i = 0;
  while (real && i < HIDDEN && sandbox_hidden[i] && strcmp(sandbox_hidden[i], real) != 0)
    i++;
  if (real && i < HIDDEN && !sandbox_hidden[i] && strcmp(real, "/") != 0)
    sandbox_hidden[i] = real;
  else
    free(real);
}
