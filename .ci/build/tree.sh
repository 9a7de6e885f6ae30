#!/bin/sh
# SPDX-License-Identifier: MIT
# tree.sh DEST BUILD FILE...: writes the workbook that packages have: a folder like a clone (core/tool/install.mk). Objects of BUILD go
# to its build/, without their debug information. The libraries that the library needs go with it, so that a compiler is all that
# the machine must have.
set -eu
dest=$1
build=$2
shift 2

rm -rf "$dest"
mkdir -p "$dest"

# put FILE [AS]
put() {
  mkdir -p "$dest/$(dirname "${2:-$1}")"
  cp "$1" "$dest/${2:-$1}"
}

find core \( -name '*.h' -o -name '*.cuh' -o -path 'core/sim/include/*' -o -path 'core/step/*.html' -o -path 'core/step/*.js' \
  -o -path 'core/step/*.css' \) -type f ! -path 'core/tool/*' | while read -r file; do
  put "$file"
done
for file; do
  case $file in
  "$build"/*.o) put "$file" "build/${file#"$build"/}" ;;
  *) put "$file" ;;
  esac
done
# Texts that are printed spell the command as it is typed. The checks of exercises stay as they are: their texts are a version of them.
find "$dest/docs" "$dest/exercises" "$dest/solutions" -type f -exec sed -E -i -f .ci/build/spelled.sed {} +

put build/cu2cpp
for archive in ferry inspect cudasim; do
  put "$build/lib$archive.a" "build/lib$archive.a"
done
for header in build/include/*.h; do
  put "$header"
done
# Translations only where their tools are: without them, all texts are English.
if command -v msgfmt >/dev/null && command -v po4a-translate >/dev/null; then
  docs/translations/build.sh "$dest/build/translations" .ci/build/spelled.sed
fi
find build/sim/core -name '*.cuh' | while read -r file; do
  put "$file"
done

# ---- libraries -----------------------------------------------------------------------------------------------------------

libraries=$dest/build/bundle/lib
mkdir -p "$libraries"
mkdir -p "$dest/build/bundle/notices"
notice() { # FILE: the licenses of the package that it comes from
  package=$(dpkg -S "$(realpath "$1")" 2>/dev/null | cut -d : -f 1)
  [ -z "$package" ] || cp -L "/usr/share/doc/$package/copyright" "$dest/build/bundle/notices/$package"
}
library() { # FILE
  notice "$1"
  soname=$(objdump -p "$1" | awk '$1 == "SONAME" { print $2 }')
  cp -L "$1" "$libraries/${soname:-$(basename "$1")}"
}
where() { # NAME: where the compiler finds a library
  found=$(${CC:-gcc} -print-file-name="$1" -Lbuild/bundle/lib)
  [ -e "$found" ] || found=build/bundle/lib/$1
  echo "$found"
}
library "$(where libdnnl.so)"
for name in protobuf-c z; do
  notice "$(where lib$name.a)"
  cp "$(where lib$name.a)" "$libraries/"
done
# What oneDNN needs in turn, but for the libraries that a compiler brings.
ldd "$(where libdnnl.so)" | awk '$3 ~ /^\// { print $3 }' | while read -r needed; do
  case $needed in
  */libc.so* | */libm.so* | */libgomp.so* | */libgcc_s* | */libstdc++* | */libpthread* | */libdl.so*) ;;
  *) library "$needed" ;;
  esac
done

find "$dest/build" \( -name '*.o' -o -name '*.a' \) -exec strip --strip-debug {} +
strip "$dest/build/cu2cpp"
find "$libraries" -name '*.so*' -exec strip --strip-unneeded {} +
find "$dest" -type d -exec chmod 755 {} +
find "$dest" -type f -exec chmod 644 {} +
chmod 755 "$dest/build/cu2cpp"
