#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_record.py RECORD...: is each record of ./ferry step consistent?

Each read of shared memory has the value that the steps before it have written, whatever races there are: the steps' order is the order in
which the block ran. Masks are of lanes that exist, accesses are of lanes that took part, every lane returns once, and statements, variables
and arrays are in their tables.
"""
import json
import sys


def expand(values, mask):
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    if isinstance(values, dict):
        first, step = values["a"]
        return {lane: first + step * i for i, lane in enumerate(lanes)}
    assert len(values) in (1, len(lanes)), (values, mask)
    return {lane: values[0] if len(values) == 1 else values[i] for i, lane in enumerate(lanes)}


def check(record):
    assert record["format"] == "ferry-step 1"
    threads = record["block"][0] * record["block"][1] * record["block"][2]
    statements = {s["id"]: s for s in record["statements"]}
    memory, reads, returned = {}, 0, {}
    for number, s in enumerate(record["steps"]):
        where = f"step {number}"
        if s["k"] in "bd":
            continue
        exists = (1 << min(32, threads - 32 * s["w"])) - 1
        assert s["m"] and not s["m"] & ~exists, where
        assert not s["m"] & returned.get(s["w"], 0), f"{where}: a lane that has returned"
        if s["k"] == "e":
            returned[s["w"]] = returned.get(s["w"], 0) | s["m"]
            continue
        assert s["s"] == 0 or s["s"] in statements, where
        for variable, depth, mask, values in s.get("v", []):
            assert not mask & ~s["m"] and depth <= len(s.get("c", [])), where
            expand(values, mask)
            assert record["variables"][variable], where
        for phase in "ra":  # a statement reads before it writes
            for kind, array, size, mask, offsets, values, *_ in s.get("a", []):
                a = record["arrays"][array]
                assert not mask & ~s["m"], where
                at, value = expand(offsets, mask), expand(values, mask)
                if not a["s"] or (kind == "r") != (phase == "r"):
                    continue
                for lane, offset in at.items():
                    if offset + size > a["bytes"]:
                        continue
                    words = [(array, word) for word in range(offset // 4, (offset + size + 3) // 4)]
                    if kind != "r":
                        memory.update((word, ((offset, size), value[lane])) for word in words)
                        continue
                    reads += 1
                    written = [memory.get(word) for word in words]
                    if all(w is None or w[0] == (offset, size) for w in written):  # as one access of this size
                        before = written[0] and written[0][1]
                        assert before == value[lane], f"{where}: lane {lane} reads {value[lane]}, not {before}"
    if record["end"] == "complete":
        for warp in range((threads + 31) // 32):
            assert returned.get(warp) == (1 << min(32, threads - 32 * warp)) - 1, f"warp {warp} does not return"
    for f in record["findings"]:
        assert f["text"] and -1 <= f["step"] < len(record["steps"])
        if f["other_step"] >= 0 and f["step"] >= 0 and "race" in f["k"]:
            assert record["steps"][f["other_step"]]["m"] & f["other_lanes"] == f["other_lanes"]
    return reads


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    reads = check(record)
    print(f"{record['kernel']}: {len(record['steps'])} steps, {reads} reads of shared memory")
