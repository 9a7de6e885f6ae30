#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Grades a submission with Ferry, for Classroom 50. Its runner starts this in the learner's checkout, and reads ./result.json.

Ferry is built once per machine, in FERRY_FOLDER (default: a folder of the runner). A runner's image in which that folder exists
skips the build. An exit status other than 0 means that the grader failed."""

import os
import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
folder = Path(os.environ.get("FERRY_FOLDER") or Path(os.environ.get("RUNNER_TEMP", "/tmp")) / "ferry-grader")
answers = Path.cwd()
result = answers / "result.json"
result.unlink(missing_ok=True)  # one that was submitted, or a link
if (answers / "work").is_dir() and not (answers / "work").is_symlink():
    answers = answers / "work"
if not (folder / "ferry/ferry").exists():
    subprocess.run(["bash", here / "setup.sh", folder], check=True)
submitted = subprocess.run(["git", "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"],
                           env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True, check=False).stdout.strip()
environment = {**os.environ, "FERRY_FOLDER": str(folder)}
if submitted:
    environment["SUBMITTED_AT"] = submitted
graded = subprocess.run(["sh", here / "grade.sh", "--answers", answers, "--classroom50", result], env=environment, check=False)
sys.exit(0 if graded.returncode in (0, 1) else 1)
