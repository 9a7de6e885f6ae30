# SPDX-License-Identifier: MIT
# Compiles what the other stages need, the most valuable first (tests/gpu/rules.mk has the order). What is not there when the time is
# over, they leave out; a check that is continued goes on with it.
. tests/gpu/common.sh

$GPU_MAKE -s setup || result packages '' failed 0 'see log.txt'
from=$EPOCHREALTIME
[ -n "$GPU_DRY" ] || $GPU_MAKE -s cuda-arch
programs=$($GPU_MAKE -s gpu-list)
timeout --kill-after=2 "$(($(left) - 2))" $GPU_MAKE -k -j"$cores" gpu-programs >"$work/make" 2>&1
status=$?
tail -n 400 "$work/make"

why='it did not compile: see log.txt'
kind=failed
if [ $status = 124 ] || [ $status = 137 ]; then
  why='the time was over before it was compiled'
  kind=cut
fi
for program in $programs; do
  if [ -e "$program" ]; then
    result build "$program" passed 0
  else
    result build "$program" $kind 0 "$why"
  fi
done
[ $status = 0 ] || echo "make ended with status $status after $(since "$from") s"
exit 0
