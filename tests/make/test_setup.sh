#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Without its packages a build names them and says what to type; nothing is compiled, and nothing installed.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A compiler for which a library, and what belongs to it, is not installed.
compiler_without() { # LIBRARY HEADER
  cat >"$work/cc" <<END
#!/bin/sh
program=\$(cat)
case "\$* \$program" in *-l$1*|*$2*) exit 1 ;; esac
printf '%s\\n' "\$program" | exec cc "\$@"
END
  chmod +x "$work/cc"
}
check() {
  CC=$work/cc .ci/build/setup.sh --check
}

compiler_without nothing-at-all none.h
says 'nothing to say where all is there' 0 '' check
[ -z "$(check 2>&1)" ]
result $? 'and nothing is said' "$(check 2>&1)"
for missing in 'dnnl dnnl.h libdnnl-dev' 'protobuf-c protobuf-c.h libprotobuf-c-dev' 'z zlib.h zlib1g-dev' 'cmocka cmocka.h libcmocka-dev'; do
  read -r library header package <<<"$missing"
  compiler_without "$library" "$header"
  says "$package is named" 1 "  $package: " check
done
# shellcheck disable=SC2016
says 'with what to type' 1 '`make setup`' check
[ "$(check 2>&1 | grep -c '^  ')" = 1 ]
result $? 'and no other package is' "$(check 2>&1)"
CC=$work/no-such-compiler
export CC
says 'a compiler that is not there' 1 '  no-such-compiler: the C compiler' .ci/build/setup.sh --check
unset CC
says 'a version of g++' 1 '  g++-99: the C++ compiler' env CXX=g++-99 .ci/build/setup.sh --check
compiler_without omp none.h
mv "$work/cc" "$work/clang-99"
sed -i 's/-lomp/-fopenmp/' "$work/clang-99"
says 'OpenMP of a version of clang' 1 '  libomp-99-dev: OpenMP' env CC="$work/clang-99" .ci/build/setup.sh --check
compiler_without cmocka cmocka.h

# Names of packages by the system, whatever this one is.
while IFS='|' read -r lines expected; do
  printf "%b" "$lines" >"$work/os-release"
  says "packages of ${lines%%\\n*}" 1 "$expected" env OS_RELEASE="$work/os-release" CC="$work/no-such" CXX=no-such .ci/build/setup.sh --check
done <<'END_OF_SYSTEMS'
ID=fedora\n|On Fedora: sudo dnf install no-such glibc-devel gcc-c++
ID="rocky"\nID_LIKE="rhel centos fedora"\n|On Fedora: sudo dnf install
ID=arch\n|On Arch Linux: sudo pacman -S no-such glibc gcc
ID="opensuse-leap"\nID_LIKE="suse opensuse"\n|On openSUSE: sudo zypper install
ID=alpine\n|On Alpine Linux: doas apk add
ID=ubuntu\nID_LIKE=debian\n|`make setup`
ID=none\n|names are those of Debian
END_OF_SYSTEMS

build() {
  make --no-print-directory CC="$work/cc" CXX=g++ B="$work/build" NVCC= BUNDLE= library
}
says 'make says so before it compiles' 2 '  libcmocka-dev: cmocka: the tests' build
said=$(build 2>&1)
grep -qE 'error:|  (CC|SIM) ' <<<"$said"
[ $? = 1 ]
result $? 'and compiles nothing' "$said"
finish
