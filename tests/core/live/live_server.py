# SPDX-License-Identifier: MIT
"""What the tests of the live book share: a server on a site and a workspace of their own, a client, and results as TAP."""

import atexit
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.path.join(ROOT, os.environ.get("FERRY_BUILD", "build"))
PATIENCE = 120  # seconds for what has to happen some time; no test passes by being quick

count = failed = 0


def result(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    lines = str(why).replace("\n", " ")[:400]
    print(f"ok {count} - {name}" if good else f"not ok {count} - {name} - {lines}", flush=True)


def finish():
    print(f"1..{count}")
    sys.exit(failed > 0)


def eventually(condition, seconds=PATIENCE):
    """Whether it becomes true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return f"{self.status} {self.body[:300]!r}"


class Server:
    def __init__(self, *options, limits=None, site=None, **environment):
        self.folder = tempfile.mkdtemp(prefix="ferry-live-test-")
        os.chmod(self.folder, 0o755)
        self.work = os.path.join(self.folder, "work")
        self.site = site or self.make_site()
        # Its limit on time is above PATIENCE: what has to end earlier ends for its own reason.
        self.environment = dict(os.environ, **{"FERRY_WORK": self.work, "BROWSER": "", "FERRY_LIVE_SECONDS": "3600", **environment})
        for name in ("DISPLAY", "WAYLAND_DISPLAY"):
            self.environment.pop(name, None)
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "ferry-live"), "--no-open", "--site", self.site, *options],
            stdout=subprocess.PIPE, text=True, env=self.environment, preexec_fn=limits)
        atexit.register(self.process.kill)  # where a test does not come to its end
        self.address = self.process.stdout.readline().strip()
        self.token = self.address.rpartition("token=")[2]
        self.port = int(self.address.split(":")[2].split("/")[0]) if self.token else 0
        self.host = f"127.0.0.1:{self.port}"
        self.cookie = f"ferry_{self.port}={self.token}"

    def make_site(self):
        site = os.path.join(self.folder, "site")
        os.makedirs(os.path.join(site, "exercise"))
        for page in ("index.html", "20_the_first_kernel.html", "exercise/20_1_saxpy.html"):
            with open(os.path.join(site, page), "w", encoding="utf-8") as file:
                file.write("<html><head><title>é</title></head><body>x</body></html>\n")
        with open(os.path.join(site, "a.css"), "w", encoding="utf-8") as file:
            file.write("p { color: red }\n/* </head> */\n")
        return site

    # ---- requests ------------------------------------------------------------------------------------------------------

    def ask(self, method, path, body=None, headers=None, **changes):
        """A request of the front end, with headers changed (None: left out)."""
        sent = {"Host": self.host, "Cookie": self.cookie}
        if method != "GET":
            sent.update({"Origin": f"http://{self.host}", "X-Ferry": "1", "Content-Type": "application/json"})
        sent.update(headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        if data is not None:
            sent.setdefault("Content-Length", str(len(data)))
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        try:
            if data is not None:
                connection.send(data)
        except OSError:
            pass  # refused before all was sent: the answer says so
        reply = Reply(connection.getresponse())
        connection.close()
        return reply

    def get(self, path, **headers):
        return self.ask("GET", path, headers=headers)

    def post(self, path, body, **headers):
        return self.ask("POST", path, body, headers=headers)

    def raw(self, data):
        """A socket on which `data` was sent."""
        s = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        s.sendall(data if isinstance(data, bytes) else data.encode())
        return s

    def stream(self, path):
        """A response that is read line by line."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path, headers={"Host": self.host, "Cookie": self.cookie})
        response = connection.getresponse()
        response.connection = connection
        return response

    def start(self, **job):
        return self.post("/live/jobs", job)

    def job(self, **job):
        """What it printed, and its last line."""
        reply = self.start(**job)
        if reply.status != 200:
            return str(reply), {"exit": None, "result": None}
        lines = [json.loads(line) for line in self.stream(f"/live/jobs/{reply.json['job']}")]
        return "".join(line.get("out", "") for line in lines), lines[-1]

    # ---- processes -------------------------------------------------------------------------------------------------------

    def below(self):
        """The processes below the server, each with the time it started at."""
        parents, started = {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(pid)], started[int(pid)] = int(fields[1]), fields[19]
        found = {self.process.pid}
        while True:
            more = {pid for pid, parent in parents.items() if parent in found} - found
            if not more:
                break
            found |= more
        return {pid: started[pid] for pid in found - {self.process.pid}}

    def own(self, field):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(line.split()[1] for line in file if line.startswith(field + ":"))

    def ticks(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)
        return status


def are_gone(processes):
    def alive():
        for pid, started in processes.items():
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
                if fields[19] == started and fields[0] != "Z":
                    return True
            except OSError:
                pass
        return False

    return eventually(lambda: not alive())
