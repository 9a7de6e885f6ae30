# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Two hosts for a test in bash, after tap.sh: two network namespaces, each with a name and an address of its own, joined by a pair
# of virtual cards. Sourcing it makes them, or skips the test with a word; they go when the test ends. $work is a folder, $a and $b
# the namespaces, $agent what mpirun may use in place of ssh to reach the second.
work=$(mktemp -d)
a=ferry-a-$$ b=ferry-b-$$ agent=$work/agent
clean_up() {
  ip netns del "$a" 2>/dev/null
  ip netns del "$b" 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT

command -v mpirun >/dev/null && [ -e build/libferry-mpi.so ] || skip_all 'needs Open MPI'
command -v ip >/dev/null && command -v unshare >/dev/null || skip_all 'needs ip (iproute2) and unshare'
{
  ip netns add "$a" && ip netns add "$b" &&
    ip link add "va$$" netns "$a" type veth peer name "vb$$" netns "$b" &&
    ip -n "$a" addr add 10.99.77.1/24 dev "va$$" && ip -n "$b" addr add 10.99.77.2/24 dev "vb$$" &&
    ip -n "$a" link set lo up && ip -n "$b" link set lo up &&
    ip -n "$a" link set "va$$" up && ip -n "$b" link set "vb$$" up
} 2>"$work/why" || skip_all "network namespaces cannot be made here: $(head -n 1 "$work/why")"

cat >"$agent" <<END
#!/bin/sh
# HOST COMMAND...: as by ssh, nothing of this side's environment comes along
shift
exec env -i PATH="$PATH" HOME="$HOME" ip netns exec $b unshare --uts sh -c "hostname ferry-b; \$*"
END
chmod +x "$agent"

on_first() { # COMMAND...: on the first host
  ip netns exec "$a" unshare --uts sh -c 'hostname ferry-a; exec "$@"' - "$@"
}
