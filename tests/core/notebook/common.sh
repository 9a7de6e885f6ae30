# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of the notebooks share: a virtual environment with Jupyter's kernel and the wheel, as a reader has it; notebooks in
# $work/notebook. Sourced by them, after tests/grader/common.sh. They run in $python.
work=${work:?tests/grader/common.sh makes it}
[ -x ferry ] || skip_all './ferry is not built'
command -v python3 >/dev/null || skip_all 'python3 is not installed'
home=build/notebook/test python=$PWD/build/notebook/test/bin/python
if ! cmp -s tests/core/notebook/requirements.txt "$home/installed"; then
  { python3 -m venv --clear "$home" && "$home/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 \
    -r tests/core/notebook/requirements.txt && cp tests/core/notebook/requirements.txt "$home/installed"; } >"$work/pip" 2>&1 ||
    skip_all "Jupyter's kernel could not be installed from PyPI: $(tail -n 1 "$work/pip")"
fi
core/notebook/build.sh "$work/notebook" >"$work/build" 2>&1 ||
  { grep -q 'a way to PyPI' "$work/build" && skip_all 'flit could not be installed from PyPI'; }
"$home/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$work"/notebook/ferry_gpu_notebook-*.whl >>"$work/build" 2>&1
result $? 'the wheel is built and installed' "$(tail -n 3 "$work/build" | tr '\n' ' ')"
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore JUPYTER_PLATFORM_DIRS=1 IPYTHONDIR=$work/ipython JUPYTER_CONFIG_DIR=$work/jupyter
export FERRY_HOME=$PWD
unset FERRY_WORK PYTHONPATH

checks() { # SCRIPT ARGUMENT...: prints lines "ok - NAME" and "not ok - NAME - WHY"
  local line
  while IFS= read -r line; do
    case $line in
    'ok - '*) result 0 "${line#ok - }" ;;
    'not ok - '*) result 1 "${line#not ok - }" ;;
    *) echo "# $line" ;;
    esac
  done < <("$python" "$@" 2>&1 || echo "not ok - $1 ended with status $?")
}
