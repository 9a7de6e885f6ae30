#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh STAGE VERSION OUT: packs what `make install` wrote to STAGE/usr for Debian and Ubuntu, with dpkg-deb.
set -eu
stage=$1
version=$2
out=$3
name=ferry-gpu
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
maintainer=$(git log -1 --format='%an <%ae>' 2>/dev/null || echo 'Ferry <ferry@localhost>')
date=$(git log -1 --date=rfc2822 --format=%cd 2>/dev/null || date -R)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
ferry=$stage/usr/bin/ferry

mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/DEBIAN" "$root/usr/share/doc/$name" "$root/usr/share/man/man1" \
  "$root/usr/share/bash-completion/completions"
cp "$ferry" "$root/usr/bin/"
cp -R "$stage/usr/lib/ferry" "$root/usr/lib/"
cp core/tool/ferry.bash-completion "$root/usr/share/bash-completion/completions/ferry"

# The commands, as `ferry help` prints them.
{
  cat <<END_OF_PAGE
.TH FERRY 1 "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)" "Ferry $version" "User Commands"
.SH NAME
ferry \\- workbook for GPU programming in C
.SH SYNOPSIS
.B ferry
.RI [ COMMAND ]
.SH DESCRIPTION
Ferry teaches GPU programming in C with lessons and exercises that are checked automatically. Kernels run on a simulator that
follows CUDA's rules, so no GPU is needed. The exercises are copied to ~/ferry/work, or to the folder that FERRY_WORK names.
.SH COMMANDS
.nf
END_OF_PAGE
  "$ferry" help | sed -n '/^  [a-z]/,/^$/p' | sed 's/\\/\\\\/g; s/-/\\-/g; s/^\./\\\&./'
  echo '.fi'
} | gzip -9n >"$root/usr/share/man/man1/ferry.1.gz"

# ---- what Debian's policy wants --------------------------------------------------------------------------------------------

{
  cat <<END_OF_COPYRIGHT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Ferry

Files: *
Copyright: $(sed -n 's/^Copyright (c) //p' LICENSE | head -n 1)
License: Expat

Files: usr/lib/ferry/build/bundle/lib/libdnnl.so.*
Copyright: 2016-2023 Intel Corporation
License: Apache-2.0
Comment: oneDNN, from Debian's package of that library.

Files: usr/lib/ferry/build/bundle/lib/libOpenCL.so.*
Copyright: 2012-2023 Brice Videau, Vincent Danjean
License: BSD-2-clause
Comment: ocl-icd, which oneDNN is linked with.

Files: usr/lib/ferry/build/bundle/lib/libprotobuf-c.a
Copyright: 2008-2023 Dave Benson and the protobuf-c authors
License: BSD-2-clause

Files: usr/lib/ferry/build/bundle/lib/libz.a
Copyright: 1995-2022 Jean-loup Gailly and Mark Adler
License: Zlib

License: Apache-2.0
 On Debian systems, the full text is in /usr/share/common-licenses/Apache-2.0.

END_OF_COPYRIGHT
  echo 'License: Expat'
  sed '1,/^$/d' LICENSE | sed -n '/^Permission/,$p' | sed 's/^$/./; s/^/ /'
  cat .ci/build/licenses.txt
} >"$root/usr/share/doc/$name/copyright"
{
  echo "$name ($version) unstable; urgency=medium"
  printf '\n  * Built from the source tree.\n\n -- %s  %s\n' "$maintainer" "$date"
} | gzip -9n >"$root/usr/share/doc/$name/changelog.gz"
mkdir -p "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/$name" <<END_OF_OVERRIDES
# oneDNN and the libraries that it needs are the versions that the library was compiled with: answers are linked with them.
$name: embedded-library *
END_OF_OVERRIDES

size=$(du -sk "$root/usr" | cut -f 1)
cat >"$root/DEBIAN/control" <<END_OF_CONTROL
Package: $name
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Depends: libc6 (>= 2.36), libc6-dev, libstdc++6, gcc (>= 4:12), g++ (>= 4:12), binutils
Suggests: bubblewrap, gnuplot
Section: education
Priority: optional
Description: workbook for GPU programming in C
 Lessons and exercises about CUDA kernels and about how a deep-learning
 framework uses a GPU. Answers are checked automatically, and the races and
 out-of-bounds accesses of a kernel are found and explained.
 .
 Kernels run on a simulator that follows the rules of CUDA, so no GPU is
 needed.
END_OF_CONTROL
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -type d -exec chmod 755 {} +
find "$root/usr/share" "$root/DEBIAN" -type f -exec chmod 644 {} +
mkdir -p "$out"
deb=$out/${name}_${version}_$architecture.deb
dpkg-deb -z6 --root-owner-group --build "$root" "$deb" >/dev/null
printf '  %-5s %s\n' DEB "$deb ($(du -m "$deb" | cut -f 1) MiB)"
