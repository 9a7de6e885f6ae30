# SPDX-License-Identifier: MIT
"""onnxruntime's side of a comparison: answers the commands that plots/bench/worker.c answers for Ferry, on files that it wrote.

    onnx_worker.py --folder DIR [--threads N]

`case NAME SIZE` runs DIR/NAME.onnx on DIR/NAME.SIZE.x.npy, and is an error unless what comes out is DIR/NAME.SIZE.y.npy.
"""

import argparse
import os
import sys
import time

import numpy as np
import onnxruntime

TOLERANCE = 1e-4  # of the largest result: sums of thousands of products, in another order


def session_of(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Case:
    """A file and its input; run() is what is timed."""

    def __init__(self, folder, name, size, threads):
        self.session = session_of(os.path.join(folder, name + ".onnx"), threads)
        x, y = (np.load(os.path.join(folder, "%s.%s.%s.npy" % (name, size, part))) for part in "xy")
        self.feed = {self.session.get_inputs()[0].name: x}
        difference = np.abs(self.run()[0] - y).max() / np.abs(y).max()
        if not difference <= TOLERANCE:
            raise ValueError("%s %s: results differ by %.1e of the largest" % (name, size, difference))

    def run(self):
        return self.session.run(None, self.feed)

    def samples(self, seconds):
        """Seconds of single runs: as many as fit, three at least, a hundred at most; each of several runs where one is short."""
        begin = time.perf_counter()
        self.run()
        repeat = max(1, int(2e-4 / max(time.perf_counter() - begin, 1e-9)))
        samples, begin = [], time.perf_counter()
        while len(samples) < 3 or (time.perf_counter() - begin < seconds and len(samples) < 100):
            start = time.perf_counter()
            for _ in range(repeat):
                self.run()
            samples.append((time.perf_counter() - start) / repeat)
        return samples


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    case = None
    for line in sys.stdin:
        words = line.split()
        try:
            if words[0] == "info":
                answer = "onnxruntime %s, %d threads" % (onnxruntime.__version__, options.threads)
            elif words[0] == "case":
                case = Case(options.folder, words[1], words[2], options.threads)
                answer = ""
            elif words[0] == "time" and case:
                answer = " ".join("%.9g" % sample for sample in case.samples(float(words[1])))
            elif words[0] == "end":
                case, answer = None, ""
            else:
                raise ValueError("unknown command %s" % line.strip())
            print("ok", answer, flush=True)
        except Exception as error:  # of any kind: it is the answer
            print("error", str(error).replace("\n", " ")[:300], flush=True)


if __name__ == "__main__":
    main()
