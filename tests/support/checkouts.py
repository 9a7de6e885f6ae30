# SPDX-License-Identifier: MIT
"""Files of other projects' checkouts, whose folders the caller names."""

import gzip
import os
import subprocess


def stored(folder, path, commit=None):
    """A file of a checkout or of a bare repository: of the commit, or as it is in the folder, or of HEAD."""
    if not commit and os.path.exists(os.path.join(folder, path)):
        with open(os.path.join(folder, path), "rb") as file:
            data = file.read()
    else:
        data = subprocess.run(["git", "-C", folder, "show", "%s:%s" % (commit or "HEAD", path)], stdout=subprocess.PIPE, check=True).stdout
    return (gzip.decompress(data) if path.endswith(".gz") else data).decode()
