#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two hosts: two network namespaces, each with a name and an address of its own, joined by a pair of virtual cards. One rank in
# each, over TCP: collectives and trainings, a rank that is killed in the middle, and a link that is down for some seconds.
# run:
# timeout: 400
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
build=${FERRY_BUILD:-build}
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # in a build with the address sanitizer: they are Open MPI's
# shellcheck source=tests/support/two_hosts.sh
. tests/support/two_hosts.sh

over_tcp() { # SECONDS OPTIONS... PROGRAM ARGUMENTS...: one rank on each host
  local seconds=$1
  shift
  OMP_NUM_THREADS=1 on_first timeout -k 5 "$seconds" mpirun --allow-run-as-root --mca plm_rsh_agent "$agent" \
    --mca oob_tcp_if_include 10.99.77.0/24 --mca btl tcp,self --mca btl_tcp_if_include 10.99.77.0/24 --bind-to none -x OMP_NUM_THREADS -x ASAN_OPTIONS --host 10.99.77.1,10.99.77.2 -n 2 "$@"
}

# What mpirun itself says on a busy machine ("setpgid failed in parent") is none of the ranks'.
# shellcheck disable=SC2016
over_tcp 60 sh -c 'echo "$OMPI_COMM_WORLD_RANK $(hostname)"' >"$work/out" 2>"$work/err"
sort "$work/out" | diff - <(printf '0 ferry-a\n1 ferry-b\n') >"$work/diff"
result $? 'a rank on each host' "$(cat "$work/out" "$work/err")"

collectives=$PWD/$build/tests/core/distributed/test_collectives ddp=$PWD/$build/tests/core/distributed/test_ddp
mistakes=$PWD/$build/tests/core/distributed/test_mistakes
over_tcp 120 "$collectives" --rank on_cpu >"$work/out" 2>&1
result $? 'random collectives' "$(tail -n 3 "$work/out")"
for case in equals_one_process buckets unused; do
  over_tcp 120 "$ddp" --rank "$case" >"$work/out" 2>&1
  result $? "training: $case" "$(tail -n 3 "$work/out")"
done

over_tcp 60 "$mistakes" --rank other_size >"$work/out" 2>&1
result $? 'other sizes are named in both' "$(tail -n 3 "$work/out")"
begin=$SECONDS
over_tcp 60 "$mistakes" --rank one_is_killed_in_the_middle >"$work/out" 2>&1
status=$?
[ $status != 0 ] && [ $status != 124 ] && [ $((SECONDS - begin)) -lt 40 ]
result $? 'a rank killed in the middle ends both' "status $status after $((SECONDS - begin)) s: $(tail -n 3 "$work/out")"

# Nothing is lost while a link is down for less than TCP's patience and ours.
(
  sleep 1.5
  ip -n "$b" link set "vb$$" down
  sleep 3
  ip -n "$b" link set "vb$$" up
) &
over_tcp 120 "$ddp" --rank steady >"$work/out" 2>&1
result $? 'a link that drops for three seconds' "$(tail -n 3 "$work/out")"
wait
finish
