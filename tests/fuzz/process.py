# SPDX-License-Identifier: MIT
"""Runs programs in Ferry's interpreter, many to a process; a crash is attributed to its program."""

import os
import queue
import subprocess
import tempfile
import threading


class Interpreter:
    """A process of the interpreter, started when needed and again after a crash."""

    def __init__(self, path, environment, timeout=60):
        self.path, self.timeout = path, timeout
        self.environment = dict(os.environ, **environment)
        self.process = None
        self.history = []  # what this process has run, for a crash that needs more than its program

    def start(self):
        self.history = []
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env=self.environment, text=True)
        self.answers = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.answers), daemon=True).start()

    @staticmethod
    def read(stream, answers):
        lines = []
        for line in stream:
            if line == ".\n":
                answers.put(lines)
                lines = []
            else:
                lines.append(line.rstrip("\n"))
        answers.put(None)

    def write(self, texts, process):
        try:
            for text in texts:
                process.stdin.write(text)
            process.stdin.flush()
        except (OSError, ValueError):
            pass  # it crashed; the reader finds out

    def run(self, programs, histories=None):
        """programs: (name, device, statements). Returns for each the list of lines, with `crash ...` after a crash; then
        histories[name] are the programs that the process had run, that one included."""
        results = []
        while len(results) < len(programs):
            if self.process is None:
                self.start()
            texts = ["program %s %s\n%s\nrun\n" % (name, device, "\n".join(s.line() for s in statements))
                     for name, device, statements in programs[len(results):]]
            threading.Thread(target=self.write, args=(texts, self.process), daemon=True).start()
            for _ in texts:
                try:
                    lines = self.answers.get(timeout=self.timeout)
                except queue.Empty:
                    lines = None
                    self.process.kill()  # it hangs
                if lines is None and self.left():
                    break  # without a fault; another goes on
                self.history.append(programs[len(results)])
                if lines is None:
                    if histories is not None:
                        histories[programs[len(results)][0]] = self.history
                    results.append(["crash " + self.ended()])
                    break
                results.append(lines)
        return results

    def left(self):
        """Has the process ended because an error has made its devices useless?"""
        if self.process.wait() != 3:
            return False
        self.stop()
        return True

    def crashes(self, programs):
        """Does a fresh process crash on these programs?"""
        if self.process:
            self.stop()
        return any(answer and answer[-1].startswith("crash ") for answer in self.run(programs))

    def least_crashing(self, programs, tries=60):
        """The fewest of these programs, in their order, that crash a fresh process together; None when they do not."""
        if not self.crashes(programs):
            return None
        n = max(len(programs) // 2, 1)
        while tries > 0:
            for i in range(0, len(programs), n):
                fewer = programs[:i] + programs[i + n:]
                tries -= 1
                if fewer and self.crashes(fewer):
                    programs = fewer
                    break
            else:
                if n == 1:
                    break
                n = max(n // 2, 1)
        return programs

    def ended(self):
        """Why the process ended: its status and the last of what it said."""
        status, said = self.stop()
        for mark in ("ERROR: AddressSanitizer", "WARNING: ThreadSanitizer", "runtime error:", "internal error"):
            if mark in said:
                said = said[said.index(mark):]
                break
        else:
            said = said[-300:]
        said = " ".join(said.split())[:1500]
        return ("signal %d: " % -status if status < 0 else "status %d: " % status) + said

    def close(self):
        """Ends the process; returns what a sanitizer said at its exit, or None."""
        if self.process is None:
            return None
        status, said = self.stop()
        return said if status else None

    def stop(self):
        """Waits for the process; (status, what it said on standard error)."""
        try:
            self.process.stdin.close()
        except OSError:  # a program was still on its way
            pass
        status = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read()
        self.errors.close()
        self.process = None
        return status, said
