#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What editors take from Ferry: findings as gcc's warnings and as SARIF, the files of VS Code in the workspace, the debug adapter.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 120
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
reads_with_python=1
export FERRY_WORK=$work/mine
file=chapters/kernels/broken/race.cu

"$ferry" inspect $file --no-registers --gcc --sarif "$work/sarif" >"$work/out" 2>&1
status=$?
line=$(grep -n 'chunk\[t\] = in\[t\];' $file | cut -d : -f 1)
[ $status = 1 ] && grep -qE "^$file:$line:3: warning: data race within a block in neighbors: .* \[race-block\]$" "$work/out" &&
  grep -qxF "$file:$((line + 1)):3: note: the other access" "$work/out" &&
  ! grep -qvE '^[^:]+:[0-9]+:[0-9]+: (warning|note): ' "$work/out"
result $? 'each line is in the format of gcc' "status $status: $(head -n 2 "$work/out")"
why=$(python3 -c 'import json, sys
log, (file, line) = json.load(open(sys.argv[1])), sys.argv[2:]
assert log["version"] == "2.1.0" and len(log["runs"]) == 1, log
rules = [r["id"] for r in log["runs"][0]["tool"]["driver"]["rules"]]
results = log["runs"][0]["results"]
assert sorted(r["ruleId"] for r in results) == sorted(rules) == ["race-block", "race-warp"], rules
for r in results:
    place = r["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == file and place["region"] == {"startLine": int(line), "startColumn": 3}, place
    other = r["relatedLocations"][0]["physicalLocation"]["region"]
    assert r["level"] == "error" and other["startLine"] == int(line) + 1, r
    assert r["properties"]["step"].startswith("./ferry step " + file), r' "$work/sarif" $file "$line" 2>&1)
result $? 'SARIF has the findings at their lines' "$why"
cp chapters/kernels/broken/bounds.cu "$work/a file.cu"
"$ferry" inspect "$work/a file.cu" --no-registers --gcc --sarif - 2>/dev/null >"$work/sarif"
grep -qF "\"uri\": \"file://$work/a%20file.cu\"" "$work/sarif"
result $? 'an absolute path is a URI, and - is standard output' "$(grep -o '"uri": "[^"]*"' "$work/sarif" | head -n 1)"
printf '__global__ void k(int *x) { *x = 1; }\nint main() { int *x; cudaMalloc(&x, 4); k<<<1, 1>>>(x); cudaDeviceSynchronize(); cudaFree(x); }\n' >"$work/right.cu"
"$ferry" inspect "$work/right.cu" --no-registers --gcc --sarif "$work/sarif" >"$work/out" 2>&1
status=$?
why=$(python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["runs"][0]["results"] == []' "$work/sarif" 2>&1) && [ $status = 0 ] && [ ! -s "$work/out" ]
result $? 'without findings there is no line and no result' "status $status: $(head -n 2 "$work/out") $why"

# ---- the workspace ---------------------------------------------------------------------------------------------------------------

mkdir -p "$FERRY_WORK/.vscode"
echo '{ "mine": true }' >"$FERRY_WORK/.vscode/settings.json"
says 'the first start says where it stands how to link the debug adapter' 0 'extension once: docs/editors.md' "$ferry" start
! "$ferry" start | grep -q vscode
result $? 'and says so once'
[ "$(cat "$FERRY_WORK/.vscode/settings.json")" = '{ "mine": true }' ]
result $? 'a file that is there stays as it is'
rm "$FERRY_WORK/.vscode/settings.json" && "$ferry" start >/dev/null
extension=$PWD/core/step/vscode/package.json
why=$(cd "$FERRY_WORK/.vscode" && python3 -c 'import json, os, sys
launch, tasks, settings, extension = (json.load(open(f)) for f in ["launch.json", "tasks.json", "settings.json", sys.argv[1]])
debugger, = extension["contributes"]["debuggers"]
configuration, = launch["configurations"]
assert configuration["type"] == debugger["type"], configuration
keys = debugger["configurationAttributes"]["launch"]["properties"]
assert set(configuration) - {"name", "type", "request"} <= set(keys), configuration
for task in tasks["tasks"]:
    assert os.access(task["command"], os.X_OK), task
for folder in settings["C_Cpp.default.includePath"]:
    assert os.path.isdir(folder), folder' "$extension" 2>&1)
result $? 'what VS Code reads names programs, folders and a debug type that there are' "$why"
ln -s "$PWD/core/step/vscode" "$work/extension"
request='{"seq": 1, "type": "request", "command": "initialize", "arguments": {}}'
output=$(printf 'Content-Length: %d\r\n\r\n%s' ${#request} "$request" | timeout 20 "$work/extension/adapter")
[[ $output == *'"supportsStepBack": true'* ]]
result $? 'the adapter answers through the link' "${output:0:200}"
finish
