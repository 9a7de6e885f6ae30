# SPDX-License-Identifier: MIT
"""dap_client.py STEP_VIEWS FOLDER: asks the debug adapter through a DAP client, and checks each message by the protocol's schema.

The client and the schema are debugpy's, from PyPI. The folder has demo.cu.json, the record of test_record.c. Prints TAP.
"""

import json
import pathlib
import queue
import subprocess
import sys

import debugpy
import jsonschema
from debugpy.common import messaging

VIEWS, FOLDER = sys.argv[1:3]
PROGRAM = f"{FOLDER}/demo.cu"
SCHEMA = json.loads(next(pathlib.Path(debugpy.__file__).parent.rglob("debugProtocol.json")).read_text())


class CheckedStream(messaging.JsonIOStream):
    """Messages from the adapter have the form that the protocol's schema gives for their event or command."""

    wrong = []

    def read_json(self, decoder=None):
        message = super().read_json(decoder)
        name = message.get("event") or message["command"]
        kind = "Event" if message["type"] == "event" else "Response" if message["success"] else "ErrorResponse"
        kind = kind if kind == "ErrorResponse" else name[0].upper() + name[1:] + kind
        form = {"$ref": f"#/definitions/{kind}", "definitions": SCHEMA["definitions"]}
        self.wrong += [f"{kind}: {e.message}" for e in jsonschema.Draft4Validator(form).iter_errors(message)]
        return message


