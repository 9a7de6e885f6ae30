# SPDX-License-Identifier: MIT
"""What follows %ferry and %%ferry, and the help for it."""

import argparse
import shlex

from IPython.core.error import UsageError

LESSON = """--lesson N --part NAME  put the cell in place of that part of the program of lesson N, and use the whole program
"""

HELP = {
    "": """%%ferry [c] [options] [-- ARGS]

Compile the cell and run it on simulated devices. The cell is a CUDA program (CUDA C++); with c, a C program with Ferry's library.
Line numbers in messages are those of the cell: the line with %%ferry is line 1.

-- ARGS         the program's arguments
--gpu NAME      model this GPU (FERRY_SIM_GPU=NAME)
--devices N     the number of simulated devices (FERRY_SIM_DEVICES=N)
-I DIR, -D NAME[=VALUE]  for the preprocessor, for CUDA
"""
    + LESSON
    + """--section N     of a lesson's program: show only this section of its output

Commands for a cell:     %%ferry inspect, %%ferry step, %%ferry check EX
Commands for a line:     %ferry hint [EX], %ferry doctor, %ferry list, %ferry next, %ferry start [TRACK], %ferry reset EX,
                         %ferry solution EX, %ferry diff EX, %ferry chapter N, %ferry inspect FILE.cu, %ferry step FILE.cu,
                         %ferry version
Each command has --help. To stop a cell, interrupt the kernel.
""",
    "inspect": """%%ferry inspect [options] [-- ARGS]

Run the cell and show, for each line of its kernels, the active lanes and the memory accesses, and the bugs that were found.
A cell without main needs --grid and --block: %%ferry inspect --grid 4 --block 256 --arg n=1000 --arg 'x=float[n]'

"""
    + LESSON
    + "\nIt takes these options of ./ferry inspect:\n\n",
    "step": """%%ferry step [options] [-- ARGS]

Record a block of a kernel of the cell, and show a player that walks through it forwards and backwards. It opens at the first
bug. The cell needs a main.

--height PIXELS the height of the player; default: 640
"""
    + LESSON
    + "\nIt takes these options of ./ferry step:\n\n",
    "check": """%%ferry check EX [options]

Check the cell as the answer to an exercise, as ./ferry run does. EX is a number, a name, or a part of a name: 25.1. The answer is
saved in the workspace, so that a pass counts as progress. If the file there has other changes, a copy of it is kept.

--no-save       check only; the workspace and the progress stay as they are

It takes these options of ./ferry run:

""",
}


class Parser(argparse.ArgumentParser):
    def __init__(self):
        super().__init__(add_help=False, allow_abbrev=False, prefix_chars="-")

    def error(self, message):
        raise UsageError(message)


def split(line):
    try:
        return shlex.split(line)
    except ValueError as problem:
        raise UsageError(f"the line cannot be read: {problem}") from None


def before_arguments(words):
    """What is before -- and what is after it."""
    return (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])


def parse_cell(words, own):
    """The options of a cell that Ferry itself does not have, the other words, and the program's arguments."""
    mine, arguments = before_arguments(words)
    parser = Parser()
    parser.add_argument("--lesson", type=int)
    parser.add_argument("--part")
    for name, options in own.items():
        parser.add_argument(name, **options)
    options, rest = parser.parse_known_args(mine)
    if (options.lesson is None) != (options.part is None):
        raise UsageError("--lesson and --part belong together: --lesson 20 --part scale")
    return options, rest, arguments


def preprocessor(words):
    """The words, which must all be options -I and -D."""
    taken, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if word[:2] not in ("-I", "-D"):
            raise UsageError(f"there is no option {word}. %%ferry --help lists them; the program's arguments come after --")
        if len(word) == 2 and not rest:
            raise UsageError(f"{word} needs a value")
        taken += [word] if len(word) > 2 else [word, rest.pop(0)]
    return taken
