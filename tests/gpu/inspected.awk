# SPDX-License-Identifier: MIT
# Functions for the JSON of ./ferry inspect, an object a line, as counters.awk and times.awk read it.
function field(line, name) {
  if (!match(line, "\"" name "\": ")) return ""
  line = substr(line, RSTART + RLENGTH)
  if (line ~ /^"/) {
    match(line, /^"([^"\\]|\\.)*"/)
    return substr(line, 2, RLENGTH - 2)
  }
  match(line, /^[^,}]*/)
  return substr(line, 1, RLENGTH)
}
