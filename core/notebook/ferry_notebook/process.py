# SPDX-License-Identifier: MIT
"""Child processes of a cell. An interrupt stops them all, including those that started sessions of their own."""

import codecs
import contextlib
import os
import selectors
import signal
import subprocess
import time

MOST_BYTES = 1 << 20  # of output that a cell shows
CUT = f"\n[The output is cut after {MOST_BYTES >> 20} MiB.]\n"


def parents():
    """The parent of each process."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", encoding="latin-1") as stat:
            found[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
    return found


def descendants(pid):
    known, below = parents(), {pid}
    while True:
        more = {child for child, parent in known.items() if parent in below} - below
        if not more:
            return below - {pid}
        below |= more


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def stop(child, patience=2.0):
    """Ends the child and everything that it started. The child gets time to clean up its folders."""
    below = descendants(child.pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    end = time.monotonic() + patience
    while child.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    below |= descendants(child.pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    send(below, signal.SIGKILL)
    child.wait()


def run(words, environment=None, out=None, err=None):
    """Runs a program and passes its output on as it comes: out(text) and err(text). The exit status."""
    child = subprocess.Popen(
        [str(word) for word in words],
        env={**os.environ, **{name: str(value) for name, value in (environment or {}).items()}},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        with selectors.DefaultSelector() as waiting:
            for pipe, take in ((child.stdout, out), (child.stderr, err)):
                waiting.register(pipe, selectors.EVENT_READ, Reader(pipe, take or (lambda text: None)))
            while waiting.get_map():
                for key, _ in waiting.select():
                    if not key.data.read():
                        waiting.unregister(key.fileobj)
        return child.wait()
    except BaseException:
        stop(child)
        raise
    finally:
        child.stdout.close()
        child.stderr.close()


class Reader:
    def __init__(self, pipe, take):
        self.pipe, self.take, self.bytes = pipe, take, 0
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self):
        """False at the end."""
        some = os.read(self.pipe.fileno(), 1 << 16)
        shown = some[: max(0, MOST_BYTES - self.bytes)]
        text = self.decoder.decode(shown, not some)
        if self.bytes <= MOST_BYTES < self.bytes + len(some):
            text += CUT
        self.bytes += len(some)
        if text:
            self.take(text)
        return bool(some)
