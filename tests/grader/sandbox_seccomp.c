// SPDX-License-Identifier: MIT
// A filter of system calls: what an answer and a compiler never need, and what leads out of the other walls. New namespaces (in
// one of its own a command may mount a filesystem in memory that no limit counts), files in memory that no process maps,
// segments of shared memory that outlive it, the network, other processes' memory, the kernel's keyrings and programs for it. Where a
// command sees the machine's processes and files: limits and priorities of others, and sockets that have a path.
#include "sandbox_impl.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

enum { MOST = 256, X32 = 0x40000000, NO_FAMILY = 0xffff, IOPRIO_WHO_PROCESS = 1 };
enum {
  NEW_NAMESPACES =
      CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
};

// Numbers from 424 on are the same on every architecture, and the system's header may be older than the kernel.
static const int refused[] = {SYS_unshare,
                              SYS_setns,
                              SYS_mount,
                              SYS_umount2,
                              SYS_pivot_root,
                              SYS_chroot,
                              SYS_ptrace,
                              SYS_process_vm_readv,
                              SYS_process_vm_writev,
                              SYS_keyctl,
                              SYS_add_key,
                              SYS_request_key,
                              SYS_bpf,
                              SYS_perf_event_open,
                              SYS_userfaultfd,
                              SYS_open_by_handle_at,
                              SYS_msgget,
                              SYS_semget,
                              SYS_mq_open,
                              425 /* io_uring_setup */,
                              428 /* open_tree */,
                              429 /* move_mount */,
                              430 /* fsopen */,
                              432 /* fsmount */,
                              442 /* mount_setattr */,
                              438 /* pidfd_getfd */};
// NVIDIA's driver may ask for these.
static const int refused_without_gpu[] = {SYS_memfd_create, SYS_shmget, 447 /* memfd_secret */};

static struct sock_filter program[MOST];
static int used;

static void add(struct sock_filter one) {
  program[used++] = one;
}

static void load(size_t offset) {
  add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void end_with(unsigned what) {
  add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

// The next `skipped` instructions are left out unless what is loaded is `value`.
static void unless_equal(unsigned value, unsigned char skipped) {
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped));
}

static void refuse_all(const int *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    unless_equal((unsigned)list[i], 1);
    end_with(SECCOMP_RET_ERRNO | EPERM);
  }
}

// Which argument of clone has the flags is the same on the architectures above.
static void refuse_namespaces(void) {
  unless_equal(SYS_clone, 4);
  load(offsetof(struct seccomp_data, args[0]));
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1));
  end_with(SECCOMP_RET_ERRNO | EPERM);
  load(offsetof(struct seccomp_data, nr));
  unless_equal(435,
               1); // clone3: its flags are in memory, where no filter can look; without it the C library uses clone
  end_with(SECCOMP_RET_ERRNO | ENOSYS);
}

// Sockets that have a path or a name reach whoever listens there, unless files and names are the command's own: those of a user's
// desktop and agents start programs. Pairs (socketpair) lead nowhere.
static void refuse_network(bool gpu, bool apart) {
  const unsigned local = apart ? AF_UNIX : gpu ? AF_NETLINK : NO_FAMILY;
  unless_equal(SYS_socket, 5);
  load(offsetof(struct seccomp_data, args[0]));
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, local, 2, 0));
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, gpu ? AF_NETLINK : local, 1, 0));
  end_with(SECCOMP_RET_ERRNO | EACCES);
  load(offsetof(struct seccomp_data, nr));
}

// The call of this number fails unless its argument is `value`.
static void refuse_unless(unsigned number, int argument, unsigned value) {
  unless_equal(number, 4);
  load(offsetof(struct seccomp_data, args) + (size_t)argument * sizeof(uint64_t));
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
  end_with(SECCOMP_RET_ERRNO | EPERM);
  load(offsetof(struct seccomp_data, nr));
}

// What takes a process's number, or a user's, is for the calling process alone, which is number 0.
static void refuse_others(void) {
  static const int by_process[] = {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
                                   SYS_sched_setattr};
  for (size_t i = 0; i < sizeof by_process / sizeof by_process[0]; i++)
    refuse_unless((unsigned)by_process[i], 0, 0);
  refuse_unless(SYS_setpriority, 0, PRIO_PROCESS);
  refuse_unless(SYS_setpriority, 1, 0);
  refuse_unless(SYS_ioprio_set, 0, IOPRIO_WHO_PROCESS);
  refuse_unless(SYS_ioprio_set, 1, 0);
}

bool sandbox_filter(bool gpu, bool apart, SystemCallFilter *filter) {
  used = 0;
  if (ARCHITECTURE == 0)
    return false;
  load(offsetof(struct seccomp_data, arch));
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
  end_with(SECCOMP_RET_ERRNO | ENOSYS);
  load(offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1));
  end_with(SECCOMP_RET_ERRNO | ENOSYS);
#endif
  refuse_all(refused, sizeof refused / sizeof refused[0]);
  if (!gpu)
    refuse_all(refused_without_gpu, sizeof refused_without_gpu / sizeof refused_without_gpu[0]);
  refuse_namespaces();
  refuse_network(gpu, apart);
  if (!apart)
    refuse_others();
  end_with(SECCOMP_RET_ALLOW);
  *filter = (SystemCallFilter){program, (size_t)used * sizeof program[0]};
  return true;
}

bool sandbox_enter_filter(const SystemCallFilter *filter) {
  struct sock_fprog whole = {.len = (unsigned short)(filter->bytes / sizeof program[0]),
                             .filter = (struct sock_filter *)program};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) == 0;
}
