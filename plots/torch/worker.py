# SPDX-License-Identifier: MIT
"""PyTorch's side of a comparison: answers the commands that plots/bench/worker.c answers for Ferry.

    worker.py [--device cpu|cuda] [--threads N] [--tuned]

--tuned: gradients set to None, convolutions in channels_last. What is set by environment (malloc, BLAS) is the caller's.
"""

import argparse
import gzip
import itertools
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

OPTIONS = None  # the command line's


def synchronize():
    if OPTIONS.device.startswith("cuda"):
        torch.cuda.synchronize()


def layout(x):
    """Images as the tuned row lays them out."""
    return x.to(memory_format=torch.channels_last) if OPTIONS.tuned and x.dim() == 4 else x


def randn(*size, **options):
    return layout(torch.randn(*size, device=OPTIONS.device)).requires_grad_(options.get("grad", False))


# ---- models ---------------------------------------------------------------------------------------------------------------


class OptimizedCNN(nn.Module):
    """The second lesson's network, as the lesson writes it."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.conv3 = nn.Conv2d(64, 128, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(128 * 4 * 4, 512)
        self.fc2 = nn.Linear(512, 10)
        self.relu = nn.ReLU()

    def forward(self, x):
        for conv in (self.conv1, self.conv2, self.conv3):
            x = self.pool(self.relu(conv(x)))
        x = x.reshape(-1, 128 * 4 * 4)
        return self.fc2(self.relu(self.fc1(x)))


def cnn_001():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64 * 7 * 7, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10))


MODELS = {
    "train_100_50_10": (lambda: nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 10)), (100,)),
    "train_784_256_128_10": (
        lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)),
        (784,)),
    "train_1024_2048_2048_10": (
        lambda: nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)),
        (1024,)),
    "train_cnn_001": (cnn_001, (1, 28, 28)),
    "train_cnn_002": (OptimizedCNN, (3, 32, 32)),
}


def model_of(name):
    model = MODELS[name][0]().to(OPTIONS.device)
    if OPTIONS.tuned and len(MODELS[name][1]) == 3:
        model = model.to(memory_format=torch.channels_last)
    return model, torch.optim.Adam(model.parameters(), lr=1e-3)


def step(model, optimizer, x, y, mixed=False):
    if OPTIONS.tuned:
        optimizer.zero_grad(set_to_none=True)
    else:
        optimizer.zero_grad()
    if mixed:
        with torch.autocast(OPTIONS.device.split(":")[0], dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
    else:
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


# ---- cases: each function sets up and returns what is timed ---------------------------------------------------------------


def matmul(n):
    a, b = randn(n, n), randn(n, n)
    return lambda: a @ b


def conv(inputs, outputs, side):
    def setup(n):
        x, weight = randn(n, inputs, side, side, grad=True), randn(outputs, inputs, 3, 3, grad=True)
        grad = randn(n, outputs, side, side)

        def body():
            x.grad = weight.grad = None
            F.conv2d(x, weight, padding=1).backward(grad)

        return body

    return setup


def relu_pool(n):
    x, grad = randn(n, 32, 28, 28, grad=True), randn(n, 32, 14, 14)

    def body():
        x.grad = None
        F.max_pool2d(torch.relu(x), 2).backward(grad)

    return body


def pointwise(function, operands):
    def setup(n):
        arrays = [randn(n) for _ in range(operands)]
        return lambda: function(*arrays)

    return setup


def square(function, operands=1):
    def setup(n):
        arrays = [randn(n, n) for _ in range(operands)]
        return lambda: function(*arrays)

    return setup


def in_rows(function):
    def setup(n):
        a = randn(n // 1024, 1024)
        return lambda: function(a)

    return setup


def cross_entropy(n):
    x, y = randn(n, 1000, grad=True), torch.randint(0, 1000, (n,), device=OPTIONS.device)

    def body():
        x.grad = None
        F.cross_entropy(x, y).backward()

    return body


def with_gradients(shape, sizes, function):
    """Of three leaves: the first of `shape`, which gets n, the others of `sizes`, or of that shape."""
    def setup(n):
        leaves = [randn(*shape(n), grad=True)] + [randn(*(sizes or shape(n)), grad=True) for _ in range(2)]
        gradient = randn(*shape(n))

        def body():
            for leaf in leaves:
                leaf.grad = None
            function(*leaves).backward(gradient)

        return body

    return setup


def adam(tensors):
    def setup(n):
        parameters = [randn(n // tensors, grad=True) for _ in range(tensors)]
        for p in parameters:
            p.grad = torch.randn_like(p)
        return torch.optim.Adam(parameters, lr=1e-3).step

    return setup


def small(kind):
    def setup(n):
        a, b = randn(n, n, grad=kind != "add"), randn(n, n)

        def backward():
            a.grad = None
            (a + b).sum().backward()

        return backward if kind == "backward" else lambda: a + b

    return setup


def training(name, mixed=False):
    def setup(batch):
        model, optimizer = model_of(name)
        x, y = randn(batch, *MODELS[name][1]), torch.randint(0, 10, (batch,), device=OPTIONS.device)
        return lambda: step(model, optimizer, x, y, mixed)

    return setup


def read_idx(name, offset):
    for folder in (os.environ.get("FERRY_DATA"), "/usr/share/datasets/fashion-mnist"):
        for suffix, opener in ((".gz", gzip.open), ("", open)):
            path = os.path.join(folder or "", name + suffix)
            if folder and os.path.exists(path):
                with opener(path, "rb") as file:
                    return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[offset:]
    raise RuntimeError("Fashion-MNIST is not here (Debian's dataset-fashion-mnist, or set FERRY_DATA)")


def fashion(steps):
    """Whole batches are cut out of one tensor: several times faster than a DataLoader that makes them picture by picture."""
    images = read_idx("train-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)[: 256 * steps]
    labels = read_idx("train-labels-idx1-ubyte", 8)[: 256 * steps].long()
    model, optimizer = model_of("train_cnn_001")

    def body():
        order = torch.randperm(len(images))
        for i in range(steps):
            batch = order[i * 256 : (i + 1) * 256]
            x = layout((images[batch].to(OPTIONS.device).float() / 255 - 0.5) / 0.5)
            step(model, optimizer, x, labels[batch].to(OPTIONS.device))

    return body


def device_randn(function):
    return lambda n: (lambda: function(n, device=OPTIONS.device))


CASES = {
    "matmul": matmul,
    "conv_1_32_28": conv(1, 32, 28),
    "conv_32_64_14": conv(32, 64, 14),
    "conv_3_32_32": conv(3, 32, 32),
    "conv_32_64_16": conv(32, 64, 16),
    "relu_pool": relu_pool,
    "add": pointwise(torch.add, 2),
    "add_": pointwise(torch.Tensor.add_, 2),
    "relu": pointwise(torch.relu, 1),
    "tanh": pointwise(torch.tanh, 1),
    "exp": pointwise(torch.exp, 1),
    "gelu": pointwise(F.gelu, 1),
    "sum": pointwise(torch.sum, 1),
    "max": pointwise(torch.max, 1),
    "sum_rows": in_rows(lambda a: a.sum(1)),
    "sum_columns": in_rows(lambda a: a.sum(0)),
    "argmax_rows": in_rows(lambda a: a.argmax(1)),
    "softmax": square(lambda a: torch.softmax(a, 1)),
    "transposed": square(lambda a: a.t().contiguous()),
    "tanh_square": square(torch.tanh),
    "add_square": square(torch.add, 2),
    "cross_entropy": cross_entropy,
    "layer_norm": with_gradients(lambda n: (n, 768), (768,), lambda a, w, b: F.layer_norm(a, (768,), w, b)),
    "attention": with_gradients(lambda n: (8, 12, n, 64), None, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
    "randn": device_randn(torch.randn),
    "rand": device_randn(torch.rand),
    "dropout": pointwise(lambda a: F.dropout(a, 0.5, True), 1),
    "adam_1": adam(1),
    "adam_100": adam(100),
    "small_add": small("add"),
    "small_add_graph": small("graph"),
    "small_backward": small("backward"),
    "train_fashion": fashion,
}
CASES.update((name, training(name)) for name in MODELS)
CASES.update((name.replace("train_", "autocast_"), training(name, True)) for name in MODELS)
# Benchmark mode tries several ways of a convolution. On a CPU PyTorch has one: the same work as without it.
CASES.update(("benchmark_" + name, CASES[name]) for name in ("conv_32_64_14", "conv_32_64_16"))
CASES.update((name.replace("train_", "benchmark_"), CASES[name]) for name in MODELS if "cnn" in name)


# ---- measuring, as plots/bench/measure.c does it --------------------------------------------------------------------------


def one_sample(body, runs):
    synchronize()
    start = time.perf_counter()
    for _ in itertools.repeat(None, runs):
        body()
    synchronize()
    return (time.perf_counter() - start) / runs


def take_samples(body, seconds, least=3, most=100):
    guess = one_sample(body, 1)
    if guess < 0.5 * seconds:
        guess = one_sample(body, 1)
    wanted = 200e-6 if OPTIONS.device.startswith("cuda") else 20e-6
    runs = int(wanted / max(guess, 1e-9)) + 1 if guess < wanted else 1
    samples, begin = [], time.perf_counter()
    while len(samples) < most and (len(samples) < least or time.perf_counter() - begin < seconds):
        samples.append(one_sample(body, runs))
    return samples


# ---- the same work ----------------------------------------------------------------------------------------------------------


def formula_numbers(shape, salt, scale):
    count = 1
    for n in shape:
        count *= n
    j = torch.arange(count, dtype=torch.int64)
    return (scale * (((7919 * j + 104729 * salt) % 10007).double() / 10007 - 0.5)).float().reshape(shape)


def check(name, batch):
    model, optimizer = model_of(name)
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            inputs = p.numel() // p.shape[0] if p.dim() > 1 else 100
            p.copy_(formula_numbers(p.shape, i + 1, 2 / inputs**0.5))
    model.eval()
    x = layout(formula_numbers((batch, *MODELS[name][1]), 0, 2).to(OPTIONS.device))
    y = (torch.arange(batch) % 10).to(OPTIONS.device)
    losses = [step(model, optimizer, x, y).item() for _ in range(3)]
    return "%d %s" % (sum(p.numel() for p in model.parameters()), " ".join("%.7f" % loss for loss in losses))


# ---- commands ---------------------------------------------------------------------------------------------------------------


def peak_memory():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))


def blas_library():
    """The file that matrix products come from, as far as the loader's list tells."""
    with open("/proc/self/maps") as file:
        paths = {os.path.realpath(line.split()[-1]) for line in file if ".so" in line}
    names = [p for p in sorted(paths) if any(word in os.path.basename(p) for word in ("blas", "mkl_rt"))]
    return ", ".join(names) or "built into torch"


