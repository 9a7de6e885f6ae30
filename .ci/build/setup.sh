#!/bin/sh
# SPDX-License-Identifier: MIT
# setup.sh [--check]: makes sure that what Ferry is built from is installed. Does nothing, quickly, where all of it is
# there. On Debian and Ubuntu it installs what is missing with apt; elsewhere it says what to install, and stops. With
# --check it installs nothing: it says what Ferry cannot be built without, and what to type.
# Environment: CC, CXX, BUNDLE (the archive of `make bundle`, which stands in for the packages), OS_RELEASE (for tests).
set -eu
CC=${CC:-gcc}
CXX=${CXX:-g++}
check=${1:-}

# Packages of the C++ compiler and of clang's OpenMP: "clang-19" is of clang++-19 and comes with libomp-19-dev.
version=$(basename "$CC" | sed -n 's/^clang\(-[0-9]*\)$/\1/p')
case $CXX in
*g++-*) cxx_package=$(basename "$CXX") ;;
*) cxx_package=g++ ;;
esac

have() {
  command -v "$1" >/dev/null 2>&1
}

# compiles COMPILER PROGRAM [OPTION...]: whether a program compiles and links with these options
compiles() {
  compiler=$1
  program=$2
  shift 2
  have "$compiler" && printf '%s\n' "$program" | "$compiler" -x c - -o /dev/null "$@" >/dev/null 2>&1
}

main='int main(void) { return 0; }'
with_dnnl='#include <dnnl.h>
int main(void) { return dnnl_version() == 0; }'
with_protobuf='#include <protobuf-c/protobuf-c.h>
int main(void) { return protobuf_c_version_number() == 0; }'
with_zlib='#include <zlib.h>
int main(void) { return zlibVersion() == 0; }'
with_cmocka='#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
int main(void) { print_message("\n"); return 0; }'
with_microhttpd='#include <microhttpd.h>
int main(void) { return MHD_get_version() == 0; }'
with_ncurses='#include <ncurses.h>
int main(void) { return initscr() == 0; }'
cxx_library='#include <vector>
int main() { return (int)std::vector<int>().size(); }'
everything="#include <dnnl.h>
#include <protobuf-c/protobuf-c.h>
#include <zlib.h>
${with_cmocka%int main*}int main(void) { return print_message(\"\n\"), dnnl_version() == 0 || zlibVersion() == 0 || protobuf_c_version_number() == 0; }"

data_there() {
  [ -n "${FERRY_DATA:-}" ] || [ -e /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz ]
}

cxx_compiles() {
  have "$CXX" && printf '%s\n' "$cxx_library" | "$CXX" -x c++ -std=c++17 - -o /dev/null >/dev/null 2>&1
}

needed= # packages without which Ferry cannot be built
wished= # packages without which something smaller is missing
why=

need() {
  needed="$needed $1"
  why="$why
  $1: $2"
}

wish() {
  [ -z "$check" ] || return 0
  wished="$wished $1"
  why="$why
  $1: $2"
}

find_missing() {
  needed=
  wished=
  why=
  if ! compiles "$CC" "$main"; then
    need "$(basename "$CC")" "the C compiler"
    need libc6-dev 'the C library'
  fi
  cxx_compiles || need "$cxx_package" 'the C++ compiler and library, for the CUDA sources on simulated devices'
  have make || need make 'builds Ferry'
  case $CC in
  *clang*) compiles "$CC" "$main" -fopenmp || need "libomp$version-dev" "OpenMP for $CC: threads on the CPU" ;;
  esac
  if [ -z "${BUNDLE:-}" ]; then
    if ! compiles "$CC" "$everything" -lcmocka -ldnnl -lprotobuf-c -lz; then
      compiles "$CC" "$with_dnnl" -ldnnl || need libdnnl-dev 'oneDNN: matrix products and convolutions on the CPU'
      compiles "$CC" "$with_protobuf" -lprotobuf-c || need libprotobuf-c-dev 'protobuf-c: ONNX files'
      compiles "$CC" "$with_zlib" -lz || need zlib1g-dev 'zlib: reads compressed data sets'
      compiles "$CC" "$with_cmocka" -lcmocka || need libcmocka-dev 'cmocka: the tests'
    fi
    have protoc-c || need protobuf-c-compiler 'protoc-c: writes the C that packs and unpacks ONNX files'
    data_there || wish dataset-fashion-mnist 'Fashion-MNIST, 70,000 pictures to train on'
    have gnuplot || wish gnuplot-nox 'draws the plots'
    compiles "$CC" "$with_ncurses" -lncursesw || wish libncurses-dev 'ncurses: the interactive view of ./ferry step'
    compiles "$CC" "$with_microhttpd" -lmicrohttpd || wish libmicrohttpd-dev 'libmicrohttpd: the server of the live book (./ferry book --live)'
    [ -e /usr/share/javascript/codemirror/lib/codemirror.js ] || wish libjs-codemirror 'CodeMirror: the editor of ./ferry book --live'
    have python3 || wish python3 'reads the files of grades in the tests'
    have mpicc || wish libopenmpi-dev 'Open MPI: programs of several processes (chapter 16)'
    have mpirun || wish openmpi-bin 'mpirun, which starts them'
    have bwrap || wish bubblewrap 'shuts answers in where namespaces are refused, and is tested as such'
  fi
}

# What this system is called in core/tool/packages.def, by its column there, and the command that installs packages.
system=Debian column=2 install='apt-get install'
find_system() {
  ids=$(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' "${OS_RELEASE:-/etc/os-release}" 2>/dev/null | tr '"\n' '  ')
  [ "$(uname -s)" != Darwin ] || ids=homebrew
  case " $ids " in
  *' debian '* | *' ubuntu '*) ;;
  *' fedora '* | *' rhel '*) system=Fedora column=4 install='sudo dnf install' ;;
  *' arch '*) system='Arch Linux' column=6 install='sudo pacman -S' ;;
  *' suse '* | *' opensuse '*) system=openSUSE column=8 install='sudo zypper install' ;;
  *' alpine '*) system='Alpine Linux' column=10 install='doas apk add' ;;
  *' homebrew '*) system=Homebrew column=12 install='brew install' ;;
  *) system= ;;
  esac
}

