#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh [OUT [SED]]: makes OUT (build/translations) from the catalogs: LANGUAGE/LC_MESSAGES/ferry.mo, and the translated lessons in
# LANGUAGE/docs. The file SED edits all texts, for an installed Ferry. Needs gettext, and po4a for the lessons. What is not translated
# stays English.
set -eu
cd "$(dirname "$0")/../.."
[ "${1:-}" != --help ] || { sed -n '3,5s/^# //p' docs/translations/build.sh; exit 0; }
command -v msgfmt >/dev/null && command -v po4a-translate >/dev/null || {
  echo 'make translations needs gettext and po4a: apt-get install gettext po4a' >&2
  exit 2
}
out=${1:-build/translations}
edit=${2:-/dev/null} # an empty script of sed
for language in docs/translations/*/; do
  name=$(basename "$language")
  rm -rf "${out:?}/$name"
  mkdir -p "$out/$name/LC_MESSAGES" "$out/$name/docs"
  msgcat --use-first --no-wrap "$language"messages.po "$language"exercises.po | sed -E -f "$edit" |
    msgfmt --check-format -o "$out/$name/LC_MESSAGES/ferry.mo" -
  for po in "$language"lessons/*.po; do
    page=$(basename "${po%.po}").md
    po4a-translate --format text --option markdown --option neverwrap --master-charset UTF-8 --keep 0 \
      --master "docs/$page" --po "$po" --localized "$out/$name/docs/$page" 2>/dev/null
    # po4a puts an empty line between the items of a list.
    awk '/^$/ { empty++; next } !(empty && item && /^- /) { while (empty-- > 0) print "" } { empty = 0; item = /^- / || (item && /^  /); print }' \
      "$out/$name/docs/$page" | sed -E -f "$edit" >"$out/$name/docs/$page.new"
    mv "$out/$name/docs/$page.new" "$out/$name/docs/$page"
  done
  echo "  LANG  $out/$name"
done
