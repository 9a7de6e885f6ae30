#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The listings in README.md and docs/*.md are what their sources say, the drawings what their programs draw; every output marker names
# a chapter that exists; links between pages lead somewhere; and the check does find a difference.
# run:
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

report() { # STATUS NAME WHY
  if [ "$1" = 0 ]; then
    echo "ok $2"
  else
    echo "not ok $2 - $3"
  fi
}

listings_match() {
  for page in README.md docs/*.md; do
    if docs/refresh.sh --check "$page" >"$work/difference" 2>&1; then
      report 0 "listings of $page"
    else
      sed 's/^/# /' "$work/difference"
      report 1 "listings of $page" 'they differ from their sources (docs/refresh.sh --code renews them)'
    fi
  done
}

check_finds_a_change() { # NAME SED-COMMAND
  sed "$2" docs/03_tensor_moves.md >"$work/page.md"
  if cmp -s docs/03_tensor_moves.md "$work/page.md"; then
    report 1 "$1" 'the change changed nothing'
    return
  fi
  docs/refresh.sh --check "$work/page.md" >"$work/difference" 2>&1
  report $((!$?)) "$1" 'docs/refresh.sh --check did not notice'
}

outputs_are_there() {
  local page line program empty
  for page in README.md docs/*.md; do
    empty=$(awk '/^<!-- output / { marker = $0; getline; getline; if ($0 == "```") printf "%s ", marker }' "$page")
    [ -z "$empty" ]
    report $? "outputs of $page" "empty: $empty"
    while read -r line; do
      program=$(awk '{ print $3 }' <<<"$line")
      [ -e "$program.c" ] || [ -e "$program.cu" ] || [ "$program" = ferry ]
      report $? "$page: the source of $program" 'there is none'
    done < <(grep '^<!-- output ' "$page" | sort -u -k3,3)
  done
}

links_lead_somewhere() {
  local page link missing
  for page in README.md docs/*.md; do
    missing=
    while read -r link; do
      if [ ! -e "$(dirname "$page")/${link%%#*}" ]; then
        missing="$missing $link"
      fi
    done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\(|\)$//g' | grep -vE '^https?:')
    [ -z "$missing" ]
    report $? "links of $page" "nothing at$missing"
  done
}

drawings_match() {
  local file
  mkdir "$work/images"
  OUT=$work/images plots/pictures/draw.sh >"$work/drawn" 2>&1
  report $? 'the drawings can be made' "$(tail -n 1 "$work/drawn")"
  for file in "$work"/images/*.svg; do
    cmp -s "$file" "docs/images/$(basename "$file")"
    report $? "docs/images/$(basename "$file")" 'it is not what plots/pictures/draw.sh makes'
  done
}

listings_match
drawings_match
check_finds_a_change 'a changed listing is found' 's/fy_to(cpu_tensor, device)/fy_to(cpu_tensor, other)/'
check_finds_a_change 'a region that is not there is found' 's/^<!-- code \(.*\) to -->/<!-- code \1 nowhere -->/'
outputs_are_there
links_lead_somewhere
