#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wheel.py PREFIX VERSION OUT: packs what `make install` wrote to PREFIX into a wheel for pipx and uvx.

PREFIX/bin/ferry becomes a script of the wheel, and PREFIX/lib/ferry a folder of its data, so both keep their places beside one
another in every environment. A machine with an older C library than the one that the programs were linked with is refused by pip:
the wheel's tag names the newest version of a symbol that they need.
"""
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

NAME = "ferry_gpu"
METADATA = """\
Metadata-Version: 2.1
Name: ferry-gpu
Version: {version}
Summary: A workbook for GPU programming in C: lessons, exercises, and a CUDA simulator that runs on the CPU
License: MIT
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Description-Content-Type: text/markdown

# Ferry

Ferry teaches GPU programming in C. Kernels run on a simulator that follows CUDA's rules, so no GPU is needed.

    ferry doctor   # says whether a compiler is missing, and how to install it
    ferry start    # copies the exercises to ~/ferry/work
    ferry run      # checks the next exercise

It needs GCC's C and C++ compilers (12 or later) and binutils. Debian and Ubuntu: `sudo apt-get install g++`. Fedora:
`sudo dnf install gcc-c++`. Arch Linux: `sudo pacman -S gcc`. openSUSE: `sudo zypper install gcc-c++`.
"""
DATE = (2020, 1, 1, 0, 0, 0)  # the same files make the same wheel


def newest_glibc(paths):
    """The newest GLIBC_2.N that a program or shared library among the files needs."""
    newest = 0
    for path in paths:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        said = subprocess.run(["objdump", "-T", path], capture_output=True, text=True).stdout
        newest = max([newest] + [int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", said)])
    return newest


def main():
    prefix, version, out = sys.argv[1:]
    info = f"{NAME}-{version}.dist-info"
    data = f"{NAME}-{version}.data"
    files = {f"{data}/scripts/ferry": os.path.join(prefix, "bin/ferry")}
    for folder, _, names in os.walk(os.path.join(prefix, "lib/ferry")):
        for name in names:
            path = os.path.join(folder, name)
            files[f"{data}/data/{os.path.relpath(path, prefix)}"] = path
    # Debian 12's C library: what links with these objects may need it although no program here does.
    glibc = max(36, newest_glibc(files.values()))
    tag = f"py3-none-manylinux_2_{glibc}_{platform.machine()}"
    texts = {
        f"{info}/METADATA": METADATA.format(version=version),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: ferry\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{NAME}.py": '"""The program is the command `ferry`."""\n',
    }
    os.makedirs(out, exist_ok=True)
    wheel = os.path.join(out, f"{NAME}-{version}-{tag}.whl")
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(name, content, mode):
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}\n")

        for name, path in sorted(files.items()):
            with open(path, "rb") as file:
                add(name, file.read(), 0o755 if os.access(path, os.X_OK) and os.stat(path).st_mode & 0o100 else 0o644)
        for name, text in texts.items():
            add(name, text.encode(), 0o644)
        record.append(f"{info}/RECORD,,\n")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", DATE), "".join(record))
    print(f"  WHEEL {wheel} ({os.path.getsize(wheel) / 2**20:.1f} MiB)")


main()
