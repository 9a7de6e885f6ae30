# SPDX-License-Identifier: MIT
# Lists the targets of a makefile that carry a `## description`.
BEGIN { print "Targets:" }
match($0, /^[a-z-]+:[^#]*## /) {
  name = $0
  sub(/:.*/, "", name)
  printf "  make %-14s %s\n", name, substr($0, RLENGTH + 1)
}
