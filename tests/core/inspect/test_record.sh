#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The record that an inspected program leaves, cut off and changed at random: ./ferry inspect reports what there is or refuses it,
# and never crashes. `test_record.sh SEED` tries other ones.
# run:
# timeout: 300
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
compiler=$(command -v cc || command -v gcc || command -v clang) || skip_all 'no C compiler'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seed=${1:-1} tries=40

# A program that leaves the record that it is given.
cat >"$work/leave.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const char *from = getenv("RECORD_TO_LEAVE"), *to = getenv("FERRY_INSPECT_RECORD");
  FILE *in = from ? fopen(from, "r") : NULL, *out = to ? fopen(to, "w") : NULL;
  int c;
  while (in && out && (c = getc(in)) != EOF)
    putc(c, out);
  return in && out && fclose(in) == 0 && fclose(out) == 0 ? 0 : 1;
}
END
"$compiler" -g -o "$work/leave" "$work/leave.c" || skip_all 'the compiler does not work'
place=$(nm "$work/leave" | awk '$3 == "main" { sub(/^0+/, "", $1); print $1 }')
next=$(printf '%x' $((0x$place + 12)))

# As core/inspect/runtime/record_writer.c writes it: two kernels, what was counted of them, findings with and without a kernel.
printf '%s\t' kernel 0 first 4 1 1 64 1 1 0 0 1 4 4 0 0 | sed 's/\t$/\tfirst\n/' >"$work/record"
{
  printf 'kernel\t1\tsecond<int>\t1\t1\t1\t32\t1\t1\t4096\t0\t2\t2\t2\t1\t1\tsecond<T>\n'
  printf 'site\t0\t%s\t%s\t%s\t8\t256\t256\t32\t32\t0\t0\n' "$place" r 0 "$next" w 1 "$next" a 0 "$place" b 0
  printf 'site\t1\t%s\tr\t0\t2\t64\t64\t8\t8\t0\t0\n' "$place"
  printf 'mix\t0\t32\t64\t0\t128\t0\t64\n'
  printf 'counts\t0\t32\t32\t64\t2048\t2048\t256\n'
  printf 'time\t0\t1\t2e-6\t1e-6\t4\t0.5\t1\t1e-6\t1e-6\t1e-6\t1e-6\t1e-6\t1e-6\n'
  printf 'barrier\t0\t%s\t3\t8\t0\n' "$work/leave.c"
  printf 'finding\t0\trace-block\t%s\t%s\t0\t-\t0\t0\t7\tbyte 0 of x: thread 1 reads\n' "$place" "$next"
  printf 'finding\t0\tdivergent\t0\t0\t0\t%s\t3\t4\t1\tthread 0\n' "$work/leave.c"
  printf 'finding\t-1\tleak\t%s\t0\t0\t-\t0\t0\t1\t64 bytes\n' "$place"
  printf 'end\n'
} >>"$work/record"

inspect() { # RECORD: its status in $status
  RECORD_TO_LEAVE=$1 FERRY_SIM_GPU=v100 "$ferry" inspect --program "$work/leave" --json "$work/json" "${@:2}" >"$work/out" 2>&1
  status=$?
}

inspect "$work/record"
[ "$status" = 1 ] && grep -q '"kind": "race-block", .*"kernel": "first"' "$work/json" && grep -q '^second<int><<<' "$work/out"
result $? 'a whole record is read' "status $status: $(head -n 5 "$work/out" | tr '\n' ' ')"

bytes=$(wc -c <"$work/record") worst='' accepted=''
for ((i = 0; i < tries; i++)); do
  head -c $((i * (bytes - 5) / tries)) "$work/record" >"$work/cut"
  inspect "$work/cut"
  [ "$status" -lt 128 ] || worst="$worst $i:$status"
  [ "$status" = 3 ] || accepted="$accepted $i:$status"
done
[ -z "$worst" ]
result $? "$tries records that end too early crash nothing" "$worst"
[ -z "$accepted" ]
result $? 'and none of them is taken for a whole one' "$accepted"

# One to four fields, lines or bytes of it changed.
changed() { # NUMBER
  awk -F '\t' -v OFS='\t' -v seed=$((seed * 1000 + $1)) '
    function any(n) { return int(rand() * n) }
    BEGIN { srand(seed)
      n = split("-1|0|1|99999999999999999999|-99999999999|nan|inf|1e999|ffffffff|%s%n|\001|-|" "x", odd, "|") }
    { line[NR] = $0 }
    END {
      for (times = 1 + any(4); times > 0; times--) {
        l = 1 + any(NR - 1); how = any(5); k = split(line[l], f, "\t")
        if (how == 0) line[l] = ""
        else if (how == 1) line[l] = line[1 + any(NR - 1)]
        else if (how == 2) { s = line[l]; for (j = 0; j < 9; j++) s = s s; line[l] = s }
        else { f[1 + any(k)] = odd[1 + any(n)]; s = f[1]; for (j = 2; j <= k - (how == 4 ? any(k) : 0); j++) s = s "\t" f[j]; line[l] = s }
      }
      for (l = 1; l <= NR; l++) print line[l] }' "$work/record"
}
worst='' broken=''
for ((i = 0; i < tries; i++)); do
  changed "$i" >"$work/changed"
  inspect "$work/changed"
  [ "$status" -lt 128 ] || worst="$worst $i:$status"
  [ "$status" = 3 ] || ! grep -qv '^{.*}$' "$work/json" || broken="$broken $i"
  inspect "$work/changed" --table
  [ "$status" -lt 128 ] || worst="$worst $i(table):$status"
done
[ -z "$worst" ]
result $? "$tries changed records crash nothing (seed $seed)" "$worst"
[ -z "$broken" ]
result $? 'and what is reported of them is lines of JSON' "$broken"
finish
