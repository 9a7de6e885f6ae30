#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The wheel that .ci/build/wheel.py makes of an installed tree: places, permissions, RECORD, and a tag that an older C library refuses.
# What a real one does in a bare Debian is in tests/nightly/test_packages.sh.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
command -v python3 >/dev/null || skip_all 'python3 is not installed'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/there/bin" "$work/there/lib/ferry/build" "$work/there/lib/ferry/docs"
cp "$(command -v cat)" "$work/there/bin/ferry"
printf '#!/bin/sh\necho converted\n' >"$work/there/lib/ferry/build/cu2cpp"
chmod 755 "$work/there/bin/ferry" "$work/there/lib/ferry/build/cu2cpp"
echo text >"$work/there/lib/ferry/docs/page.md"
chmod 644 "$work/there/lib/ferry/docs/page.md"
python3 .ci/build/wheel.py "$work/there" 1.2.3 "$work/out" >"$work/said" 2>&1
result $? 'it is made' "$(tail -n 3 "$work/said")"
wheel=$(echo "$work"/out/*)
[[ $(basename "$wheel") =~ ^ferry_gpu-1\.2\.3-py3-none-manylinux_2_(3[6-9]|[4-9][0-9])_$(uname -m)\.whl$ ]]
result $? 'its tag asks for glibc 2.36 or later' "$wheel"
python3 - "$wheel" >"$work/said" 2>&1 <<'END_OF_CHECK'
import base64, hashlib, sys, zipfile

archive = zipfile.ZipFile(sys.argv[1])
record = dict(line.rsplit(",", 2)[:2] for line in archive.read("ferry_gpu-1.2.3.dist-info/RECORD").decode().splitlines())
for name in archive.namelist():
    digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
    if name.endswith("/RECORD"):
        assert record.pop(name) == "", name
    else:
        assert record.pop(name) == "sha256=" + digest, name
assert not record, record
mode = {name: archive.getinfo(name).external_attr >> 16 & 0o777 for name in archive.namelist()}
assert mode["ferry_gpu-1.2.3.data/scripts/ferry"] == 0o755
assert mode["ferry_gpu-1.2.3.data/data/lib/ferry/build/cu2cpp"] == 0o755
assert mode["ferry_gpu-1.2.3.data/data/lib/ferry/docs/page.md"] == 0o644
END_OF_CHECK
result $? 'its list of files is right, and so are their permissions' "$(tail -n 2 "$work/said")"
python3 .ci/build/wheel.py "$work/there" 1.2.3 "$work/again" >"$work/said" 2>&1
cmp -s "$wheel" "$work/again/$(basename "$wheel")"
result $? 'the same files make the same wheel' "$(tail -n 2 "$work/said")"
if python3 -m pip --version >/dev/null 2>&1 && python3 -m venv --without-pip "$work/venv" 2>/dev/null; then
  if python3 -m pip --python "$work/venv/bin/python" install --quiet --no-index "$wheel" >"$work/said" 2>&1; then
    [ "$("$work/venv/bin/ferry" <<<well)" = well ] && [ "$("$work/venv/lib/ferry/build/cu2cpp")" = converted ]
    result $? 'installed, the program is beside its folder' "$(find "$work/venv/bin" "$work/venv/lib/ferry" | tr '\n' ' ')"
  else
    skip 'installed' "pip cannot install it here: $(tail -n 1 "$work/said")"
  fi
else
  skip 'installed' 'pip or venv is not installed'
fi
finish
