# SPDX-License-Identifier: MIT
"""Reads what test_against_torch.c prints, and says where PyTorch's rules give something else."""
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def numbers(text):
    return [int(word) for word in text.split()]


def buckets(limits, tensors, order, got):
    made = [torch.empty(int(size), dtype=getattr(torch, dtype))
            for dtype, size in (word.split(":") for word in tensors.split())]
    order, limits = numbers(order), numbers(limits)
    if order[0] < 0:
        wanted, _ = dist._compute_bucket_assignment_by_size(made, limits)
    else:  # as the reducer calls it: the tensors in the order in which their gradients came
        wanted, _ = dist._compute_bucket_assignment_by_size([made[i] for i in order], limits, [False] * len(made), order)
    return wanted, [numbers(part) for part in got.split("|") if part.strip()]


def shares(settings, permutation, own):
    count, ranks, rank, drop_last = numbers(settings)
    sampler = DistributedSampler(range(count), ranks, rank, seed=11, drop_last=bool(drop_last))
    sampler.set_epoch(2)
    draw, torch.randperm = torch.randperm, lambda n, generator: torch.tensor(numbers(permutation))
    wanted = list(sampler)
    torch.randperm = draw
    return wanted, numbers(own)


checked = wrong = 0
for line in sys.stdin:
    kind, rest = line.strip().split(" ", 1)
    fields = rest.split(";")
    wanted, got = buckets(*fields) if kind == "buckets" else shares(*fields)
    checked += 1
    if wanted != got:
        wrong += 1
        print(f"PyTorch: {wanted}\nFerry:   {got}\nof:      {line.strip()}")
print(f"{checked} checked, {wrong} wrong")
sys.exit(wrong > 0 or checked == 0)
