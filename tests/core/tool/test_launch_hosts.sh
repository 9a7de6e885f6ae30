#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ferry launch --hosts`: ranks on two hosts, with their variables, a training between them, a rank that fails on the other one.
# run:
# timeout: 200
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
build=${FERRY_BUILD:-build}
[ -x "$build/ferry" ] || skip_all "$build/ferry is not built (sanitized builds do without it)"
# shellcheck source=tests/support/two_hosts.sh
. tests/support/two_hosts.sh
unset OMP_NUM_THREADS MASTER_ADDR

launch() { # ARGUMENTS of ferry launch
  on_first env OMPI_MCA_plm_rsh_agent="$agent" OMPI_MCA_oob_tcp_if_include=10.99.77.0/24 OMPI_MCA_btl=tcp,self \
    OMPI_MCA_btl_tcp_if_include=10.99.77.0/24 timeout -k 5 60 "$PWD/$build/ferry" launch --hosts 10.99.77.1,10.99.77.2 "$@"
}

# shellcheck disable=SC2016 # for the ranks' shell
launch -n 2 sh -c 'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $OMP_NUM_THREADS $(hostname)"' >"$work/out" 2>"$work/err"
result $? 'two ranks end well' "$(cat "$work/out" "$work/err")"
sort "$work/out" | diff - <(printf '[0] 0 0 2 1 10.99.77.1 1 ferry-a\n[1] 1 0 2 1 10.99.77.1 1 ferry-b\n') >"$work/diff"
result $? 'one on each host, with its variables' "$(cat "$work/diff")"

# What is set here for the program is set there, too; what is this host's alone is not.
# shellcheck disable=SC2016
FERRY_CUDA='sim; a b' FERRY_OWN='x=y' NCCL_DEBUG=INFO MASTER_PORT=2950 OMP_NUM_THREADS=2 OTHER=here RANK=7 MASTER_ADDR=first \
  launch -n 2 sh -c 'echo "$RANK $FERRY_CUDA, $FERRY_OWN, $NCCL_DEBUG, $MASTER_PORT, $OMP_NUM_THREADS, $MASTER_ADDR, ${OTHER-none}"' >"$work/out" 2>"$work/err"
sort "$work/out" | diff - <(printf '[0] 0 sim; a b, x=y, INFO, 2950, 2, first, here\n[1] 1 sim; a b, x=y, INFO, 2950, 2, first, none\n') >"$work/diff"
result $? 'variables of Ferry, NCCL and torchrun go to the other host' "$(cat "$work/diff")"

ddp=$PWD/$build/tests/core/distributed/test_ddp
if [ -x "$ddp" ]; then
  says 'a training of both' 0 '' launch -n 2 "$ddp" --rank equals_one_process
else
  skip 'a training of both' "$ddp is not built"
fi

# shellcheck disable=SC2016
failing='if [ "$RANK" = 1 ]; then exit 5; fi; sleep 20'
begin=$SECONDS
says 'the status is that of the rank that failed, on the other host' 5 'ferry launch: rank 1 (process ' launch -n 2 sh -c "$failing"
[ $((SECONDS - begin)) -lt 15 ]
result $? 'and the rank on this one is ended' "after $((SECONDS - begin)) s"
finish
