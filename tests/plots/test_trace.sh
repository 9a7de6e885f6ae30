#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry timeline: traces as pictures. Every row is there, simulated devices are marked, odd and broken traces are drawn or
# refused with a reason, and never end the program otherwise.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
build=${FERRY_BUILD:-build}
program=$build/plots/trace/trace
[ -x "$program" ] || { echo "not ok 1 - $program is not built"; exit 1; }
command -v gnuplot >/dev/null 2>&1 || skip_all 'gnuplot is not installed'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
reads_with_python=yes

xml() { # FILE: complains where it is no XML
  python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1" 2>&1 | tail -n 1
}

drawn() { # NAME TRACE OPTION...: draws $work/picture.svg, which is XML
  local name=$1 trace=$2 complaint said
  shift 2
  said=$("$program" "$trace" -o "$work/picture.svg" "$@" 2>&1) || complaint=$said
  complaint=${complaint:-$(xml "$work/picture.svg")}
  [ -z "$complaint" ]
  result $? "$name" "$complaint"
}

holds() { # NAME TEXT...: all of them are in the picture
  local name=$1 text missing=''
  shift
  for text in "$@"; do
    grep -qF -- "$text" "$work/picture.svg" || missing="$missing $text"
  done
  [ -z "$missing" ]
  result $? "$name" "missing:$missing"
}

# ---- a made-up trace: a host with two threads, a GPU with a stream and its copies -----------------------------------------

event() { # CATEGORY NAME PID TID BEGIN DURATION
  printf ',\n{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s}' "$@"
}
{
  printf '{"schemaVersion":1,"traceEvents":[{"ph":"M","name":"process_name","pid":7,"tid":0,"args":{"name":"CPU"}}'
  printf ',{"ph":"M","name":"thread_name","pid":7,"tid":1,"args":{"name":"main thread"}}'
  printf ',{"ph":"M","name":"thread_name","pid":7,"tid":2,"args":{"name":"loader thread"}}'
  printf ',{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"cuda:0 Some GPU"}}'
  printf ',{"ph":"M","name":"thread_name","pid":0,"tid":3,"args":{"name":"stream seven"}}'
  event user_annotation step 7 1 1e3 9000
  event cpu_op an_op 7 1 1100 4000
  event cuda_runtime cudaDeviceSynchronize 7 1 6000 4000.5
  event cpu_op loading 7 2 1000 2000
  event kernel a_kernel 0 3 2000 3000
  event kernel beside_it 0 3 2500 3000
  event gpu_memcpy a_copy 0 '"copies"' 1500 800
  printf ',\n{"ph":"s","id":1,"pid":7,"tid":1,"ts":1},{"ph":"C","name":"memory","pid":7,"ts":5,"args":{"bytes":1}}]}\n'
} >"$work/made.json"

drawn 'a trace' "$work/made.json"
holds 'every row, every range, the key' 'main thread' 'loader thread' 'cuda:0 Some GPU' 'stream seven' copies step an_op \
  cudaDeviceSynchronize loading a_kernel beside_it a_copy 'range of the program' kernel wait '7 of 7 ranges'
! grep -q -i simulated "$work/picture.svg"
result $? 'a real device is not called simulated'
says 'a PNG' 0 '7 ranges in 4 rows' "$program" "$work/made.json" -o "$work/picture.png" --theme dark
[ "$(head -c 8 "$work/picture.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] &&
  [ "$(od -An -j16 -N4 -tu1 "$work/picture.png" | tr -s ' ')" = ' 0 0 7 128' ]
result $? 'of 1920 pixels'
gzip -c "$work/made.json" >"$work/made.json.gz"
drawn 'packed by gzip' "$work/made.json.gz"
holds 'the same' 'main thread' a_kernel
drawn 'a part' "$work/made.json" --from 0.2 --to 1.2 --rows 'STREAM,copies' --width 1200 --title 'A <part> & "more"'
holds 'what is in it' a_kernel a_copy "A &lt;part> &amp; 'more'" 'stream seven' 'width="1200"'
! grep -qE 'main thread|loading' "$work/picture.svg"
result $? 'and nothing else'
drawn 'one level' "$work/made.json" --depth 1
holds 'which says that more is left out' 'deeper ones are left out' step
! grep -q an_op "$work/picture.svg"
result $? 'and leaves it out'

