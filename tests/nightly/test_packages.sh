#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The wheel and the Debian package in a bare Debian, which has no make and at first no compiler: what they say is missing, and then from
# `ferry start` to a passed exercise, of a kernel and of the library.
#
# usage: tests/nightly/test_packages.sh SUITE
# run: -- bookworm
# run: -- trixie
# timeout: 7200
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
# shellcheck source=tests/support/debian.sh
. tests/support/debian.sh
debian_begin "${1:?which release: bookworm, trixie}" ca-certificates,python3-venv
stop() {
  finish
  exit
}

make wheel deb >"$work/out" 2>&1
status=$?
ended $status 'make wheel deb'
[ $status = 0 ] || stop
cp build/packages/*.whl build/packages/*.deb "$root/srv/"
mkdir "$root/srv/answers"
cp solutions/20_1_saxpy.cu solutions/03_1_create_on_the_device.c solutions/23_1_shared_transpose.cu "$root/srv/answers/"
if command -v lintian >/dev/null; then
  lintian --fail-on error,warning build/packages/*.deb >"$work/out" 2>&1
  ended $? 'lintian'
else
  skip "$suite: lintian" 'it is not installed'
fi
inside root 'useradd --uid 54321 --create-home learner && apt-get -qq update'
ended $? 'an ordinary user'

# ---- the wheel ---------------------------------------------------------------------------------------------------------------

inside learner 'python3 -m venv there && there/bin/pip install --quiet --no-index /srv/*.whl'
ended $? 'the wheel in a new environment'
inside learner 'there/bin/ferry version'
ended $? 'ferry version, without a compiler'
inside learner 'there/bin/ferry doctor'
[ $? = 1 ] && grep -q 'g++ .*sudo apt-get install g++' "$work/out"
ended $? 'ferry doctor names the package of the compiler'
inside learner 'there/bin/ferry start && there/bin/ferry run 20.1'
[ $? != 0 ] && grep -q 'ferry doctor' "$work/out"
ended $? 'ferry run without a compiler says where to ask'
inside root 'apt-get -qq install -y --no-install-recommends g++'
ended $? 'g++'

pass() { # FERRY NAME
  inside learner "rm -rf ~/ferry && $1 start"
  grep -q 'Copied [0-9]* exercises to /home/learner/ferry/work/' "$work/out"
  ended $? "$2: ferry start"
  inside learner "$1 run 20.1"
  [ $? = 1 ] && grep -q 'again: ferry run 20.1' "$work/out"
  ended $? "$2: an exercise that is not solved"
  inside learner "cp /srv/answers/* ferry/work/ && $1 run 20.1 && $1 run 3.1 && $1 run 23.1 && $1"
  ended $? "$2: three passes"
  inside learner "printf '%s\n' '#include <cstdio>' '__global__ void k() { printf(\"thread %d\\\\n\", threadIdx.x); }' 'int main() { k<<<1, 2>>>(); return cudaDeviceSynchronize(); }' >k.cu && $1 cuda k.cu"
  ended $? "$2: ferry cuda"
  inside learner "$1 inspect k.cu"
  ended $? "$2: ferry inspect"
  inside learner "$1 chapter 20#grid-block-guard && $1 hint 20.1 && $1 solution 20.1"
  ! grep -q '\./ferry' "$work/out"
  ended $? "$2: what is printed spells the command ferry"
  inside root "ferry=$1 && case \$ferry in there/*) ferry=/home/learner/\$ferry ;; esac; \$ferry run 20.1 --file /srv/answers/20_1_saxpy.cu"
  ended $? "$2: as root"
}
inside learner 'touch stamp'
pass there/bin/ferry wheel
inside learner 'find there -newer stamp -type f | grep . && exit 1; exit 0'
ended $? 'nothing is written into the environment'
inside root 'rm -r /home/learner/there'

# ---- the package -----------------------------------------------------------------------------------------------------------------

inside root 'apt-get -qq purge -y --autoremove g++ && apt-get -qq install -y --no-install-recommends /srv/*.deb'
ended $? 'the package, with what it depends on'
pass ferry package
inside root 'apt-get -qq purge -y ferry-gpu && ! ls -d /usr/lib/ferry'
ended $? 'and it is removed'
finish
