#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry grade --page: one HTML file without scripts and requests; what it says of a class; similar answers are found in spite of new
# names, and answers that are everybody's are not; no hidden test shows.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/../../grader/common.sh"
command -v python3 >/dev/null 2>&1 || skip_all 'python3, which reads the page, is not installed'
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp
class=$work/class
saxpy=tests/hidden/20_1_saxpy
learner() { # NAME, the answer to 3.1, and to 20.1
  mkdir -p "$class/$1"
  [ -z "$2" ] || cp "$2" "$class/$1/03_1_create_on_the_device.c"
  [ -z "${3:-}" ] || cp "$3" "$class/$1/20_1_saxpy.cu"
}
learner ada solutions/03_1_create_on_the_device.c solutions/20_1_saxpy.cu
learner bob tests/hidden/03_1_create_on_the_device/wrong_left.c $saxpy/wrong_down.cu
learner '<b>cy' tests/hidden/03_1_create_on_the_device/wrong_left.c $saxpy/right_fours.cu
learner dan solutions/03_1_create_on_the_device.c $saxpy/right_fours.cu
learner eve '' $saxpy/wrong_one_thread.cu
learner fay exercises/03_1_create_on_the_device.c solutions/20_1_saxpy.cu
learner gil solutions/03_1_create_on_the_device.c solutions/20_1_saxpy.cu
learner hal solutions/03_1_create_on_the_device.c solutions/20_1_saxpy.cu
# The answer of dan is cy's with other names, numbers, comments and blanks
sed -i -E 's@//.*@@; s/\bi\b/index/g; s/\bquads?\b/q/g; s/\bfirst\b/begin/g; s/\b127\b/63/g; s/\b128\b/64/g; s/^  /\t/' "$class/dan/20_1_saxpy.cu"

"$ferry" grade --class "$class" --only 3.1,20.1 --seed hidden-seed --json "$work/class.json" --page "$work/own.html" >"$work/out"
says 'a page of a file of results' 1 'points' "$ferry" grade --page "$work/page.html" "$work/class.json" --class "$class"
cmp -s "$work/own.html" "$work/page.html"
result $? 'is that of the grading' "$(diff "$work/own.html" "$work/page.html" | head -n 3)"

why=$(python3 - "$work/page.html" "$work/class.json" 2>&1 <<'END'
import html.parser, json, re, sys
text = open(sys.argv[1]).read()

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links, self.rows, self.text = set(), set(), set(), [], []
    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        attributes = dict(attributes)
        assert not {"src", "onclick", "style"} & set(attributes), attributes
        if "id" in attributes:
            self.ids.add(attributes["id"])
        if tag == "a":
            self.links.add(attributes["href"])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
    def handle_endtag(self, tag):
        if tag == "table":
            self.rows.append([])
    def handle_data(self, data):
        self.text.append(data)
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data
page = Page()
page.feed(text)
assert not page.tags & {"script", "img", "iframe", "link", "b"}, page.tags
assert page.links and all(l[0] == "#" and l[1:] in page.ids for l in page.links), page.links
assert not re.search(r"https?:|url\(|@import", text)
rows = {r[0].strip(): [c.strip() for c in r] for r in page.rows if r}
assert rows["ada"][1:] == ["2.00", "★", "★★★"], rows["ada"]
assert rows["eve"][2] == "–" and re.fullmatch(r"\d+/10", rows["eve"][3]) and "<b>cy" in rows, rows
stuck = [r for r in page.rows if len(r) == 5 and r[0].startswith("20.1")][0]
assert [c.strip() for c in stuck[1:3]] == ["8", "6"] and "grid size rounded down (1)" in stuck[4], stuck
made = [[c.strip() for c in r] for r in page.rows if len(r) == 5 and r[0].strip().isdigit()]
assert any(r[0] == "2" and r[1] == "tensor left on the CPU" and r[3] == "3.1" for r in made), made
similar = [[c.strip() for c in r] for r in page.rows if len(r) == 3 and " of " in r[2]]
assert [r[:2] for r in similar] == [["20.1", "<b>cy, dan"], ["3.1", "<b>cy, bob"]], similar
assert "A hint, not a proof" in text and "hidden-seed" not in text and "replay" not in text
shown, secrets = "".join(page.text), set()
for learner in json.load(open(sys.argv[2]))["learners"]:
    for exercise in learner["exercises"]:
        for test in exercise["tests"]:
            secrets |= {line.strip() for line in test.get("report", "").splitlines() if re.search("expected|input:", line)}
            secrets.add('"' + test["name"] + '"')
assert len(secrets) > 8 and not [s for s in secrets if s in shown], [s for s in secrets if s in shown]
END
)
result $? 'what it says' "$(tail -n 1 <<<"$why")"
says 'without the answers' 1 'points' "$ferry" grade --page "$work/page.html" "$work/class.json"
grep -q 'add <code>--class DIR' "$work/page.html"
result $? 'it says how to compare them'
finish