# A package by this system's name.
named() { # DEBIAN-PACKAGE
  awk -F '"' -v name="$1" -v column=$column '$1 == "PACKAGE(" && $2 == name { print $column; found = 1 } END { exit !found }' \
    core/tool/packages.def || echo "$1"
}

# Says what to type, where packages cannot be installed from here.
say_command() { # DEBIAN-PACKAGE...
  if [ -z "$system" ]; then
    echo 'The names are those of Debian; this system may have others.' >&2
    return
  fi
  # shellcheck disable=SC2046 # a list of packages
  echo "On $system: $install $(printf '%s\n' $(for package; do named "$package"; done) | awk '!seen[$0]++' | tr '\n' ' ')" | sed 's/ *$//' >&2
}

missing_effect() {
  case $1 in
  dataset-fashion-mnist) echo 'the training on Fashion-MNIST (chapter 5) is left out' ;;
  gnuplot-nox) echo 'no plots are drawn' ;;
  libopenmpi-dev | openmpi-bin) echo 'programs are of one process: chapter 16 says so, and its tests are left out' ;;
  libmicrohttpd-dev) echo './ferry book --live is left out; ./ferry book opens the book as files' ;;
  libncurses-dev) echo './ferry step has no interactive view; it prints steps, and writes pages' ;;
  libjs-codemirror) echo './ferry book --live has plain text fields for editors' ;;
  bubblewrap) echo "answers are shut in without it; the tests of ./ferry with it are left out" ;;
  python3) echo 'the tests that read files of grades, and those of the comparison with PyTorch, are left out' ;;
  esac
}

apt() {
  ${sudo:-} env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"
}

# On Ubuntu the libraries and the data set are in the universe component, which is on unless someone turned it off.
say_universe() {
  if grep -qsi '^ID=ubuntu' /etc/os-release; then
    echo 'On Ubuntu they are in "universe": sudo add-apt-repository universe' >&2
  fi
}

if [ "$check" = --check ]; then
  find_missing
  [ -n "$needed" ] || exit 0
  echo "Ferry cannot be built before these are installed (the names are Debian's):$why" >&2
  find_system
  if [ "$system" = Debian ]; then
    # shellcheck disable=SC2016 # the backquotes are to be seen
    echo 'Type `make setup`: it installs them. Then `make` again.' >&2
  else
    # shellcheck disable=SC2086 # a list of packages
    say_command $needed
  fi
  exit 1
fi

find_missing
[ -n "$needed$wished" ] || exit 0

if ! have apt-get || ! grep -qsiE '^ID(_LIKE)?=.*(debian|ubuntu)' "${OS_RELEASE:-/etc/os-release}"; then
  find_system
  if [ -z "$needed" ]; then
    for package in $wished; do
      echo "setup: without $(named "$package"): $(missing_effect "$package")" >&2
    done
    exit 0
  fi
  echo "Ferry needs these, and can install them only on Debian and Ubuntu (the names are Debian's):$why" >&2
  # shellcheck disable=SC2086 # a list of packages
  say_command $needed $wished
  echo 'Install them, then run the command again.' >&2
  exit 1
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then
  if ! have sudo; then
    if [ -z "$needed" ]; then
      echo "setup: not root and no sudo, so these are not installed:$why" >&2
      exit 0
    fi
    echo "Ferry needs these packages, and neither root nor sudo is here to install them:$why" >&2
    echo "As root: apt-get install$needed$wished" >&2
    exit 1
  fi
  sudo=sudo
fi

printf 'Ferry installs these packages with %s, about once:%s\n' "${sudo:+sudo }apt-get" "$why"
apt update || echo 'setup: apt-get update failed; trying with the package lists that are here' >&2

if [ -n "$needed" ]; then
  # shellcheck disable=SC2086 # a list of packages
  if ! apt install -y --no-install-recommends $needed; then
    echo "setup: apt-get could not install:$needed" >&2
    say_universe
    exit 1
  fi
fi
for package in $wished; do
  if ! apt install -y --no-install-recommends "$package"; then
    echo "setup: $package could not be installed; $(missing_effect "$package")" >&2
    say_universe
  fi
done

find_missing
if [ -n "$needed" ]; then
  echo "setup: still missing after the installation:$why" >&2
  exit 1
fi