# ---- what the profiler writes -------------------------------------------------------------------------------------------------

"$build/chapters/14_profiling" --quick --device cuda --trace "$work/steps.json" >"$work/log" 2>&1
drawn "the profiler's own trace" "$work/steps.json" --width 4000
holds 'its rows; its device is simulated, twice' 'main' 'default stream' 'copies HtoD' 'cuda:0 Simulated' '(simulated)' \
  'Simulated device: a CPU did its work' ProfilerStep#3
sed 's/ (simulated)//g; s/Simulated CUDA device (CPU)/H100/; s/"device_times":"simulated"/"device_times":"none"/' \
  "$work/steps.json" >"$work/renamed.json"
drawn 'under another name' "$work/renamed.json"
holds 'it is simulated all the same' '(simulated)' 'Simulated device: a CPU did its work'

# ---- odd traces ---------------------------------------------------------------------------------------------------------------

odd() { # NAME TEXT: draws it
  printf '%s' "$2" >"$work/odd.json"
  drawn "$1" "$work/odd.json"
}
odd 'an array alone' '[{"ph":"X","ts":0,"dur":1}]'
odd 'no names, no rows' '[{"ph":"X","ts":0,"dur":0},{"ph":"X","ts":5,"dur":0,"pid":"a","tid":"b"}]'
odd 'texts that mean something elsewhere' '[{"ph":"X","ts":0,"dur":1000,"name":"\t\"; system(\"touch '"$work"'/owned\") # @ {/Symbol a} \\ \n <b>&amp; %s \u0001 \uFFFF \u202e"}]'
[ ! -e "$work/owned" ]
result $? 'and they mean nothing here'
odd 'times far apart' '[{"ph":"X","ts":-1e300,"dur":1},{"ph":"X","ts":1e300,"dur":1e3}]'
odd 'times beyond numbers' '[{"ph":"X","ts":0,"dur":1},{"ph":"X","ts":1e999,"dur":1},{"ph":"X","ts":0,"dur":-5}]'
odd 'values of any kind beside' '{"a":[1,{"b":null}],"traceEvents":[{"ph":"X","ts":1,"dur":2,"args":[1],"x":{"y":[true,-1.5e-3]}}],"z":false}'
awk 'BEGIN { printf "["; for (i = 0; i < 30000; i++) printf "%s{\"ph\":\"X\",\"ts\":%d,\"dur\":0.5,\"name\":\"n%d\"}", i ? "," : "", i, i; print "]" }' >"$work/many.json"
drawn 'thirty thousand short ranges' "$work/many.json"
[ "$(wc -c <"$work/picture.svg")" -lt 60000 ]
result $? 'drawn as few' "$(wc -c <"$work/picture.svg") bytes"
holds 'which the picture says' 'narrower than a pixel are drawn as one' '30000 of 30000'

# ---- what is refused ------------------------------------------------------------------------------------------------------------

