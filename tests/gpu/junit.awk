# SPDX-License-Identifier: MIT
# The results of the GPU check (stage, group, name, status, seconds, why) as JUnit XML: a suite for each stage.
BEGIN { FS = "\t" }

function xml(text) {
  gsub(/[\001-\010\013\014\016-\037]/, "?", text)
  gsub(/&/, "\\&amp;", text)
  gsub(/</, "\\&lt;", text)
  gsub(/>/, "\\&gt;", text)
  gsub(/"/, "\\&quot;", text)
  return text
}

{
  if (!($1 in tests)) order[++stages] = $1
  tests[$1]++
  failures[$1] += $4 == "failed"
  skipped[$1] += $4 == "skipped" || $4 == "cut"
  line = sprintf("    <testcase classname=\"%s\" name=\"%s\" time=\"%s\"", xml($1 "." $2), xml($3 == "" ? $2 : $3), $5 + 0)
  if ($4 == "failed") line = line sprintf("><failure message=\"%s\"/></testcase>", xml($6))
  else if ($4 == "passed") line = line "/>"
  else line = line sprintf("><skipped message=\"%s\"/></testcase>", xml(($4 == "cut" ? "cut: " : "") $6))
  cases[$1] = cases[$1] line "\n"
}

END {
  print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>"
  for (i = 1; i <= stages; i++) {
    s = order[i]
    printf "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" skipped=\"%d\">\n%s  </testsuite>\n", xml(s), tests[s], failures[s],
      skipped[s], cases[s]
  }
  print "</testsuites>"
}
