# SPDX-License-Identifier: MIT
"""Two browsers with the few things that a reader at a keyboard does: open a page, press keys, look. Both are driven without eval, which
the pages' policy forbids."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

PATIENCE = 120


class Reader:
    """What both browsers have."""

    def wait(self, expression, seconds=PATIENCE):
        """Waits until an expression of the page is true, and returns its value; after some time, what it is then."""
        end = time.monotonic() + seconds
        while not (value := self.look(expression)) and time.monotonic() < end:
            time.sleep(0.05)
        return value

    def focused(self):
        return self.look("document.activeElement?.textContent?.trim().slice(0, 60) || ''")

    def tab_to(self, text, backwards=False, most=30):
        """Presses Tab until an element with that text has the focus; how many times, or 0 where it is not reached."""
        for n in range(1, most):
            self.press("Shift+Tab" if backwards else "Tab")
            if self.focused() == text:
                return n
        return 0

    def status(self):
        return self.look("document.querySelector('.live-bench .live-status')?.textContent || ''")

    def settled(self):
        """What a run ended with, which has been begun by a key."""
        self.wait("document.querySelector('.live-bench[aria-busy=\"false\"]') && !/ \\.\\.\\.$|^$/.test(document.querySelector('.live-bench .live-status').textContent)")
        return self.status()


class Chromium(Reader):
    name = "Chromium"

    def __init__(self, page):
        self.page = page

    def open(self, address):
        self.page.goto(address)

    def look(self, expression):
        return self.page.evaluate(expression)

    def press(self, key):
        self.page.keyboard.press(key)


KEYS = {"Tab": "\ue004", "Enter": "\ue006", "Escape": "\ue00c", "Delete": "\ue017", "Home": "\ue011", "End": "\ue010", "Shift": "\ue008", "Control": "\ue009"}


class Firefox(Reader):
    """Debian's Firefox, spoken to in WebDriver BiDi."""

    name = "Firefox"

    def __init__(self, program):
        from websockets.sync.client import connect

        self.profile = tempfile.mkdtemp(prefix="ferry-firefox-")
        self.process = subprocess.Popen([program, "--headless", "--no-remote", "--profile", self.profile, "--remote-debugging-port", "0"],
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=dict(os.environ, HOME=self.profile), start_new_session=True)
        for line in self.process.stderr:
            if found := re.search(r"WebDriver BiDi listening on (\S+)", line):
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.socket = connect(found.group(1) + "/session", max_size=None)
        self.number = 0
        self.ask("session.new", capabilities={})
        self.context = self.ask("browsingContext.create", type="tab")["context"]  # it has the focus; the first tab has not

    def ask(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while (answer := json.loads(self.socket.recv(PATIENCE))).get("id") != self.number:
            pass
        if answer["type"] == "error":
            raise RuntimeError(f"{method}: {answer['message']}")
        return answer["result"]

    def open(self, address):
        self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def look(self, expression):
        """The value of an expression, as JSON has it."""
        found = self.ask("script.evaluate", expression=f"JSON.stringify({expression})", target={"context": self.context}, awaitPromise=True)
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return json.loads(found["result"].get("value") or "null")

    def press(self, key):
        keys = [KEYS.get(k, k) for k in key.split("+")]
        down, up = [{"type": "keyDown", "value": k} for k in keys], [{"type": "keyUp", "value": k} for k in reversed(keys)]
        self.ask("input.performActions", context=self.context, actions=[{"type": "key", "id": "keyboard", "actions": down + up}])

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(PATIENCE)
        shutil.rmtree(self.profile, ignore_errors=True)
