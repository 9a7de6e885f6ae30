# SPDX-License-Identifier: MIT
"""Attacks on the live book's server, each with what must come of it."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time

from live_server import BUILD, PATIENCE, ROOT, Server, are_gone, eventually, finish, result

SECRET = "the-secret-of-this-test"


def listing(body, before=""):
    return f"#include <stdio.h>\n#include <unistd.h>\n{before}\nint main() {{ {body} return 0; }}\n"


ENDLESS = listing('printf("begins\\n"); fflush(stdout); for (volatile int i = 0;; i++) { }')


# ---- from other sites and other programs --------------------------------------------------------------------------------------------


def tokens(server):
    other = "0" * 32
    for name, cookie in (("no token", None), ("a wrong token", f"ferry_{server.port}={other}"), ("a part of the token", server.cookie[:-1]),
                         ("more than the token", server.cookie + "0"), ("the token of another port", f"ferry_1={server.token}")):
        for method, path, body in (("GET", "/", None), ("GET", "/live/state", None), ("GET", "/live/live.js", None), ("GET", "/live/events", None),
                                   ("POST", "/live/jobs", {"do": "hint", "exercise": "20.1"})):
            reply = server.ask(method, path, body, {"Cookie": cookie})
            result(reply.status == 403 and b"saxpy" not in reply.body, f"{name}: {method} {path}", reply)
    reply = server.ask("GET", f"/?token={other}", headers={"Cookie": None})
    result(reply.status == 403 and "Set-Cookie" not in reply.headers, "a wrong token in the address", reply)
    reply = server.ask("POST", f"/live/jobs?token={server.token}", {"do": "hint", "exercise": "20.1"}, {"Cookie": None})
    result(reply.status == 403, "the token in the address of a job", reply)
    reply = server.ask("GET", f"//example.com/?token={server.token}", headers={"Cookie": None})
    result(reply.headers.get("Location") == "/", "the link leads to no other host", reply.headers)


def origins(server):
    job = {"do": "hint", "exercise": "20.1"}
    for name, headers in (("another site", {"Origin": "http://example.com"}), ("another port", {"Origin": "http://127.0.0.1:1"}),
                          ("a sandboxed frame", {"Origin": "null"}), ("https", {"Origin": f"https://{server.host}"}), ("no origin", {"Origin": None}),
                          ("the other name of this host", {"Origin": f"http://localhost:{server.port}"}),
                          ("no X-Ferry", {"X-Ferry": None}), ("a wrong X-Ferry", {"X-Ferry": "0"}),
                          ("a form", {"Content-Type": "application/x-www-form-urlencoded"}), ("a form of plain text", {"Content-Type": "text/plain"}),
                          ("no type", {"Content-Type": None}), ("a type that begins alike", {"Content-Type": "application/jsonx"}),
                          ("a fetch of another site", {"Sec-Fetch-Site": "cross-site"}), ("a fetch of another port", {"Sec-Fetch-Site": "same-site"})):
        reply = server.post("/live/jobs", job, **headers)
        result(reply.status == 403, f"a job from {name}", reply)
    form = server.ask("POST", "/live/file", b"text=x&path=work/20_1_saxpy.cu",
                      {"Origin": "http://example.com", "X-Ferry": None, "Content-Type": "application/x-www-form-urlencoded"})
    result(form.status == 403, "the form of another page", form)
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://127.0.0.1:1"}):
        reply = server.get("/live/state", **headers)
        result(reply.status == 403, f"the state for {headers}", reply)
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        reply = server.ask(method, "/live/file", {"path": "work/a.c", "text": ""})
        result(reply.status == 405 and "Access-Control-Allow-Origin" not in reply.headers, method, reply)
    result(server.get("/").headers["Cross-Origin-Resource-Policy"] == "same-origin", "other sites cannot include what is served")


def hosts(server):
    port = server.port
    for host in (f"example.com:{port}", f"127.0.0.1.example.com:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1:{port}0",
                 f"localhost.:{port}", f"0.0.0.0:{port}", f"[::1]:{port}", f"127.0.0.1:{port}@example.com", f"127.0.0.1:+{port}", ""):
        reply = server.get("/live/state", Host=host)
        result(reply.status in (400, 421) and b"saxpy" not in reply.body, f"Host: {host.replace(str(port), 'PORT')} (DNS rebinding)", reply)
    reply = server.get("/live/state", Host=None)
    result(reply.status in (400, 421), "no Host", reply)
    reply = server.ask("GET", f"/?token={server.token}", headers={"Host": f"example.com:{port}", "Cookie": None})
    result(reply.status == 421 and "Set-Cookie" not in reply.headers, "the token under another name", reply)
    result(server.get("/live/state", Host=f"localhost:{port}").status == 200, "localhost is this host")


def paths(server):
    outside = os.path.join(server.folder, "outside.c")
    with open(outside, "w", encoding="utf-8") as file:
        file.write(SECRET)
    os.symlink(outside, os.path.join(server.site, "link.html"))
    os.symlink(server.folder, os.path.join(server.site, "up"))
    os.symlink(outside, os.path.join(server.work, "link.c"))
    os.symlink(server.folder, os.path.join(server.work, "up"))
    with open(os.path.join(server.site, ".hidden.html"), "w", encoding="utf-8") as file:
        file.write(SECRET)
    os.mkfifo(os.path.join(server.work, "pipe.c"))
    for path in ("/../outside.c", "/%2e%2e/outside.c", "/..%2foutside.c", "/%2e%2e%2foutside.c", "/exercise/../../outside.c", f"/{outside}", f"//{outside}",
                 "/link.html", "/up/outside.c", "/.hidden.html", "/live/../outside.c", "/live/../../../../core/live/main.c", "/live/..%2fmain.c",
                 "/live/codemirror/../../../../etc/passwd", "/live/codemirror//etc/passwd", "/live/codemirror/../jquery/jquery.js", "/index.html%00.css", "/%2e"):
        reply = server.get(path)
        bad = SECRET in str(reply.body) or b"root:" in reply.body or b"LIVE_LIVE_H" in reply.body or b"jQuery" in reply.body
        result((reply.status >= 400 or path == "/index.html%00.css") and not bad, f"GET {path.replace(server.folder, 'FOLDER')}", reply)
    for path in ("work/../outside.c", "work/%2e%2e/outside.c", "work/link.c", "work/up/outside.c", outside, f"work/{outside}", "work//20_1_saxpy.cu",
                 "../outside.c", "work/.progress", "work/.vscode/tasks.json", "work/compile_flags.txt", "work/pipe.c", "work/./20_1_saxpy.cu", "work/", "work/.c",
                 "work/.x.c", ""):
        read = server.get(f"/live/file?path={path}")
        written = server.post("/live/file", {"path": path.replace("%2e", "."), "text": "overwritten", "base": ""})
        shown = path.replace(server.folder, "FOLDER")
        result(read.status in (403, 404) and SECRET not in str(read.body), f"read {shown}", read)
        result(written.status in (403, 404), f"write {shown}", written)
    with open(outside, encoding="utf-8") as file:
        result(file.read() == SECRET and os.path.islink(os.path.join(server.work, "link.c")), "a file outside of the workspace is what it was")
    for exercise in ("--file=/etc/passwd", "--sandbox", "../20_1_saxpy", "20.1 --sandbox none", "", "20"):
        reply = server.start(do="check", exercise=exercise)
        result(reply.status == 400, f"an exercise called \"{exercise}\"", reply)


def bodies(server):
    head = f"POST /live/jobs HTTP/1.1\r\nHost: {server.host}\r\nCookie: {server.cookie}\r\nOrigin: http://{server.host}\r\nX-Ferry: 1\r\nContent-Type: application/json\r\n"
    s = server.raw(head + "Content-Length: 99999999999\r\n\r\n")
    result(b" 413 " in s.recv(200), "a body of 100 GB is refused before it comes")
    s.close()
    s = server.raw(head + "Transfer-Encoding: chunked\r\n\r\n")
    part, sent = b"10000\r\n" + b" " * 0x10000 + b"\r\n", 0
    try:
        while sent < 1000:
            s.sendall(part)
            sent += 1
    except OSError:
        pass
    result(sent < 1000, "a body without an end ends its connection", sent)
    s.close()
    reply = server.start(do="run", language="cu", text="x" * (300 << 10))
    result(reply.status == 400, "a listing that is too long", reply)
    reply = server.post("/live/file", {"path": "work/a.c", "text": "x" * (300 << 10)})
    result(reply.status == 413, "a file that is too long", reply)
    reply = server.post("/live/jobs", b"[" * 100000)
    result(reply.status == 400, "JSON of 100,000 levels", reply)
    s = server.raw(b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n")
    result(b" 200 " not in s.recv(200), "a line that is too long")
    s.close()
    result(int(server.own("VmRSS")) < 30 * 1024, "the memory of the server stays small", server.own("VmRSS"))


class SlowLoris:
    """Connections that send a byte now and then, and never a whole request."""

    def __init__(self, server):
        self.sockets = [server.raw(f"GET / HTTP/1.1\r\nHost: {server.host}\r\n") for _ in range(100)]

    def are_ended(self):
        for s in list(self.sockets):
            try:
                s.sendall(b"X")
                s.setblocking(False)
                if s.recv(1000) == b"":
                    self.sockets.remove(s)
            except BlockingIOError:
                pass
            except OSError:
                self.sockets.remove(s)
        time.sleep(0.5)
        return not self.sockets


# ---- from listings ------------------------------------------------------------------------------------------------------------------


def limits(server):
    jobs = [server.start(do="run", language="cu", text=ENDLESS).json["job"] for _ in range(4)]
    fifth = server.start(do="hint", exercise="20.1")
    result(fifth.status == 429 and fifth.json["error"], "a fifth job", fifth)
    streams = [server.stream(f"/live/jobs/{job}") for job in jobs]
    begun = [json.loads(stream.readline()) for stream in streams]
    second = server.get(f"/live/jobs/{jobs[0]}")
    result(second.status == 404 and all(line == {"out": "begins\n"} for line in begun), "a second reader of a job", second)
    server.post(f"/live/jobs/{jobs[0]}/stop", {})
    result(json.loads(streams[0].readlines()[-1])["stopped"] == "stop", "a job is stopped")
    out, last = server.job(do="hint", exercise="20.1")
    result(last["exit"] == 0, "and another one has its place", (out, last))
    below = server.below()
    for stream in streams[1:3]:
        stream.connection.close()
        stream.close()
    result(eventually(lambda: len(server.below()) < len(below)), "a closed page ends its job")
    server.post(f"/live/jobs/{jobs[3]}/stop", {})
    streams[3].read()
    result(are_gone(below), "and leaves no process of it", server.below())
    below = server.below()
    job = server.start(do="run", language="cu", text=ENDLESS).json["job"]
    result(eventually(lambda: not server.below()) and server.get(f"/live/jobs/{job}").status == 404, "a job that nobody reads ends", server.below())


def hostile_listings(server):
    out, last = server.job(do="run", language="cu", text=listing('for (;;) puts("flood flood flood flood flood flood flood");'))
    result(len(out) < 3 << 20 and last["exit"] != 0 and ("too much" in out or last.get("stopped") == "output"), "a flood of output", (len(out), last))
    job = server.start(do="run", language="cu", text=listing('printf("begins\\n"); fflush(stdout); for (;;) fork();')).json["job"]
    stream = server.stream(f"/live/jobs/{job}")
    first = json.loads(stream.readline())
    result(first == {"out": "begins\n"} and server.get("/live/state").status == 200, "the server answers beside a fork bomb", first)
    server.post(f"/live/jobs/{job}/stop", {})
    result(json.loads(stream.readlines()[-1]).get("stopped") == "stop", "which is stopped")
    result(eventually(lambda: not server.below()), "leaves no process", server.below())
    out, last = server.job(do="run", language="cu", text=listing(
        'if (fork() == 0 && setsid() > 0 && fork() == 0) { for (;;) sleep(1); } puts("over");', "#include <stdlib.h>"))
    result("over" in out and eventually(lambda: not server.below()), "a daemon is ended with its job", (out, last, server.below()))
    out, last = server.job(do="run", language="cu", text=listing(
        'for (;;) { volatile char *p = (char *)malloc(64 << 20); for (int i = 0; i < 64 << 20; i += 4096) p[i] = 1; }', "#include <stdlib.h>"))
    result(last["exit"] != 0, "all of the memory", (out, last))
    own = f"/proc/{os.getpid()}"
    secret = os.path.join(server.folder, "outside.c")
    hidden = f"{ROOT}/tests/hidden/20_1_saxpy/check.c"
    solution = f"{ROOT}/solutions/20_1_saxpy.cu"
    for path in (secret, hidden, solution, f"{server.work}/20_1_saxpy.cu", "/etc/passwd", "/etc/shadow", f"{own}/environ", os.path.expanduser("~/.ssh")):
        shown = path.replace(server.folder, "FOLDER").replace(ROOT, "ROOT").replace(own, "/proc/PID")
        if not os.path.exists(path):
            continue
        out, last = server.job(do="run", language="cu", text=listing(
            f'FILE *f = fopen("{path}", "r"); char line[100] = ""; puts(f && fgets(line, 100, f) ? line : "closed");'))
        result(out == "closed\n", f"a listing reads {shown}", out)
        out, last = server.job(do="run", language="cu", text=f'#include "{path}"\nint main() {{ return 0; }}\n')
        result(last["exit"] != 0 and SECRET not in out and "No such file" in out, f"a listing includes {shown}", out)
    for path in (f"{server.work}/new.c", f"{ROOT}/build/new.c", "/tmp/ferry-live-attack"):
        server.job(do="run", language="cu", text=listing(f'FILE *f = fopen("{path}", "w"); if (f) {{ fputs("x", f); fclose(f); }}'))
        result(not os.path.exists(path), f"a listing writes {path.replace(server.folder, 'FOLDER').replace(ROOT, 'ROOT')}")
    out, _ = server.job(do="run", language="cu", text=listing(
        f'int s = socket(AF_INET, SOCK_STREAM, 0); struct sockaddr_in a = {{}}; a.sin_family = AF_INET; a.sin_port = htons({server.port});'
        'a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); puts(s >= 0 && connect(s, (struct sockaddr *)&a, sizeof a) == 0 ? "open" : "closed");',
        "#include <arpa/inet.h>\n#include <netinet/in.h>\n#include <sys/socket.h>"))
    result(out == "closed\n", "a listing asks the server", out)
    out, last = server.job(do="run", language="cu", text=listing('puts("\\x1b[2J\\xff\\n{\\"exit\\": 0}");'))
    result("\x1b" not in out and '{"exit": 0}' in out and last == {"exit": 0, "result": None}, "output that imitates the server's", (out, last))
    out, last = server.job(do="inspect", language="cu", text=listing(
        'FILE *f = fopen("result", "w"); if (f) { fputs("]}, {\\n", f); fclose(f); } printf("%d\\n", f != 0); fflush(stdout); kill(getppid(), SIGKILL);',
        "#include <signal.h>"))
    result(last["result"] is None and last["exit"] != 0, "a result that is no JSON", (out, last))
    secret_link = listing(f'unlink("result"); symlink("{secret}", "result"); fflush(stdout); kill(getppid(), SIGKILL);', "#include <signal.h>")
    out, last = server.job(do="inspect", language="cu", text=secret_link)
    result(SECRET not in out and SECRET not in json.dumps(last), "a result that is a link", (out, last))
    for word in ("--sandbox", "none", "--file", secret):
        out, last = server.job(do="run", language="cu", text="int main(int argc, char **argv) { return argc; }\n", args=[word])
        result(last["exit"] == 2, f"an argument {word.replace(server.folder, 'FOLDER')} is the program's", (out, last))


def endings():
    server = Server(FERRY_LIVE_SECONDS="2")
    out, last = server.job(do="run", language="cu", text=ENDLESS)
    result(last.get("stopped") == "time", "a loop without an end", (out, last))
    server.end()
    for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = Server()
        streams = [server.stream(f"/live/jobs/{server.start(do='run', language='cu', text=ENDLESS).json['job']}") for _ in range(2)]
        for stream in streams:
            stream.readline()
        below = server.below()
        status = server.end(how)
        result(len(below) > 4 and are_gone(below) and status == (-9 if how == signal.SIGKILL else 0), f"{how.name} ends the server and all of its jobs", (status, below))
        for stream in streams:
            stream.connection.close()


def closed():
    def no_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    server = Server(limits=no_files)
    out, last = server.job(do="run", language="cu", text=listing('puts("ran");'))
    result("ran" not in out and "no sandbox is available" in out and last["exit"] == 3, "without a sandbox no listing runs", (out, last))
    server.post("/live/start", {"exercise": "20.1"})
    out, last = server.job(do="check", exercise="20.1")
    result("no sandbox is available" in out and last["exit"] == 3, "and no answer", (out, last))
    server.end()


def addresses():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        taken = subprocess.run([f"{BUILD}/ferry-live", "--no-open", "--port", str(s.getsockname()[1])], capture_output=True, text=True, check=False)
    result(taken.returncode == 3 and "another --port" in taken.stderr, "a port that is taken", taken.stderr)
    server = Server()
    other = socket.gethostbyname(socket.gethostname())
    if not other.startswith("127."):
        with socket.socket() as s:
            s.settimeout(PATIENCE)
            result(s.connect_ex((other, server.port)) != 0, "the server listens on the loopback alone")
    server.end()
    server = Server("--bind", "0.0.0.0")
    result(server.get("/live/state", Host=f"192.0.2.7:{server.port}").status == 200, "--bind 0.0.0.0 takes any address", server.address)
    result(server.get("/live/state", Host=f"example.com:{server.port}").status == 421, "and no name")
    server.end()


def main():
    if len(sys.argv) > 1:  # some of them, by name: python3 attacks.py hosts paths
        server = Server()
        server.post("/live/start", {"exercise": "20.1"})
        for name in sys.argv[1:]:
            globals()[name](server) if name not in ("endings", "closed", "addresses") else globals()[name]()
        server.end()
        finish()
    server = Server()
    server.post("/live/start", {"exercise": "20.1"})
    loris = SlowLoris(server)
    result(server.get("/").status == 200, "100 connections that send slowly hold up nobody")
    for part in (tokens, origins, hosts, paths, bodies, limits, hostile_listings):
        part(server)
    result(eventually(loris.are_ended), "connections that send no whole request are ended", len(loris.sockets))
    result(server.get("/").status == 200, "the server still answers")
    server.end()
    endings()
    closed()
    addresses()
    finish()


main()
