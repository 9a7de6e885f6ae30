# SPDX-License-Identifier: MIT
"""check_trace.py TRACE simulated|none: is this a Chrome trace whose times nest and whose arrows have two ends?

Prints what is wrong and exits with 1, or a line of what was found.
"""
import collections
import json
import sys

path, device_times = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    trace = json.load(file, parse_float=lambda text: round(float(text) * 1000), parse_int=int)
wrong = []


def check(condition, *text):
    if not condition:
        wrong.append(" ".join(str(t) for t in text))


def time_of(value):
    return value if isinstance(value, int) else round(value)


events = trace["traceEvents"]
check(trace["device_times"] == device_times, "device_times is", trace["device_times"])
rows = collections.defaultdict(list)
names = collections.defaultdict(dict)
flows = collections.defaultdict(dict)
counters = collections.defaultdict(list)
for e in events:
    place = (e["pid"], e["tid"])
    if e["ph"] == "M":
        names[e["name"]][place if e["name"].startswith("thread") else e["pid"]] = e["args"].get("name")
    elif e["ph"] == "X":
        check(e["dur"] >= 0 and e["ts"] >= 0, "negative time in", e)
        rows[place].append((time_of(e["ts"]), -time_of(e["dur"]), e["name"]))
    elif e["ph"] in "sf":
        check(e["ph"] not in flows[e["cat"], e["id"]], "two ends of a kind:", e)
        flows[e["cat"], e["id"]][e["ph"]] = (place, time_of(e["ts"]))
    elif e["ph"] == "C":
        counters[e["name"]].append((time_of(e["ts"]), e["args"]["allocated bytes"]))
    else:
        check(False, "what is a", e["ph"])

for place, spans in rows.items():
    check(place in names["thread_name"], "row", place, "has no name")
    check(place[0] in names["process_name"], "process", place[0], "has no name")
    open_until = []
    for begin, minus, name in sorted(spans):
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        check(not open_until or begin - minus <= open_until[-1], name, "at", begin, "goes on after the one around it")
        open_until.append(begin - minus)

starts = {(place, begin) for place, spans in rows.items() for begin, _, _ in spans}
for (category, number), ends in flows.items():
    check(len(ends) == 2, category, number, "has one end")
    for end in ends.values():
        check(end in starts, category, number, "does not begin or end where something begins")
    if len(ends) == 2:
        check(ends["s"][1] <= ends["f"][1], category, number, "points back in time")

for name, values in counters.items():
    check(values == sorted(values, key=lambda v: v[0]), name, "is not in the order of time")
    check(all(v >= 0 for _, v in values), name, "is negative")

for place, name in names["thread_name"].items():
    on_device = place[0] < 16
    check(on_device or "thread" in name, "a thread named", name)
    check(not on_device or "(simulated)" in name, "a simulated stream named", name)
for pid, name in names["process_name"].items():
    check(pid >= 16 or "(simulated)" in name, "a simulated device named", name)

print("\n".join(wrong[:20]) if wrong else "%d events, %d rows, %d arrows, %d counters" %
      (len(events), len(rows), len(flows), len(counters)))
sys.exit(1 if wrong else 0)
