# SPDX-License-Identifier: MIT
# Counts the results in one test program's output: cmocka's standard output, or TAP.
#
#   awk -f parse-tests.awk -v status=EXIT_STATUS -v limit=SECONDS -v crash=HOW OUTPUT
#   awk -f parse-tests.awk -v status=cut OUTPUT     of a program whose time was over: what it reported, and no more
#
# Writes lines of three tab-separated fields: `passed` NAME, `failed` NAME WHY, `skipped` NAME WHY.
# A test that was running when the program ended is a failure; so is a program that fails without a failed test (a leak
# that a sanitizer reports at exit, say), and one that reports no test at all.

function trim(text) {
  gsub(/^[ \t]+|[ \t\r]+$/, "", text)
  return text
}

function result(kind, name, why) {
  if (name == "") name = "(unnamed)"
  printf "%s\t%s\t%s\n", kind, name, why
  count[kind]++
}

{ gsub(/\033\[[0-9;]*m/, "") }

# cmocka. After a group's last test it lists the failed ones once more, so results count only inside a group.
/^\[==========\] .*Running [0-9]+ test/ {
  in_group = 1
  match($0, /Running [0-9]+/)
  expected += substr($0, RSTART + 8, RLENGTH - 8)
  next
}
/^\[==========\] .*test\(s\) run/ {
  in_group = 0
  running = ""
  next
}
in_group && /^\[ RUN      \]/ {
  running = trim(substr($0, 13))
  said = ""
  next
}
in_group && /^\[       OK \]/ {
  result("passed", trim(substr($0, 13)), "")
  running = ""
  next
}
in_group && /^\[  FAILED  \]/ {
  result("failed", trim(substr($0, 13)), said)
  running = ""
  next
}
in_group && /^\[  SKIPPED \]/ {
  result("skipped", trim(substr($0, 13)), said)
  running = ""
  next
}
in_group && running != "" {
  if (trim($0) != "" && $0 !~ /^\[/) said = trim($0)
  next
}

# TAP
/^(not )?ok( |$)/ {
  failed = sub(/^not /, "")
  sub(/^ok( +[0-9]+ )?( *- )? */, "")
  reason = ""
  skipped = match($0, /# *[Ss][Kk][Ii][Pp][A-Za-z]*/)
  if (skipped) {
    reason = trim(substr($0, RSTART + RLENGTH))
    $0 = substr($0, 1, RSTART - 1)
  } else if (failed && (dash = index($0, " - "))) {
    reason = trim(substr($0, dash + 3))
    $0 = substr($0, 1, dash - 1)
  }
  result(failed ? "failed" : skipped ? "skipped" : "passed", trim($0), reason)
  next
}
/^1\.\.[0-9]+/ { expected += substr($1, 4) }

END {
  if (status == "cut") exit
  reported = count["passed"] + count["failed"] + count["skipped"]
  if (status == 124 || status == 137) crash = "still running after " limit " s, stopped"
  if (running != "") {
    if (crash == "") crash = "the program ended (status " status ") in this test"
    missing = expected - reported - 1
    result("failed", running, crash (missing > 0 ? "; " missing " more tests did not run" : ""))
  } else if (crash != "") {
    result("failed", "(whole program)", crash)
  } else if (status != 0 && !count["failed"]) {
    result("failed", "(whole program)", "exit status " status (reported ? " after its tests" : ""))
  } else if (!reported) {
    result("failed", "(whole program)", "it reported no test")
  } else if (reported < expected) {
    result("failed", "(whole program)", "it announced " expected " tests and reported " reported)
  }
}
