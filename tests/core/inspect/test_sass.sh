#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry inspect --sass: machine code beside the source line. A stand-in for nvdisasm prints a known listing; where the real one is
# installed, it prints that of a kernel.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/scale.cu" <<'END'
#include "twice.h"
template <int N> __global__ void scale(float *x) {
  for (int i = 0; i < N; i++)
    x[threadIdx.x * N + i] = twice(x[threadIdx.x * N + i]);
}
int main() {
  float *x;
  cudaMalloc(&x, 1024);
  cudaMemset(x, 0, 1024);
  scale<2><<<1, 32>>>(x);
  scale<4><<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}
END
printf '__device__ inline float twice(float x) {\n  return 2 * x;\n}\n' >"$work/twice.h"
inspect() { # OPTION...
  "$ferry" inspect "$work/scale.cu" --once --quiet --json "$work/json" "$@" >"$work/out" 2>&1
}
sass() { # KERNEL: line, address, instruction
  sed -nE "s/^\{\"type\": \"sass\", \"kernel\": \"$1\", \"line\": ([0-9]+), \"address\": ([0-9]+), \"instruction\": \"(.*)\"\}/\1 \2 \3/p" "$work/json"
}

# ---- what nobody has installed ----

mkdir "$work/empty"
if XDG_DATA_HOME=$work/empty "$ferry" doctor | grep -q 'ok.* nvdisasm '; then
  printf '# SKIP the toolkit has its own nvdisasm\n'
else
  XDG_DATA_HOME=$work/empty inspect --sass
  [ $? = 3 ] && grep -q './ferry doctor --nvcc' "$work/out"
  result $? 'without nvdisasm, --sass names the command that installs it' "$(tail -2 "$work/out")"
fi

# ---- a stand-in's listing ----

packages=$work/data/ferry/nvcc/lib/python3.11/site-packages/nvidia/cu13/bin
mkdir -p "$packages"
cat >"$work/listing" <<'END'
	.target	sm_90

//--------------------- .text._Z5scaleILi4EEvPf --------------------------
	.section	.text._Z5scaleILi4EEvPf,"ax",@progbits
.text._Z5scaleILi4EEvPf:
	//## File "/a/scale.cu", line 4
        /*0000*/                   S2R R1, SR_TID.X ;
.L_x_0:
	//## File "/a/twice.h", line 2 inlined at "/a/scale.cu", line 4
	//## File "/a/scale.cu", line 4
        /*0010*/                   FADD R1, R1, R1 ;
	//## File "/usr/include/other.h", line 3
        /*0020*/                   MOV R2, R1 ;
	//## File "/a/scale.cu", line 3
        /*0030*/              @!P0 BRA `(.L_x_0) ;
        /*0040*/                   NOP;
.L_x_2:

//--------------------- .text._Z5scaleILi2EEvPf --------------------------
	.section	.text._Z5scaleILi2EEvPf,"ax",@progbits
.text._Z5scaleILi2EEvPf:
        /*0000*/                   EXIT ;
        /*0010*/                   NOP;

//--------------------- SYMBOLS --------------------------
END
cat >"$packages/nvdisasm" <<END
#!/bin/sh
cat "$work/listing"
END
cat >"$packages/nvcc" <<'END'
#!/bin/sh
for kernel in '2 10 0 0' '4 20 24 8'; do
  set -- $kernel
  echo "ptxas info    : Compiling entry function '_Z5scaleILi$1EEvPf' for 'sm_90'"
  echo "    $3 bytes stack frame, $4 bytes spill stores, $4 bytes spill loads"
  echo "ptxas info    : Used $2 registers, used 0 barriers"
done >&2
END
chmod +x "$packages/nvdisasm" "$packages/nvcc"
if ! XDG_DATA_HOME=$work/empty "$ferry" doctor | grep -q 'absent  *nvdisasm '; then
  printf '# SKIP the listing of a stand-in: the toolkit has its own nvdisasm\n'
else
  XDG_DATA_HOME=$work/data inspect --sass
  want='4 0 S2R R1, SR_TID.X
4 16 FADD R1, R1, R1
0 32 MOV R2, R1
3 48 @!P0 BRA 0x10'
  [ "$(sass 'scale<4>')" = "$want" ]
  result $? 'each instruction has the line of the file, of inlined code that of the call; branches have their target' "$(sass 'scale<4>')"
  [ "$(sass 'scale<2>')" = '3 0 EXIT' ]
  result $? "a template's instance has its own code, and the line that was named before it" "$(sass 'scale<2>')"
  grep -A3 '^    4  x\[threadIdx' "$work/out" | grep -q '^         0010  FADD R1, R1, R1$' && ! grep -q NOP "$work/out"
  result $? 'the report shows it below its source line' "$(grep -A9 SASS "$work/out")"
  XDG_DATA_HOME=$work/data inspect --sass --html "$work/page.html"
  grep -q '<td class="code">  *x\[threadIdx.*<details><summary>2 SASS instructions, scale&lt;4&gt;</summary>0000  S2R' "$work/page.html"
  result $? 'the page has it at its line' "$(grep -c details "$work/page.html")"
fi
absent=$(XDG_DATA_HOME=$work/empty "$ferry" doctor | grep -c 'absent  *nvcc ')
if [ "$absent" = 0 ]; then
  printf "# SKIP registers of a stand-in: the toolkit's nvcc is used\n"
else
  XDG_DATA_HOME=$work/data inspect
  grep -q '"kernel": "scale<2>".*"registers": 10, "local_bytes": 0, "spill_bytes": 0' "$work/json" &&
    grep -q '"kernel": "scale<4>".*"registers": 20, "local_bytes": 24, "spill_bytes": 8' "$work/json"
  result $? "each instance of a template has its own registers and spills" "$(grep registers "$work/json")"
fi

# ---- the real one ----

if ! "$ferry" doctor | grep -q 'ok.* nvdisasm '; then
  printf '# SKIP real machine code: no nvdisasm (./ferry doctor --nvcc installs it)\n'
else
  inspect --sass
  sass 'scale<4>' | grep -q '^4 [0-9]* STG\.E' && [ "$(sass 'scale<4>' | grep -c STG)" = 4 ] && [ "$(sass 'scale<2>' | grep -c STG)" = 2 ]
  result $? "nvcc's stores stand at the line of the assignment" "$(sass 'scale<4>')"
  cp solutions/20_1_saxpy.cu "$work/20_1_saxpy.cu"
  "$ferry" inspect "$work/20_1_saxpy.cu" --once --sass >"$work/out" 2>&1
  grep -q '^         [0-9a-f]*  \(@P[0-9] \)*LDG' "$work/out"
  result $? 'an answer is compiled and disassembled in the sandbox' "$(tail -5 "$work/out")"
fi
finish
