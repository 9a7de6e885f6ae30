#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The debug adapter, asked through the client of debugpy (PyPI), whose copy of the protocol's schema is what messages have to fit. Both
# packages go into build/venv-dap once.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
views=$(realpath "${FERRY_BUILD:-build}/tests/core/step/step_views")
venv=build/venv-dap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! "$venv/bin/python" -c 'import debugpy, jsonschema' 2>/dev/null; then
  { python3 -m venv "$venv" && timeout 120 "$venv/bin/pip" --quiet install debugpy==1.8.22 jsonschema; } >"$work/said" 2>&1 ||
    skip_all "debugpy, which has a client of the protocol, cannot be installed from PyPI: $(tail -n 1 "$work/said")"
fi
"$views" sample >"$work/demo.cu.json"
exec timeout 100 "$venv/bin/python" tests/core/step/dap_client.py "$views" "$work"