refused() { # NAME TEXT WHAT-IS-SAID
  printf '%s' "$2" >"$work/bad.json"
  says "$1" 1 "$3" "$program" "$work/bad.json" -o "$work/none.svg"
}
refused 'an empty file' '' 'the file is empty: was the trace written to its end?'
refused 'no JSON' 'hello' "not a readable Chrome trace: at byte 0, expected '{'"
refused 'half a trace' "$(head -c 700 "$work/made.json")" 'not a readable Chrome trace: at byte'
refused 'another file of JSON' '{"grades":[]}' 'it has no "traceEvents"'
refused 'a trace without ranges' '{"traceEvents":[{"ph":"B","ts":1}]}' 'nothing to draw: of 1 events none is a range'
refused 'levels without end' "{\"a\":$(printf '[%.0s' {1..600})" 'at most 500 levels'
awk 'BEGIN { printf "["; for (i = 0; i < 200; i++) printf "%s{\"ph\":\"X\",\"ts\":0,\"dur\":9,\"tid\":%d}", i ? "," : "", i; print "]" }' >"$work/rows.json"
says 'too many rows' 1 'would be more than 2400 pixels high: --rows WORD,... leaves rows out' "$program" "$work/rows.json" -o "$work/none.svg"
{
  printf '{"traceEvents":['
  head -c 60000000 /dev/zero | tr '\0' ' '
  printf ']}'
} | gzip >"$work/blank.json.gz"
says 'a small file that unpacks to a large one' 1 'unpacks to more than 250 times its size' "$program" "$work/blank.json.gz" -o "$work/none.svg"
says 'a part after the end' 1 '--from 5000: the trace ends at 9.001 ms' "$program" "$work/made.json" --from 5000 -o "$work/none.svg"
says 'rows that are not there' 1 'one of these words: fpga' "$program" "$work/made.json" --rows fpga -o "$work/none.svg"
says 'no file' 1 'cannot be read: No such file' "$program" "$work/nowhere" -o "$work/none.svg"
says 'a folder' 1 'it is not a file' "$program" "$work" -o "$work/none.svg"
says 'nowhere to write' 1 "$work/no/where.svg" "$program" "$work/made.json" -o "$work/no/where.svg"
says 'no name for the picture' 2 'name the image' "$program" "$work/made.json"
says 'a picture of another kind' 2 'ends in .svg or .png' "$program" "$work/made.json" -o "$work/a.gif"
says 'a width that is none' 2 'a number from 400 to 4000' "$program" "$work/made.json" -o "$work/a.svg" --width wide
says 'an end before the begin' 2 'is not before' "$program" "$work/made.json" -o "$work/a.svg" --from 3 --to 2
says 'an unknown option' 2 'unknown option --paint' "$program" "$work/made.json" --paint 1
says 'help' 0 'usage: ./ferry timeline' "$program" --help
says 'without gnuplot' 1 'gnuplot-nox' env PATH=/nowhere "$program" "$work/made.json" -o "$work/none.svg"
mkdir "$work/bin"
printf '#!/bin/sh\necho "cannot draw today" >&2\nexit 1\n' >"$work/bin/gnuplot"
chmod +x "$work/bin/gnuplot"
says 'gnuplot fails' 1 'cannot draw today' env PATH="$work/bin:$PATH" "$program" "$work/made.json" -o "$work/none.svg"
[ ! -e "$work/none.svg" ] && [ -z "$(ls -A "$TMPDIR")" ]
result $? 'what is refused leaves no file behind' "$(ls -A "$TMPDIR")"

# ---- broken at random: drawn or refused, by a gnuplot that draws nothing ---------------------------------------------------------

printf '#!/bin/sh\necho picture >picture\n' >"$work/bin/gnuplot"
tr -d '\n' <"$work/steps.json" | head -c 6000 >"$work/whole"
tail -c 500 "$work/made.json" | tr -d '\n' >>"$work/whole"
seed=${SEED:-$RANDOM} bad=''
for i in $(seq 1 150); do
  LC_ALL=C awk -v seed="$seed$i" 'BEGIN { srand(seed) } {
    for (i = 0; i < 3; i++) {
      at = int(rand() * length($0)); n = int(rand() * 12)
      split("\"|{|}|[|]|,|:|\\|1e9|-|null|\"ph\":\"M\"|\xff|9999999999999999999|\\u0000", pieces, "|")
      $0 = substr($0, 1, at) (rand() < 0.8 ? pieces[1 + int(rand() * 15)] : substr($0, 1 + int(rand() * 3000), 300)) substr($0, at + 1 + n)
    }
    print
  }' <(cat "$work/made.json" | tr -d '\n') >"$work/broken.json"
  PATH="$work/bin:$PATH" "$program" "$work/broken.json" -o "$work/broken.svg" >"$work/log" 2>&1
  status=$?
  [ $status -le 1 ] || bad="$bad $seed$i:$status"
done
[ -z "$bad" ]
result $? 'broken traces are drawn or refused' "seed:status$bad $(tail -n 1 "$work/log")"
finish
