#!/bin/sh
# Fetches data sets that are not Debian packages, checks them against their published sums, and puts them where the
# library looks. Nothing else in Ferry needs the network: without these files chapters make up pictures, and say so.
set -eu
table=${FERRY_DATA_SETS:-$(dirname "$0")/data_sets.txt}
default=${FERRY_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/ferry}

usage() {
  cat <<END
usage: chapters/get_data.sh SET... [--to DIR]

Fetches data sets, checks their SHA-256 and puts them where the library finds
them. What is there already is left alone.

  SET         one of: $(names)
  --to DIR    where to (default: $default)
  --check     fetch nothing; say which sets are there and whole

fy_mnist, fy_fashion_mnist and fy_cifar10 look in FERRY_DATA, then in
XDG_DATA_HOME/ferry (by default ~/.local/share/ferry). For another DIR, set
FERRY_DATA to it.
END
}

names() {
  awk '!/^#/ && NF && !seen[$1]++ { printf "%s%s", n++ ? " " : "", $1 }' "$table"
}

fail() {
  echo "get_data.sh: $*" >&2
  exit 1
}

sum_of() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# fetch ADDRESS FILE, with a progress bar where somebody looks
fetch() {
  if command -v curl >/dev/null 2>&1; then
    if [ -t 2 ]; then curl -fL --progress-bar -o "$2" "$1"; else curl -fsSL -o "$2" "$1"; fi
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1"
  else
    fail "neither curl nor wget is here (apt-get install curl), or fetch $1 by hand into $2"
  fi
}

# A file counts as there only when its sum is right, an archive only when all that was in it is there too.
is_whole() {
  [ -f "$1" ] && [ "$(sum_of "$1")" = "$2" ] || return 1
  case $1 in
  *.tar.gz) tar -tzf "$1" | (cd "$(dirname "$1")" && while read -r inside; do [ -e "$inside" ] || exit 1; done) ;;
  esac
}

# get SUM FOLDER ADDRESS
get() {
  file=$(basename "$3")
  folder=$to/$2
  if is_whole "$folder/$file" "$1"; then
    echo "  there      $folder/$file"
    return
  fi
  [ -z "$check" ] || { echo "  missing    $folder/$file" && missing=1 && return; }
  mkdir -p "$folder"
  part=$folder/$file.part
  trap 'rm -f "$part"' EXIT
  fetch "$3" "$part" || fail "$3 could not be fetched; try again later, or put $file into $folder by hand"
  got=$(sum_of "$part")
  [ "$got" = "$1" ] || fail "$3 is not the file it should be, and was thrown away (SHA-256 $got, expected $1)"
  case $file in
  *.tar.gz) tar -xzf "$part" -C "$folder" || fail "$file could not be unpacked into $folder" ;;
  esac
  mv "$part" "$folder/$file"
  echo "  fetched    $folder/$file"
}

to=$default check='' sets='' missing=''
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help) usage && exit ;;
  --to) [ $# -gt 1 ] || fail "--to needs a folder" && to=$2 && shift ;;
  --check) check=1 ;;
  -*) fail "$1 is no option (--help lists them)" ;;
  *) case " $(names) " in *" $1 "*) sets="$sets $1" ;; *) fail "$1 is no data set; these are: $(names)" ;; esac ;;
  esac
  shift
done
[ -n "$sets" ] || { [ -n "$check" ] && sets=$(names); } || { usage >&2 && exit 2; }

for set in $sets; do
  echo "$set"
  while read -r name sum folder address; do
    [ "$name" != "$set" ] || get "$sum" "$folder" "$address"
  done <"$table"
done
[ -z "$missing" ] || exit 1
[ -n "$check" ] || [ "$to" = "$default" ] || echo "Set FERRY_DATA=$to so that the library finds them."