def info():
    return "PyTorch %s, %d threads, BLAS: %s" % (torch.__version__, torch.get_num_threads(), blas_library())


def serve(body_of_case, words):
    """Answers one command; returns its answer and what `time` runs from now on."""
    command = words[0] if words else ""
    if command == "case":
        return "", CASES[words[1]](int(words[2]))
    if command == "time" and body_of_case:
        return " ".join("%.9g" % s for s in take_samples(body_of_case, float(words[1]))), body_of_case
    if command == "end":
        return "", None
    if command == "check":
        return check(words[1], int(words[2])), None
    if command == "rss":
        return str(peak_memory()), body_of_case
    if command == "info":
        return info(), body_of_case
    raise RuntimeError("unknown command " + " ".join(words))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--tuned", action="store_true")
    OPTIONS = parser.parse_args()
    if OPTIONS.threads:
        torch.set_num_threads(OPTIONS.threads)
    if OPTIONS.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("this PyTorch (%s) has no CUDA device" % torch.__version__)
    torch.manual_seed(0)
    body = None
    for line in sys.stdin:
        try:
            answer, body = serve(body, line.split())
            print(("ok " + answer).strip(), flush=True)
        except Exception as error:  # whatever it is, the other side is waiting for a line
            body = None
            print("error %s: %s" % (type(error).__name__, " ".join(str(error).split())), flush=True)


if __name__ == "__main__":
    main()
