#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The wheel on 64-bit ARM, from this commit to the first pass: built and installed in a bare Debian for that processor, which runs
# under qemu's user emulation, and then in that Debian booted in an emulated machine, since the sandbox needs a real kernel. While the
# wheel is built, `gcc` in the bare Debian is a cross compiler of this machine: an emulated compiler takes ten times as long.
# run:
# timeout: 14400
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh

[ "$(id -u)" = 0 ] || skip_all 'only root can bootstrap a Debian'
for program in debootstrap dpkg-deb git cpio aarch64-linux-gnu-gcc-12 aarch64-linux-gnu-g++-12 qemu-aarch64-static qemu-system-aarch64; do
  command -v $program >/dev/null || skip_all "$program is not installed"
done
[ "$(uname -m)" = x86_64 ] || skip_all 'the cross compiler is expected to be of x86-64'
binfmt=/proc/sys/fs/binfmt_misc
[ -e $binfmt/register ] || mount -t binfmt_misc none $binfmt 2>/dev/null || skip_all 'binfmt_misc cannot be mounted'
if ! grep -qs enabled $binfmt/qemu-aarch64; then
  magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
  mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
  printf '%s' ":qemu-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):F" >$binfmt/register 2>/dev/null ||
    skip_all 'qemu cannot be registered for programs of ARM'
fi
commit=$(git rev-parse HEAD 2>/dev/null) || skip_all 'this is not a clone, so no commit can be cloned from it'

work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
debian=$work/debian
leave() {
  umount "$debian/proc" "$debian/dev" 2>/dev/null
  mountpoint -q "$debian/dev" || rm -rf "$work"
}
trap leave EXIT
ended() { # STATUS NAME
  result "$1" "$2" "status $1: $(tail -n 12 "$work/out" | tr '\n' ' ')"
  [ "$1" = 0 ] || {
    finish
    exit
  }
}
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets 'Created-By: Packages' 'Label: Debian' 'Component: main' --format '$(REPO_URI)' 2>/dev/null | head -n 1)
needed=gcc,g++,binutils,make,git,file,libcmocka-dev,libdnnl-dev,libprotobuf-c-dev,protobuf-c-compiler,zlib1g-dev,python3,python3-venv
debootstrap --arch=arm64 --variant=minbase --include=$needed bookworm "$debian" ${mirror:+"$mirror"} >"$work/out" 2>&1 ||
  skip_all "debootstrap cannot make a Debian for arm64: $(grep '^[EW]:' "$work/out" | tail -n 1)"
mount -t proc proc "$debian/proc" && mount --bind /dev "$debian/dev"
inside() {
  nice chroot "$debian" /usr/bin/env -i PATH="$path" HOME=/root LC_ALL=C.UTF-8 sh -c "$1" >"$work/out" 2>&1
}
path=/usr/bin:/bin:/usr/sbin:/sbin

# ---- the wheel -------------------------------------------------------------------------------------------------------------------

cross=$debian/cross
mkdir -p "$cross/bin" "$cross/lib" "$debian/lib64" "$debian/usr/lib/x86_64-linux-gnu"
cp -a /usr/lib/gcc-cross "$cross/lib/"
mkdir -p "$cross/aarch64-linux-gnu/bin" "$cross/aarch64-linux-gnu/include" # the C library is that of the bare Debian
cp -a /usr/aarch64-linux-gnu/include/c++ "$cross/aarch64-linux-gnu/include/"
for tool in gcc g++ cpp as ld ld.bfd; do
  program=$(command -v aarch64-linux-gnu-$tool-12 || command -v aarch64-linux-gnu-$tool)
  cp -L "$program" "$cross/bin/$tool"
done
cp "$cross/bin/as" "$cross/bin/ld" "$cross/bin/ld.bfd" "$cross/aarch64-linux-gnu/bin/"
ldd "$cross/bin/g++" "$cross/bin/ld" "$cross/bin/as" "$cross"/lib/gcc-cross/aarch64-linux-gnu/12/cc1plus | awk '$3 ~ /^\// { print $3 }' |
  sort -u | xargs -I '{}' cp -L '{}' "$debian/usr/lib/x86_64-linux-gnu/"