class Adapter:
    def __init__(self):
        self.process = subprocess.Popen([VIEWS, "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.events = {name: queue.Queue() for name in ("initialized", "output", "stopped", "terminated")}
        stream = CheckedStream.from_process(self.process, "adapter")
        self.channel = messaging.JsonMessageChannel(stream, self)
        self.channel.start()
        self.capabilities = self.ask("initialize", adapterID="ferry", linesStartAt1=True, columnsStartAt1=True)

    def event(self, event):  # called by the channel's thread
        self.events[event.event].put(event.body)

    def disconnect(self):
        pass

    def ask(self, command, **arguments):
        """The body of the answer; if the request has failed, its message."""
        try:
            return self.channel.request(command, arguments)
        except messaging.MessageHandlingError as failure:
            return str(failure)

    def wait(self, event):
        return self.events[event].get(timeout=20)

    def launch(self, **arguments):
        answer = self.ask("launch", program=PROGRAM, **arguments)
        self.wait("initialized")
        return answer

    def begin(self):
        self.ask("configurationDone")
        return self.wait("stopped")

    def move(self, command, warp=0):
        self.ask(command, threadId=warp + 1)
        stop = self.wait("stopped")
        return stop["reason"], *self.where(stop["threadId"] - 1)

    def frames(self, warp):
        return self.ask("stackTrace", threadId=warp + 1)["stackFrames"]

    def where(self, warp):
        top = self.frames(warp)[0]
        return warp, top["name"], top["line"]

    def variables(self, reference, **part):
        answer = self.ask("variables", variablesReference=reference, **part)
        return answer if isinstance(answer, str) else {v["name"]: v for v in answer["variables"]}

    def values(self, *arguments, **more):
        return {name: v["value"] for name, v in self.variables(*arguments, **more).items()}

    def scope(self, name, warp=0, frame=0):
        scopes = self.ask("scopes", frameId=self.frames(warp)[frame]["id"])["scopes"]
        return next(s["variablesReference"] for s in scopes if s["name"] == name)

    def child(self, scope, name, warp=0):
        return self.variables(self.scope(scope, warp))[name]["variablesReference"]

    def evaluate(self, expression, warp=0, frame=0):
        answer = self.ask("evaluate", expression=expression, frameId=self.frames(warp)[frame]["id"], context="hover")
        return answer if isinstance(answer, str) else answer["result"]

    def breakpoints(self, *lines_and_conditions):
        given = [dict(line=line, condition=c) if c else dict(line=line) for line, c in lines_and_conditions]
        answer = self.ask("setBreakpoints", source=dict(path=PROGRAM), breakpoints=given)
        return [(b["verified"], b["line"]) for b in answer["breakpoints"]]

    def data(self, **arguments):
        return self.ask("dataBreakpointInfo", **arguments)["dataId"]

    def end(self):
        self.ask("disconnect")
        return self.process.wait(timeout=20)


count = failed = 0


def same(name, got, expected):
    global count, failed
    count += 1
    good = got == expected
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {name}" + ("" if good else f" - {got!r}, not {expected!r}"), flush=True)


# ---- a session -------------------------------------------------------------------------------------------------------------

a = Adapter()
for name in "StepBack ConditionalBreakpoints DataBreakpoints ExceptionInfoRequest EvaluateForHovers".split():
    same(f"can {name}", a.capabilities[f"supports{name}"], True)
same("nothing before the launch", a.ask("threads"), "nothing has been launched yet")
a.launch(kernel="demo", block="1,0,0", launch=2, args=["--quick", 'a "b"'])
said = f'{PROGRAM}: kernel demo, block 1,0,0, launch 2, "--quick", "a "b""\n'
same("what the recorder has been told, and has said", a.wait("output")["output"], said)
same("only once", a.ask("launch", program=PROGRAM), "something has been launched already")
same("breakpoints, at the next statement", a.breakpoints((4, None), (8, None), (9, None)), [(True, 4), (True, 8), (True, 11)])
same("breakpoints again", a.breakpoints((4, None), (8, None)), [(True, 4), (True, 8)])
same("the first step", a.begin()["reason"], "entry")
same("warps", [t["name"] for t in a.ask("threads")["threads"]], ["warp 0  " + 32 * "#", "warp 1  " + 32 * " "])
same("a warp that has not begun", a.frames(1), [])
same("next", a.move("next"), ("step", 0, "demo", 3))
same("next, to a breakpoint", a.move("next"), ("breakpoint", 0, "demo", 4))
same("into a call", a.move("stepIn"), ("step", 0, "twice", 10))
same("its frames", [(f["name"], f["line"], f["column"]) for f in a.frames(0)], [("twice", 10, 1), ("demo", 5, 5)])
local = {"x": "lane  (lanes 0-7)", "local": "no value yet  (lanes 0-7)"}
same("variables", a.values(a.scope("Variables")), local)
caller = a.variables(a.scope("Variables", frame=1))
same("those of the caller", (caller["t"]["value"], caller["t"]["type"]), ("lane", "int"))
same("parts of a struct", (caller["p.x"]["value"], caller["p.x"]["type"]), ("1.5 in lane 0, 2.5 in 1", "float"))
same("lanes", a.values(a.child("Variables", "x")), {f"lane {i}": f"{i}" for i in range(8)})
same("some of them", list(a.values(a.child("Variables", "x"), start=2, count=2)), ["lane 2", "lane 3"])
same("a finding", a.move("stepIn"), ("exception", 0, "twice", 11))
info = a.ask("exceptionInfo", threadId=1)
same("about it", (info["exceptionId"], info["description"]), ("uninitialized-variable", "x is read before it has a value"))
same("out", a.move("stepOut"), ("step", 0, "demo", 5))
access = "part[lane]  shared, 1 wavefront (ideal 1), banks 0-7; value 2 * lane  (lanes 0-7)"
same("accesses", a.values(a.scope("Accesses of this step")), {"writes": access})
same("its lanes", a.values(a.child("Accesses of this step", "writes"))["lane 3"], "part[3] = 6")
same("shared memory", a.values(a.scope("Shared memory")), {"part": "256 bytes", "grid2": "4096 bytes"})
part = a.values(a.child("Shared memory", "part"), filter="indexed", start=6, count=3)
same("its elements", part, {"[6]": "12", "[7]": "14", "[8]": "."})
same("all lanes", a.evaluate("t"), "lane")
same("a lane", a.evaluate("t@5"), "5")
same("an element, and who wrote it", a.evaluate("part[3]"), "6 (thread 3 wrote it in step 5, line 5)")
same("a comparison", (a.evaluate("t@5 > 4"), a.evaluate("t@5 > 5")), ("true", "false"))
same("no such variable", a.evaluate("u"), "there is no variable u in this function, and no array of this name")
same("back over the call, to the finding in it", a.move("stepBack"), ("exception", 0, "twice", 11))
same("back out of the call", a.move("stepBack"), ("step", 0, "twice", 10))
same("back, to a breakpoint", a.move("reverseContinue"), ("breakpoint", 0, "demo", 4))
same("back to the first step", a.move("reverseContinue"), ("entry", 0, "demo", 1))

# ---- what stops a move -----------------------------------------------------------------------------------------------------

a.ask("setExceptionBreakpoints", filters=[])
given = a.breakpoints((8, "t@3 == 35"), (8, "t >"), (99, None))
same("conditions", given, [(True, 8), (False, 8), (False, 99)])
same("a condition on a lane", a.move("continue"), ("breakpoint", 1, "demo", 8))
same("once more at the line", a.move("continue"), ("breakpoint", 1, "demo", 8))
same("the record's end", a.move("continue"), ("pause", 1, "demo", 8))
a.breakpoints()
same("an element as data", a.data(name="part[3]"), "part[3]")
same("an element in a list as data", a.data(name="[3]", variablesReference=a.child("Shared memory", "part", 1)), "part[3]")
same("a lane as data", a.data(name="lane 3", variablesReference=a.child("Variables", "t", 1)), "t@3")
same("no data", a.data(name="nothing"), None)
same("a data breakpoint", a.ask("setDataBreakpoints", breakpoints=[dict(dataId="part[3]")])["breakpoints"][0]["verified"], True)
same("who wrote it last?", a.move("reverseContinue"), ("data breakpoint", 1, "demo", 8))
same("and before?", a.move("reverseContinue"), ("data breakpoint", 0, "demo", 8))
same("and first?", a.move("reverseContinue"), ("data breakpoint", 0, "demo", 5))
a.ask("setDataBreakpoints", breakpoints=[dict(dataId="part[3]", condition="part[3] > 9")])
same("a condition", a.move("continue"), ("data breakpoint", 1, "demo", 8))
a.ask("pause", threadId=1)
same("pause", a.wait("stopped")["reason"], "pause")
same("an old variable", a.variables(9), "this variable is of an earlier stop")
same("an unknown request", a.ask("goto", threadId=1, targetId=1), 'this adapter does not know the request "goto"')
same("ends", a.end(), 0)

# ---- launches --------------------------------------------------------------------------------------------------------------

a = Adapter()
a.launch(at="race")
a.begin()
same("begins at the race", a.where(1), (1, "demo", 8))
source = a.ask("source", sourceReference=1, source=dict(sourceReference=1))
same("a source without a file", source["content"].split("\n")[2], "  int t = threadIdx.x;")
a.ask("terminate")
a.wait("terminated")
same("ends again", a.end(), 0)

a = Adapter()
a.launch(stopOnEntry=False)
same("without a stop at the entry", a.begin()["reason"], "exception")
a.end()

a = Adapter()
broken = f"{FOLDER}/broken.cu"
failure = f"there is no record of {broken}: the debug console says why"
same("errors of the compiler", a.ask("launch", program=broken), failure)
same("what it said", a.wait("output")["output"].split("\n")[1], "error: expected ';'")
same("no program", a.ask("launch"), '"program" is missing: the CUDA file whose kernel is to be recorded')
a.process.stdin.close()
same("the client goes away", a.process.wait(timeout=20), 0)
same("all messages have the protocol's form", CheckedStream.wrong, [])
print(f"1..{count}")
sys.exit(failed > 0)
