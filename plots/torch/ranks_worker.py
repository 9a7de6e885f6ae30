# SPDX-License-Identifier: MIT
"""PyTorch's side of the comparison of several processes: a rank over gloo, which answers the commands of plots/bench/ranks.c.

Every rank reads the same commands from its own standard input and answers them all; rank 0's answers count. RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT are the caller's.
"""

import argparse
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import worker


class Case:
    def __init__(self, name, batch):
        self.plain, self.shared = self.side(name), self.side(name)
        self.shared = (DistributedDataParallel(self.shared[0]), self.shared[1])
        self.x = torch.randn(batch, *worker.MODELS[name][1])
        self.y = torch.randint(0, 10, (batch,))

    @staticmethod
    def side(name):
        return worker.model_of(name)

    def seconds(self, kind, steps):
        model, optimizer = self.shared if kind == "ranks" else self.plain
        idle = kind == "alone" and dist.get_rank() > 0
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(0 if idle else steps):
            worker.step(model, optimizer, self.x, self.y)
        return slowest(0 if idle else time.perf_counter() - begin) / steps


def slowest(seconds):
    t = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return t.item()


def time_reductions(size, calls):
    t = torch.zeros(size // 4)
    dist.all_reduce(t)
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(t)
    return slowest(time.perf_counter() - begin) / calls


def serve(case, words):
    if words[0] == "case":
        return Case(words[1], int(words[2])), ""
    if words[0] in ("alone", "apart", "ranks") and case:
        return case, "%.9g" % case.seconds(words[0], int(words[1]))
    if words[0] == "reduce":
        return case, "%.9g" % time_reductions(int(words[1]), int(words[2]))
    if words[0] == "info":
        return case, "PyTorch %s, %d ranks of %d threads over gloo" % (
            torch.__version__, dist.get_world_size(), torch.get_num_threads())
    raise RuntimeError("unknown command " + " ".join(words))


def main():
    worker.OPTIONS = argparse.Namespace(device="cpu", tuned=False)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=10))
    case = None
    for line in sys.stdin:
        try:
            case, answer = serve(case, line.split())
            print(("ok " + answer).strip(), flush=True)
        except Exception as error:  # the other side is waiting for a line
            print("error %s: %s" % (type(error).__name__, " ".join(str(error).split())), flush=True)
            sys.exit(1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
