# SPDX-License-Identifier: MIT
"""Where the notebook looks for Ferry. usage: check_locate.py FOLDER"""

import os
import sys
from pathlib import Path

from ferry_notebook import locate

from kernel import ROOT, result

work = Path(sys.argv[1])
plain = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin"}


def found(folder, **environment):
    os.environ.clear()
    os.environ.update({**plain, **environment})
    os.chdir(folder)
    try:
        return locate.find().resolve()
    except locate.NotFound as problem:
        return str(problem)


FERRY = (ROOT / "ferry").resolve()
apart, other, clone = work / "apart", work / "other", work / "clone/docs"
for folder in (apart, other, clone, work / "clone/core/tool"):
    folder.mkdir(parents=True)
(work / "clone/core/tool/ferry.c").touch()
(other / "ferry").write_text("#!/bin/sh\necho boats\n")
(other / "ferry").chmod(0o755)

got = found(apart, FERRY_HOME=str(ROOT))
result(got == FERRY, "in $FERRY_HOME", got)
got = found(apart, FERRY_HOME=str(other / "none"))
result("FERRY_HOME is " in str(got), "a wrong $FERRY_HOME is said", got)
(apart / "bin").mkdir()
(apart / "bin/ferry").symlink_to(FERRY)
got = found(other, PATH=f"{apart}/bin:/usr/bin:/bin")
result(got == FERRY, "on PATH", got)
got = found(other, FERRY_HOME=str(apart))
result(got == FERRY, "in the PREFIX of make install", got)
got = found(ROOT / "docs/dev")
result(got == FERRY, "in the clone around the working directory", got)
got = found(ROOT / "docs/dev", PATH=f"{other}:/usr/bin:/bin")
result(got == FERRY, "another program of this name on PATH is passed over", got)
got = found(clone)
result("is not built" in str(got) and "make -C" in str(got), "a clone that is not built: what to do", got)
got = found(apart, PATH=f"{other}:/usr/bin:/bin")
result("FERRY_HOME" in str(got) and "is another program" in str(got), "nowhere: what to do", got)
result(locate.root_of(ROOT / "ferry") == ROOT.resolve(), "the lessons are in the clone")
