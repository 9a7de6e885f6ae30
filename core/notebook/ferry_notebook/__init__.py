# SPDX-License-Identifier: MIT
"""Magic commands that run, inspect, step through and check CUDA kernels with Ferry: %load_ext ferry_notebook."""

__version__ = "1.0.0"


def load_ipython_extension(shell):
    from .magics import FerryMagics

    shell.register_magics(FerryMagics)
