# SPDX-License-Identifier: MIT
"""ONNX files against onnx.checker and onnxruntime, both ways.

peers.py saved FOLDER           what test_onnx saved there: each file is checked, run, and agrees with Ferry's results
peers.py drawn FOLDER SEED N    writes N random networks with onnxruntime's results, and prints `FILE X Y` lines for test_onnx run
peers.py agree FOLDER           whether what Ferry made of them agrees
"""
import glob
import os
import random
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TOLERANCE = 1e-5


def run(path, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def difference(a, b):
    """The largest difference, relative for numbers above 1; NaN and infinities have to be the same."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
    if not a.size:
        return 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "NaN or infinite elsewhere"
    return float(np.max(np.abs(a - b)[finite] / np.maximum(1, np.abs(b[finite])), initial=0))


def report(name, found):
    ok = isinstance(found, float) and found <= TOLERANCE
    if not ok:
        print(f"{name}: {found}")
    return ok


def saved(folder):
    good = total = 0
    largest = 0.0
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        name = os.path.basename(path)[:-5]
        total += 1
        try:
            model = onnx.load(path)
            onnx.checker.check_model(model, full_check=True)
            inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, check_type=True, data_prop=True)
            assert len(inferred.graph.output) == 1
            found = difference(run(path, np.load(path[:-5] + ".x.npy")), np.load(path[:-5] + ".y.npy"))
        except Exception as error:  # of any of the three: the test's failure
            found = str(error).splitlines()[0][:300]
        good += report(name, found)
        largest = max(largest, found) if isinstance(found, float) else largest
    print(f"{good} of {total} agree, to {largest:.1e}")
    return good == total > 0


# ---- random networks ---------------------------------------------------------------------------------------------------


class Network:
    """A graph that grows node by node; each node keeps the rank between 2 and 4 and the batch in front."""

    def __init__(self, dice):
        self.dice = dice
        self.opset = dice.choice([11, 13, 17, 18, 20, 21, 23])
        self.nodes, self.initializers, self.count = [], [], 0
        self.shape = [3] + [dice.randint(2, 6) for _ in range(dice.choice([1, 2, 3]))]
        self.first = list(self.shape)
        self.value = "x"

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, array):
        name = self.name()
        if self.dice.random() < 0.3:  # as a node
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        elif array.dtype == np.float32 and self.dice.random() < 0.3:  # as a list of numbers
            self.initializers.append(helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.flatten().tolist()))
        else:
            self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def floats(self, *shape):
        return self.constant(np.array([self.dice.uniform(-1, 1) for _ in range(int(np.prod(shape)))],
                                      np.float32).reshape(shape))

    def integers(self, *values):
        return self.constant(np.array(values, np.int64))

    def node(self, op, *inputs, shape=None, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, [self.value, *inputs], [name], **attributes))
        self.value = name
        self.shape = self.shape if shape is None else list(shape)

    def axes(self, op, axes, since, shape, **attributes):
        """Axes as an input, or, before `since`, as an attribute."""
        if self.opset >= since:
            self.node(op, self.integers(*axes), shape=shape, **attributes)
        else:
            self.node(op, shape=shape, axes=list(axes), **attributes)

    def grow(self):
        dice, shape, last = self.dice, self.shape, len(self.shape) - 1
        kind = dice.randrange(26)
        if kind < 5:
            self.node(dice.choice(["Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Identity", "Dropout"]))
        elif kind < 9:
            self.node(dice.choice(["Add", "Sub", "Mul"]), self.floats(*dice.choice([(), (1,), (shape[last],)])))
        elif kind == 9:
            self.node("Div", self.constant(np.float32(dice.uniform(1, 3))))
        elif kind == 10:
            self.node("Clip", self.constant(np.float32(-0.5)), *([self.constant(np.float32(0.75))] * dice.randint(0, 1)))
        elif kind == 11:
            axis = dice.choice([-1, last])
            self.node(dice.choice(["Softmax", "LogSoftmax"]), axis=axis)
        elif kind == 12 and last > 1:
            perm = [0] + dice.sample(range(1, last + 1), last)
            self.node("Transpose", perm=perm, shape=[shape[p] for p in perm])
        elif kind == 13 and last < 3:
            self.axes("Unsqueeze", [dice.choice([1, -1])], 13, None)
            at = self.nodes[-1]
            negative = -1 in (list(at.attribute[0].ints) if at.attribute else self.last_axes(at))
            self.shape = shape + [1] if negative else shape[:1] + [1] + shape[1:]
        elif kind == 14:
            self.node("Flatten", shape=[shape[0], int(np.prod(shape[1:]))])
        elif kind == 15:
            self.node("Reshape", self.integers(0, -1), shape=[shape[0], int(np.prod(shape[1:]))])
        elif kind == 16 and shape[last] > 2:
            start, step = dice.randint(0, 1), dice.randint(1, 2)
            self.node("Slice", self.integers(start), self.integers(2**31), self.integers(-1), self.integers(step),
                      shape=shape[:-1] + [(shape[last] - start + step - 1) // step])
        elif kind == 17:
            other = self.value
            self.node(dice.choice(["Tanh", "Neg"]))
            self.node("Concat", other, axis=dice.choice([last, -1]), shape=shape[:-1] + [2 * shape[last]])
        elif kind == 18 and last > 1:
            keep = dice.randint(0, 1)
            left = shape[:1] + [1] * keep + shape[2:]
            op, since = dice.choice([("ReduceMean", 18), ("ReduceSum", 13), ("ReduceMax", 18), ("ReduceMin", 18)])
            self.axes(op, [1], since, left, keepdims=keep)
        elif kind == 19:
            n = dice.randint(1, 5)
            self.node("MatMul", self.floats(shape[last], n), shape=shape[:-1] + [n])
        elif kind == 20 and last == 1:
            n, trans = dice.randint(1, 5), dice.randint(0, 1)
            weight = self.floats(*((n, shape[1]) if trans else (shape[1], n)))
            bias = self.floats(*dice.choice([(n,), (1, n), ()]))
            self.node("Gemm", weight, bias, transB=trans, alpha=dice.choice([1.0, 0.5]), beta=dice.choice([1.0, 2.0]),
                      shape=[shape[0], n])
        elif kind == 21 and last == 3 and min(shape[2:]) > 2:
            n, pad, stride = dice.randint(1, 4), dice.randint(0, 1), dice.randint(1, 2)
            edges = [(s + 2 * pad - 3) // stride + 1 for s in shape[2:]]
            self.node("Conv", self.floats(n, shape[1], 3, 3), *([self.floats(n)] * dice.randint(0, 1)),
                      pads=[pad] * 4, strides=[stride] * 2, shape=[shape[0], n, *edges])
        elif kind == 22 and last == 3 and min(shape[2:]) > 1:
            edges = [s // 2 for s in shape[2:]]
            self.node(dice.choice(["MaxPool", "AveragePool"]), kernel_shape=[2, 2], strides=[2, 2],
                      shape=shape[:2] + edges)
        elif kind == 23 and last in (1, 3):
            c = shape[1]
            self.node("BatchNormalization", self.floats(c), self.floats(c), self.floats(c),
                      self.constant(np.array([dice.uniform(0.5, 2) for _ in range(c)], np.float32)), epsilon=1e-3)
        elif kind == 24:
            index = [dice.randrange(-shape[last], shape[last]) for _ in range(dice.randint(1, 4))]
            self.node("Gather", self.integers(*index), axis=last, shape=shape[:-1] + [len(index)])
        elif kind == 25:  # GELU as it was before opset 20
            x = self.value
            self.node("Div", self.constant(np.float32(2**0.5)))
            self.node("Erf")
            self.node("Add", self.constant(np.float32(1)))
            order = dice.randrange(3)
            if order == 0:
                self.node("Mul", x)
                self.node("Mul", self.constant(np.float32(0.5)))
            elif order == 1:
                self.node("Mul", self.constant(np.float32(0.5)))
                self.node("Mul", x)
            else:
                gate, self.value = self.value, x
                self.node("Mul", self.constant(np.float32(0.5)))
                self.node("Mul", gate)

    def last_axes(self, node):
        for made in self.initializers:
            if made.name == node.input[1]:
                return list(numpy_helper.to_array(made))
        return [list(numpy_helper.to_array(n.attribute[0].t)) for n in self.nodes if n.output[0] == node.input[1]][0]

    def model(self):
        for _ in range(self.dice.randint(3, 14)):
            if np.prod(self.shape) < 3000:
                self.grow()
        self.node("Tanh")
        batch = self.dice.choice(["N", 3])
        graph = helper.make_graph(self.nodes, "drawn",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch] + self.first[1:])],
                                  [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, None)],
                                  self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 8
        return model, batch


def drawn(folder, seed, count):
    for i in range(count):
        dice = random.Random(seed * 1000003 + i)
        network = Network(dice)
        model, batch = network.model()
        path = os.path.join(folder, f"drawn_{i}")
        onnx.save(model, path + ".onnx")
        x = np.random.default_rng(i).standard_normal([5 if batch == "N" else 3] + network.first[1:]).astype(np.float32)
        np.save(path + ".x.npy", x)
        np.save(path + ".wanted.npy", run(path + ".onnx", x))
        print(path + ".onnx", path + ".x.npy", path + ".y.npy")


def agree(folder):
    good = total = 0
    for path in sorted(glob.glob(os.path.join(folder, "drawn_*.wanted.npy"))):
        total += 1
        found = path.replace(".wanted.", ".y.")
        good += report(os.path.basename(path)[:-11], difference(np.load(found), np.load(path))
                       if os.path.exists(found) else "Ferry did not run it")
    print(f"{good} of {total} agree")
    return good == total > 0


if __name__ == "__main__":
    if sys.argv[1] == "saved":
        sys.exit(not saved(sys.argv[2]))
    if sys.argv[1] == "agree":
        sys.exit(not agree(sys.argv[2]))
    drawn(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
