// SPDX-License-Identifier: MIT
// What a sandboxed command sees of the files: the system's programs, what its job names, its own folder, and nothing else.
//
// A small tmpfs becomes the root. What is to be seen is bound into it from the old root, read-only, and then the old root is
// let go. There is no /proc in it (through /proc/self/mem a program can rewrite itself) but for a real GPU's driver.
#include "sandbox_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const sandbox_system_paths[] = {"/usr",
                                            "/bin",
                                            "/sbin",
                                            "/lib",
                                            "/lib32",
                                            "/lib64",
                                            "/opt",
                                            "/nix",
                                            "/etc/alternatives",
                                            "/etc/ld.so.cache",
                                            "/etc/ld.so.conf",
                                            NULL};
const char *const sandbox_gpu_paths[] = {"/sys",
                                         "/proc",
                                         "/dev/nvidiactl",
                                         "/dev/nvidia-uvm",
                                         "/dev/nvidia-uvm-tools",
                                         "/dev/nvidia0",
                                         "/dev/nvidia1",
                                         "/dev/nvidia2",
                                         "/dev/nvidia3",
                                         "/dev/nvidia4",
                                         "/dev/nvidia5",
                                         "/dev/nvidia6",
                                         "/dev/nvidia7",
                                         NULL};
const char *const sandbox_device_paths[] = {"/dev/null", "/dev/urandom", NULL};

static bool make_parents(const char *path) {
  char part[4096];
  if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
    return false;
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(part, 0755) != 0 && errno != EEXIST)
      return false;
    *slash = '/';
  }
  return true;
}

static bool make_target(const char *path, bool folder) {
  if (!make_parents(path))
    return false;
  if (folder)
    return mkdir(path, 0755) == 0 || errno == EEXIST;
  int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file >= 0)
    close(file);
  return file >= 0;
}

// A bound path keeps its filesystem's restrictions; a user namespace may add to them, never take away.
static unsigned long flags_of(const char *path) {
  struct statvfs s;
  unsigned long flags = 0;
  if (statvfs(path, &s) != 0)
    return 0;
  flags |= s.f_flag & ST_NOSUID ? MS_NOSUID : 0;
  flags |= s.f_flag & ST_NODEV ? MS_NODEV : 0;
  flags |= s.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
  flags |= s.f_flag & ST_NOATIME ? MS_NOATIME : 0;
  flags |= s.f_flag & ST_RELATIME ? MS_RELATIME : 0;
  return flags;
}

enum { READ_ONLY = 1, RECURSIVE = 2 };

// Shows /old/PATH as PATH; a path that does not exist is left out. A link is shown as the link it is.
static bool show(const char *path, int how) {
  char from[4200];
  struct stat about;
  snprintf(from, sizeof from, "/old%s", path);
  if (lstat(from, &about) != 0)
    return true;
  if (S_ISLNK(about.st_mode)) {
    char target[4096];
    ssize_t length = readlink(from, target, sizeof target - 1);
    if (length < 0 || !make_parents(path))
      return false;
    target[length] = '\0';
    return symlink(target, path) == 0 || errno == EEXIST;
  }
  unsigned long bind = MS_BIND | (how & RECURSIVE ? MS_REC : 0);
  if (!make_target(path, S_ISDIR(about.st_mode)) || mount(from, path, NULL, bind, NULL) != 0)
    return false;
  if (!(how & READ_ONLY))
    return true;
  return mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | flags_of(path), NULL) == 0;
}

static bool show_all(const char *const *paths, int how) {
  for (; *paths; paths++)
    if (!show(*paths, how))
      return false;
  return true;
}

uint64_t sandbox_mount_namespace(void) {
  struct stat about;
  return stat("/proc/self/ns/mnt", &about) == 0 ? (uint64_t)about.st_ino : 0;
}

// A folder that is not to be seen and stands in what is shown: an empty one in its place, in which what a job needs can be shown.
static bool hide_all(void) {
  struct stat about;
  for (int i = 0; sandbox_hidden[i]; i++)
    if (lstat(sandbox_hidden[i], &about) == 0 && S_ISDIR(about.st_mode) &&
        mount("tmpfs", sandbox_hidden[i], "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=1024,mode=755") != 0)
      return false;
  return true;
}

// In memory where nothing of it comes back: this root's bounds are its bounds.
static bool show_own_folder(const SandboxJob *job, const Plan *plan) {
  if (!job->scratch)
    return show(job->folder, 0);
  bool other = plan->protections & PROTECT_OTHER_USER && geteuid() == 0;
  return make_target(job->folder, true) && (!other || chown(job->folder, plan->user, plan->user) == 0);
}

static bool show_needed(const SandboxJob *job) {
  bool shown = show_all(sandbox_system_paths, READ_ONLY | RECURSIVE) && show_all(sandbox_device_paths, 0) && hide_all();
  for (int i = 0; shown && i < SANDBOX_PATHS && job->readable[i]; i++)
    shown = show(job->readable[i], READ_ONLY);
  return shown && (!job->gpu || show_all(sandbox_gpu_paths, RECURSIVE));
}

static bool make_temporary(void) {
  bool made = (mkdir("/tmp", 01777) == 0 || errno == EEXIST) && (mkdir("/dev/shm", 01777) == 0 || errno == EEXIST);
  return made && chmod("/tmp", 01777) == 0 && chmod("/dev/shm", 01777) == 0;
}

bool sandbox_enter_files(const SandboxJob *job, const Plan *plan) {
  uint64_t inside = sandbox_mount_namespace();
  char options[96];
  snprintf(options, sizeof options, "size=%d,nr_inodes=%d,mode=755", SCRATCH_BYTES, SCRATCH_FILES);
  if (plan->outside == 0 || inside == 0 || inside == plan->outside) {
    errno = EPERM;
    return false;
  }
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return false;
  if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
    return false;
  if (mkdir("/tmp/old", 0700) != 0 || syscall(SYS_pivot_root, "/tmp", "/tmp/old") != 0 || chdir("/") != 0)
    return false;
  return show_needed(job) && make_temporary() && show_own_folder(job, plan) && umount2("/old", MNT_DETACH) == 0 &&
         rmdir("/old") == 0;
}
