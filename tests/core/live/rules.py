# SPDX-License-Identifier: MIT
"""What the live book's server does for its own page: pages, files, events, jobs."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading

from live_server import BUILD, ROOT, Server, eventually, finish, result

SAXPY = "work/20_1_saxpy.cu"
HELLO = """#include <stdio.h>
__global__ void add(int *x) { x[threadIdx.x] += 1; }
int main(int argc, char **argv) {
  int *x;
  cudaMalloc(&x, 32 * sizeof *x);
  cudaMemset(x, 0, 32 * sizeof *x);
  add<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
  printf("hello é %d %s\\n", argc, argc > 1 ? argv[1] : "");
  return 5;
}
"""


def pages(server):
    link = server.ask("GET", f"/20_the_first_kernel.html?token={server.token}", headers={"Cookie": None})
    cookie = link.headers.get("Set-Cookie", "")
    result(link.status == 303 and link.headers["Location"] == "/20_the_first_kernel.html", "the link leads to its page, without the token", link)
    result(cookie.startswith(server.cookie) and "HttpOnly" in cookie and "SameSite=Strict" in cookie, "and sets a cookie", cookie)
    page = server.get("/20_the_first_kernel.html")
    with open(os.path.join(server.site, "index.html"), "rb") as file:
        original = file.read()
    head, added, tail = page.body.partition(b'<script src="/live/live.js" defer></script></head>')
    result(page.status == 200 and added and b"/live/live.css" in head and b"</title>" in head and tail == original.partition(b"</head>")[2],
           "a page has the front end's script and style, and is else what it was", page)
    result(server.get("/a.css").body.endswith(b"/* </head> */\n"), "a style sheet is served as it is")
    result(server.get("/").body == page.body, "/ is index.html")
    result(server.get("/exercise").headers.get("Location") == "/exercise/", "a folder leads to its first page")
    result(server.get("/none.html").status == 404, "a page that is not there")
    result(server.get("/live/live.js").headers["Content-Type"].startswith("text/javascript"), "the front end's script")
    policy = page.headers.get("Content-Security-Policy", "")
    result("default-src 'self'" in policy and "http" not in policy, "the policy allows no other host", policy)


def state(server):
    reply = server.get("/live/state").json
    exercise = next(e for e in reply["exercises"] if e["id"] == "20_1_saxpy")
    result(reply["lessons"][19] == {"number": 20, "title": reply["lessons"][19]["title"], "page": "20_the_first_kernel.html"}, "state: lessons", reply["lessons"][19])
    result(exercise["number"] == "20.1" and exercise["state"] == "new" and exercise["file"] == SAXPY and not exercise["exists"], "state: exercises", exercise)
    result(server.get(f"/live/file?path={SAXPY}").status == 404, "a file before the workspace is made")
    result(server.post("/live/start", {"exercise": "20.1"}).json["file"] == SAXPY and os.path.isfile(f"{server.work}/20_1_saxpy.cu"), "start makes the workspace")
    result(server.post("/live/start", {"exercise": "99.1"}).status == 404, "start of an exercise that does not exist")


def files(server):
    path = f"{server.work}/20_1_saxpy.cu"
    mode = os.stat(path).st_mode
    os.chmod(path, 0o640)
    first = server.get(f"/live/file?path={SAXPY}").json
    with open(path, encoding="utf-8") as file:
        result(first["text"] == file.read() and first["path"] == SAXPY, "a file is read")
    saved = server.post("/live/file", {"path": SAXPY, "text": "// é\n" + first["text"], "base": first["version"]})
    result(saved.status == 200 and saved.json["version"] == server.get(f"/live/file?path={SAXPY}").json["version"], "and written", saved)
    result(os.stat(path).st_mode & 0o777 == 0o640, "with the mode that it had")
    os.chmod(path, mode)
    lost = server.post("/live/file", {"path": SAXPY, "text": "lost", "base": first["version"]})
    result(lost.status == 409 and lost.json["text"].startswith("// é\n") and lost.json["version"] == saved.json["version"],
           "a version that is not on the disk is refused, with the one that is", lost)
    with open(path, "a", encoding="utf-8") as file:
        file.write("// by an editor\n")
    lost = server.post("/live/file", {"path": SAXPY, "text": "lost", "base": saved.json["version"]})
    result(lost.status == 409 and lost.json["text"].endswith("// by an editor\n"), "the same after another program has written", lost)
    new = server.post("/live/file", {"path": "work/new.cuh", "text": "", "base": ""})
    result(new.status == 200 and server.post("/live/file", {"path": "work/new.cuh", "text": "x"}).status == 409, "a new file, once", new)
    os.remove(f"{server.work}/new.cuh")
    predictions = server.post("/live/file", {"path": "work/predictions.json", "text": "{}", "base": ""})
    result(predictions.status == 200 and server.get("/live/file?path=work/predictions.json").json["text"] == "{}", "the answers to predict boxes", predictions)
    gone = server.post("/live/file", {"path": "work/new.cuh", "text": "x", "base": new.json["version"]})
    result(gone.status == 409, "a file that was removed meanwhile", gone)


def measured(server):
    asked = server.get("/live/predictions").json["questions"]
    result(len(asked) >= 20 and not any(q["guesses"] for q in asked) and not os.path.exists(f"{server.work}/.predictions"), "questions, and no number before a guess", asked[:1])
    reply = server.post("/live/predictions", {"question": "17.1", "guess": "17"})
    guess = reply.json["guesses"][0]
    result(reply.status == 200 and (guess["try"], guess["guess"], guess["truth"], guess["distance"]) == (1, 17, 34, "2 times too low"), "a guess, and then the number", reply)
    with open(f"{server.work}/.predictions", encoding="utf-8") as file:
        result(file.read().startswith("17.1 try=1 "), "in the file of ./ferry predict")
    again = server.post("/live/predictions", {"question": "17.1", "guess": "34"}).json["guesses"]
    result([g["guess"] for g in again] == [17, 34], "a second try is kept as one", again)
    for guess, said in (("many", "is not a number"), ("--reset", "is not a number"), ("-3", "is never negative"), ("1e300", "more than is possible"), ("9" * 61, "longer than a number")):
        reply = server.post("/live/predictions", {"question": "17.1", "guess": guess})
        result(reply.status == 422 and said in reply.json["error"] and "--help" not in reply.json["error"], f"{guess[:10]}: {said}", reply)
    for question, status in (("--list", 400), ("17", 400), ("17.1 ", 400), ("99.1", 422)):
        result(server.post("/live/predictions", {"question": question, "guess": "3"}).status == status, f"question {question!r}")
    result(len(server.get("/live/predictions").json["questions"][5]["guesses"]) == 2, "none of these is kept")


def locked(server):
    folder = os.open(server.work, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    seen = server.get(f"/live/file?path={SAXPY}").json
    refused = server.post("/live/file", {"path": SAXPY, "text": "x", "base": seen["version"]})
    os.close(folder)
    result(refused.status == 503 and server.get(f"/live/file?path={SAXPY}").json == seen, "while a ./ferry holds the workspace's lock nothing is written", refused)


def command_line():
    for options, text in ((["--port", "8000"], "--port goes with --live"), (["--live", "--prot"], "Did you mean --port?"), (["--live", "--port"], "--port needs a value")):
        said = subprocess.run([f"{BUILD}/ferry", "book", *options], capture_output=True, text=True, check=False)
        result(said.returncode == 2 and text in said.stderr, f"./ferry book {' '.join(options)}", said.stderr)
    for options, text in ((["--port", "70000"], "up to 65535"), (["--bind", "localhost"], "an address of this machine")):
        said = subprocess.run([f"{BUILD}/ferry-live", "--no-open", *options], capture_output=True, text=True, check=False)
        result(said.returncode != 0 and text in said.stderr, f"ferry-live {' '.join(options)}", said.stderr)


def two_writers(server):
    server.post("/live/file", {"path": "work/sum.c", "text": "0", "base": ""})

    def add(times):
        while times > 0:
            seen = server.get("/live/file?path=work/sum.c").json
            times -= server.post("/live/file", {"path": "work/sum.c", "text": str(int(seen["text"]) + 1), "base": seen["version"]}).status == 200

    writers = [threading.Thread(target=add, args=(25,)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    total = server.get("/live/file?path=work/sum.c").json["text"]
    result(total == "50", "of two writers no update is lost", total)
    left = [name for name in os.listdir(server.work) if ".live." in name]
    result(not left, "no temporary file is left", left)


def events(server):
    def next_event(stream):
        kind = data = None
        for line in stream:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif not line and kind:
                return kind, data
        return None, None

    stream = server.stream("/live/events")
    stream.readline()
    seen = server.get(f"/live/file?path={SAXPY}").json
    with open(f"{server.work}/20_1_saxpy.cu.new", "w", encoding="utf-8") as file:
        file.write(seen["text"] + "// renamed over it\n")
    os.rename(f"{server.work}/20_1_saxpy.cu.new", f"{server.work}/20_1_saxpy.cu")
    kind, data = next_event(stream)
    now = server.get(f"/live/file?path={SAXPY}").json
    result((kind, data) == ("change", {"path": SAXPY, "version": now["version"]}), "a change on the disk is told", (kind, data))
    with open(f"{server.work}/20_1_saxpy.cu", "w", encoding="utf-8") as file:
        file.write(now["text"])
    server.job(do="hint", exercise="20.1")
    kind, data = next_event(stream)
    result(kind == "state", "the same text again is no change; progress is told", (kind, data))
    stream.connection.close()


def jobs(server):
    out, last = server.job(do="check", exercise="20.1")
    result(last["exit"] == 1 and last["result"]["status"] == "fail" and last["result"]["tests"][0]["headline"] and "tests fail" in out, "check", last)
    exercises = server.get("/live/state").json["exercises"]
    result([e["id"] for e in exercises if e["state"] == "failing"] == ["20_1_saxpy"], "state: failing")
    shutil.copy(f"{ROOT}/solutions/20_1_saxpy.cu", f"{server.work}/20_1_saxpy.cu")
    out, last = server.job(do="run", exercise="20_1_saxpy")
    result(last["exit"] == 0 and last["result"]["status"] == "pass" and last["result"]["next"], "check of a right answer", (out, last))
    passed = next(e for e in server.get("/live/state").json["exercises"] if e["id"] == "20_1_saxpy")
    result(passed["state"] == "passed" and passed["stars"] > 0 and passed["hints"] == 1, "state: passed", passed)
    out, last = server.job(do="inspect", exercise="20.1")
    result(last["exit"] == 0 and any(o["type"] == "line" for o in last["result"]), "inspect", (out, last))
    out, last = server.job(do="step", exercise="20.1")
    result(last["exit"] == 0 and last["result"]["record"]["format"].startswith("ferry-step"), "step", out)
    shutil.copy(f"{ROOT}/tests/hidden/20_1_saxpy/wrong_down.cu", f"{server.work}/20_1_saxpy.cu")
    _, last = server.job(do="check", exercise="20.1")
    failing = next(t for t in last["result"]["tests"] if t["replay"])
    out, last = server.job(do="step", exercise="20.1", replay=failing["replay"])
    result(last["exit"] == 0 and last["result"]["record"]["steps"], "step through a failed test", out)
    out, last = server.job(do="hint", exercise="20.1")
    result(last == {"exit": 0, "result": None} and "2 of " in out, "hint", (out, last))


def listings(server):
    out, last = server.job(do="run", text=HELLO, language="cu", args=["--help"])
    result(out == "hello é 2 --help\n" and last == {"exit": 5, "result": None}, "a listing runs, with arguments", (out, last))
    out, last = server.job(do="run", text="#include <ferry.h>\n#include <stdio.h>\nint main(void) { puts(\"in C\"); return 0; }\n", language="c")
    result(out.startswith("in C\n") and last["exit"] == 0, "one in C", (out, last))
    out, last = server.job(do="run", text=HELLO.replace("return 5;", "return x;"), language="cu")
    result("listing.cu:11" in out and last["exit"] not in (0, 5), "a compiler's error names the line", (out, last))
    out, last = server.job(do="inspect", text=HELLO, language="cu")
    result(last["exit"] == 0 and {o["type"] for o in last["result"]} == {"kernel", "line"}, "inspect a listing", (out, last))
    out, last = server.job(do="inspect", text=HELLO, language="cu", kernel="none")
    result(last["exit"] == 2, "the kernel that is inspected can be named", (out, last))
    out, last = server.job(do="step", text=HELLO, language="cu", kernel="add")
    result(last["exit"] == 0 and last["result"]["record"]["kernel"] == "add", "step through a listing", out)
    with open(f"{ROOT}/chapters/kernels/broken/race.cu", encoding="utf-8") as file:
        out, last = server.job(do="inspect", text=file.read(), language="cu")
    result(last["exit"] == 1 and last["result"][0]["kind"] == "race-block" and last["result"][0]["file"] == "listing.cu", "a data race in a listing", out)
    for wrong in ({"do": "check", "text": "", "language": "cu"}, {"do": "inspect", "text": "", "language": "cpp"}, {"text": ""},
                  {"do": "run", "text": "", "language": "cu", "args": [1]}, {"do": "format", "exercise": "20.1"}):
        reply = server.start(**wrong)
        result(reply.status == 400 and reply.json["error"], f"refused: {wrong}", reply)
    result(server.post("/live/jobs", b"{").status == 400, "a body that is no JSON")
    result(server.post("/live/jobs/77/stop", {}).status == 404 and server.get("/live/jobs/77").status == 404, "a job that does not exist")


ENDLESS = "#include <stdio.h>\nint main() { printf(\"begins\\n\"); fflush(stdout); for (volatile int i = 0;; i++) { } }\n"


def output_as_it_comes(server):
    job = server.start(do="run", text=ENDLESS, language="cu").json["job"]
    stream = server.stream(f"/live/jobs/{job}")
    first = json.loads(stream.readline())
    stopped = server.post(f"/live/jobs/{job}/stop", {}).status
    last = json.loads(stream.readlines()[-1])
    result(first == {"out": "begins\n"} and stopped == 200 and last["stopped"] == "stop", "output comes while the program runs, until it is stopped", (first, last))
    result(eventually(lambda: not server.below()), "and nothing is left of it", server.below())


def many_pages(server):
    pages = [server.stream("/live/events") for _ in range(20)]
    for page in pages:
        page.readline()
    running = [server.start(do="run", text=HELLO, language="cu").json["job"] for _ in range(4)]
    ends = [json.loads(server.stream(f"/live/jobs/{job}").readlines()[-1])["exit"] for job in running]
    result(ends == [5] * 4, "20 pages and 4 runs", ends)
    eventually(lambda: not server.below())
    # Without an event the loop sleeps; connections that were closed are noticed first.
    idle = []
    for _ in range(30):
        switches, ticks = int(server.own("voluntary_ctxt_switches")), server.ticks()
        threading.Event().wait(1)
        idle.append((int(server.own("voluntary_ctxt_switches")) - switches, server.ticks() - ticks))
        if idle[-1] == (0, 0):
            break
    result(idle[-1] == (0, 0), "an idle server does not wake up", idle)
    result(int(server.own("VmRSS")) < 30 * 1024, "and has less than 30 MiB of memory", server.own("VmRSS"))
    for page in pages:
        page.connection.close()


def main():
    command_line()
    server = Server()
    for part in (pages, state, files, measured, locked, two_writers, events, jobs, listings, output_as_it_comes, many_pages):
        part(server)
    result(server.end(signal.SIGINT) == 0, "Ctrl+C ends the server")
    finish()


main()