cp -L /lib64/ld-linux-x86-64.so.2 "$debian/lib64/"
git clone -q --no-hardlinks . "$debian/ferry" >"$work/out" 2>&1 && git -C "$debian/ferry" checkout -q "$commit" >>"$work/out" 2>&1
ended $? "commit ${commit:0:8} is cloned"
path=/cross/bin:$path inside 'git config --global --add safe.directory /ferry && make -C /ferry wheel'
ended $? 'make wheel'
wheel=$(basename "$(ls "$debian"/ferry/build/packages/*.whl)")
case $wheel in *manylinux_2_*_aarch64.whl) result 0 "$wheel" ;; *) result 1 'a wheel for this processor' "$wheel" ;; esac

# ---- installed, and used without an answer -----------------------------------------------------------------------------------------

inside "useradd -m learner && cp /ferry/build/packages/$wheel /ferry/chapters/kernels/transpose.cu /home/learner/ && rm -r /cross /ferry/.git"
rm -f "$debian/lib64/ld-linux-x86-64.so.2"
as_learner() {
  inside "su learner -c 'cd && $1'"
}
as_learner "python3 -m venv venv && venv/bin/pip install -q ./$wheel && venv/bin/ferry start"
ended $? 'installed in a virtual environment; ferry start'
cp solutions/{20_1_saxpy,23_1_shared_transpose}.cu solutions/01_1_memory_or_compute_bound.c "$debian/home/learner/ferry/work/"
as_learner 'venv/bin/ferry cuda transpose.cu'
ended $? 'ferry cuda: a program is compiled and runs'
as_learner 'venv/bin/ferry inspect transpose.cu --quiet'
[ $? = 1 ] && grep -q 'data race within a block' "$work/out"
result $? 'ferry inspect finds its races' "$(head -n 3 "$work/out" | tr '\n' ' ')"
as_learner 'venv/bin/ferry run 20.1'
[ $? = 3 ] && grep -q 'no sandbox is available' "$work/out"
result $? 'no answer runs where the kernel has no filters of system calls' "$(head -n 3 "$work/out" | tr '\n' ' ')"

# ---- booted ----------------------------------------------------------------------------------------------------------------------

inside 'cd /tmp && apt-get download -q "$(apt-cache depends linux-image-cloud-arm64 | sed -n "s/.*Depends: //p" | head -n 1)"' &&
  dpkg-deb -x "$debian"/tmp/linux-image-*.deb "$work/kernel"
ended $? "Debian's kernel for that processor"
cat >"$debian/init" <<'END'
#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /tmp; chmod 1777 /tmp
mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm
for exercise in 1.1 20.1 23.1; do
  su learner -c "cd && FERRY_ANSWER_SECONDS=300 venv/bin/ferry run $exercise"
  echo "STATUS $exercise $?"
done
su learner -c 'cd && venv/bin/ferry doctor' | grep sandbox
echo o >/proc/sysrq-trigger
sleep 60
END
chmod +x "$debian/init"
umount "$debian/proc" "$debian/dev"
(cd "$debian" && find . -xdev \( -path ./ferry -o -path ./var/cache -o -path ./tmp/\* -o -path ./usr/lib/x86_64-linux-gnu -o -path ./usr/share/doc \
  -o -path ./usr/share/locale \) -prune -o -print0 | cpio -0 -o -H newc --quiet) >"$work/root.cpio"
nice timeout 3600 qemu-system-aarch64 -M virt -cpu cortex-a76 -smp 2 -m 4G -net none -nographic -kernel "$work"/kernel/boot/vmlinuz-* \
  -initrd "$work/root.cpio" -append 'rdinit=/init console=ttyAMA0 quiet lsm=landlock' </dev/null 2>&1 | tr -d '\r' >"$work/out"
for exercise in 1.1 20.1 23.1; do
  grep -q "^STATUS $exercise 0\$" "$work/out"
  result $? "the solution of $exercise passes, in a sandbox" "$(tail -n 12 "$work/out" | tr '\n' ' ')"
done
grep -a 'sandbox  ' "$work/out" | sed 's/^/# /'
finish
