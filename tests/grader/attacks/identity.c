// status: fail
// Who it is, and what it may do: never root, no capability, no group of the grader's, and no way back.
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void attack(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct has[2] = {{0}};
  uid_t real = 0, effective = 0, saved = 0;
  getresuid(&real, &effective, &saved);
  if (real == 0 || effective == 0 || saved == 0 || setuid(0) == 0)
    printf("got hold of root\n");
  if (syscall(SYS_capget, &header, has) != 0 || has[0].permitted || has[1].permitted || has[0].inheritable ||
      has[1].inheritable)
    printf("got hold of capabilities\n");
  for (int c = 0; c < 64; c++)
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) == 1)
      printf("got hold of the ambient capability %d\n", c);
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
    printf("got hold of new privileges, if a program has some\n");
}
