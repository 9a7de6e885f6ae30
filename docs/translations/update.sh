#!/bin/sh
# SPDX-License-Identifier: MIT
# update.sh: brings the catalogs of all languages up to date with the program, the exercises and the lessons. Messages that changed
# become "fuzzy" or go: they are shown in English until you translate them again. exercises.po keeps only what is translated; all
# messages of exercises are in build/translations/exercises.pot. Needs gettext and po4a.
set -eu
cd "$(dirname "$0")/../.."
[ "${1:-}" != --help ] || { sed -n '3,5s/^# //p' docs/translations/update.sh; exit 0; }
command -v xgettext >/dev/null && command -v po4a-updatepo >/dev/null || {
  echo 'update.sh needs gettext and po4a: apt-get install gettext po4a' >&2
  exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
xgettext="xgettext --from-code=UTF-8 --language=C --no-wrap --sort-output --no-location --package-name=Ferry --add-comments=TRANSLATORS"

# Messages in the source are marked: _("...") and N_("...").
# shellcheck disable=SC2046,SC2086 # file names without blanks, options
$xgettext --keyword=_ --keyword=N_ -o "$work/marked.pot" $(grep -rl 'tool/print/language\.h' core tests/grader --include='*.c' | LC_ALL=C sort)

# Common mistakes, and each exercise's title, hints, stars and mistakes, are not: they are the strings of their tables.
awk '/Mistake [A-Z_0-9]+ =/ { mistake = 1 }
  /^EXERCISE = / { exercise = 1 }
  FNR == 1 || /\.tests = / { exercise = 0 }
  (mistake || exercise) && !/\.(id|kind|lesson|functions|reference) = / { gsub(/(LESSON|LESSON_[0-9]+) *"[^"]*"|"docs\/[^"]*"/, ""); print }
  /};/ { mistake = 0 }' tests/grader/*.c tests/hidden/*/check.c >"$work/tables.c"
# shellcheck disable=SC2086 # options
$xgettext --extract-all -o "$work/tables.pot" "$work/tables.c"
mkdir -p build/translations
cp "$work/marked.pot" build/translations/messages.pot
# What the program has anyway is not in the second catalog.
msgcomm --unique --no-wrap --sort-output --no-location -o build/translations/exercises.pot "$work/tables.pot" "$work/marked.pot" 2>/dev/null
sed -i '/^#, c-format$/d' build/translations/exercises.pot

merge() { # LANGUAGE CATALOG
  po=$1/$2.po
  [ -e "$po" ] || msginit --no-translator --no-wrap -l "${1##*/}" -i "build/translations/$2.pot" -o "$po"
  msgmerge --quiet --no-wrap --sort-output --no-location --no-fuzzy-matching --backup=none --update "$po" "build/translations/$2.pot"
}

for language in docs/translations/*/; do
  language=${language%/}
  merge "$language" messages
  merge "$language" exercises
  msgattrib --force-po --translated --no-obsolete --no-wrap -o "$language/exercises.po" "$language/exercises.po"
  for po in "$language"/lessons/*.po; do
    [ -e "$po" ] || continue
    name=${po##*/}
    po4a-updatepo --format text --option markdown --option neverwrap --master-charset UTF-8 \
      --master "docs/${name%.po}.md" --po "$po" --porefs none --wrap-po no 2>/dev/null
    rm -f "$po~"
  done
  for po in "$language"/*.po "$language"/lessons/*.po; do
    printf '%s: ' "$po"
    msgfmt --check-format --statistics -o /dev/null "$po" 2>&1
  done
done
