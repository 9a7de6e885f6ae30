// What a sandboxed command sees of the files: the system's programs, what its job names, its own folder, and nothing else.
//
// A small tmpfs becomes the root. What is to be seen is bound into it from the old root, read-only, and then the old root is
// let go. There is no /proc in it (through /proc/self/mem a program can rewrite itself) but for a real GPU's driver.
#include "sandbox_impl.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
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

bool sandbox_enter_files(const SandboxJob *job, uint64_t outside) {
  uint64_t inside = sandbox_mount_namespace();
  if (outside == 0 || inside == 0 || inside == outside) {
    errno = EPERM;
    return false;
  }
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return false;
  if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=755") != 0)
    return false;
  if (mkdir("/tmp/old", 0700) != 0 || syscall(SYS_pivot_root, "/tmp", "/tmp/old") != 0 || chdir("/") != 0)
    return false;
  bool shown = show_all(sandbox_system_paths, READ_ONLY | RECURSIVE) && show_all(sandbox_device_paths, 0);
  for (int i = 0; shown && i < SANDBOX_PATHS && job->readable[i]; i++)
    shown = show(job->readable[i], READ_ONLY);
  shown = shown && (!job->gpu || show_all(sandbox_gpu_paths, RECURSIVE));
  mode_t mask = umask(0);
  shown = shown && (mkdir("/tmp", 01777) == 0 || errno == EEXIST) && (mkdir("/dev/shm", 01777) == 0 || errno == EEXIST);
  umask(mask);
  shown = shown && chmod("/tmp", 01777) == 0 && show(job->folder, 0);
  return shown && umount2("/old", MNT_DETACH) == 0 && rmdir("/old") == 0;
}

// ---- folders of answers ------------------------------------------------------------------------------------------------

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  (void)kind;
  (void)where;
  remove(path);
  return 0;
}

// An answer may have made folders that cannot be entered.
static int open_up(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)where;
  if (kind == FTW_D || kind == FTW_DNR)
    chmod(path, about->st_mode | 0700);
  return 0;
}

void sandbox_folder_remove(const char *path) {
  if (!strstr(path, "/ferry-answer-"))
    return;
  nftw(path, open_up, 16, FTW_PHYS);
  nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

enum { STALE_SECONDS = 600 };

static const char *temporary_folder(void) {
  const char *temporary = getenv("TMPDIR");
  return temporary && *temporary == '/' ? temporary : "/tmp";
}

// Those of one grader; or, for 0, of graders that were killed: their process is gone, and they have been there for a while.
static void sweep_folders(pid_t grader) {
  const char *temporary = temporary_folder();
  DIR *folder = opendir(temporary);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[4096];
    struct stat about;
    int pid;
    snprintf(path, sizeof path, "%s/%s", temporary, entry->d_name);
    if (sscanf(entry->d_name, "ferry-answer-%d-", &pid) != 1 || pid < 1 || lstat(path, &about) != 0 ||
        !S_ISDIR(about.st_mode))
      continue;
    bool stale = kill(pid, 0) != 0 && errno == ESRCH && time(NULL) - about.st_mtime > STALE_SECONDS;
    if (pid == grader || (grader == 0 && stale))
      sandbox_folder_remove(path);
  }
  if (folder)
    closedir(folder);
}

void sandbox_folders_remove(pid_t grader) {
  sweep_folders(grader);
}

bool sandbox_folder(char *path, size_t bytes) {
  static bool swept;
  if (!swept)
    sweep_folders(0);
  swept = true;
  int length = snprintf(path, bytes, "%s/ferry-answer-%d-XXXXXX", temporary_folder(), (int)getpid());
  if (length >= (int)bytes || !mkdtemp(path))
    return false;
  return geteuid() != 0 || chown(path, sandbox_user(), sandbox_user()) == 0 || errno == EPERM;
}

// Where an answer saw the machine's own folders for temporary files: what the user that nobody else is has left there.
void sandbox_sweep_files(uid_t user) {
  static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    DIR *folder = opendir(folders[i]);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
      char path[512];
      struct stat about;
      snprintf(path, sizeof path, "%s/%s", folders[i], entry->d_name);
      bool own = strncmp(entry->d_name, "ferry-answer-", 13) == 0;
      if (own || lstat(path, &about) != 0 || about.st_uid != user)
        continue;
      nftw(path, open_up, 16, FTW_PHYS);
      nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH);
    }
    if (folder)
      closedir(folder);
  }
}
