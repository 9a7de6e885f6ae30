# SPDX-License-Identifier: MIT
# awk -v mark=MARK -v work=FOLDER -f fill.awk PAGE: a page whose parts are made. A line `<!-- MARK PART -->` is followed by the file
# FOLDER/PART, up to the line `<!-- end -->`.
$0 ~ "^<!-- " mark " [a-z]+ -->$" {
  print
  while ((getline line <(work "/" $3)) > 0) print line
  inside = 1
  next
}
/^<!-- end -->$/ { inside = 0 }
!inside
