#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry pack: folders that are no packs are refused with a reason and change nothing; a pack that is new has all its files, and so has the
# example. tests/nightly/test_pack.sh adds it.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 600
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/../../grader/common.sh"
pack=tests/grader/pack.sh
before=$(ls tests/hidden solutions exercises | cksum)

says 'without a command' 2 'usage: ./ferry pack new' "$ferry" pack
says 'help' 0 'ferry pack check DIR' "$ferry" pack --help
says 'a folder that is no pack' 2 'has no folder hidden/' "$ferry" pack add docs
says 'an address that leads nowhere' 2 'can be cloned' "$ferry" pack add "$work/nowhere.git"
says 'a pack that is not there' 2 'there is no pack "nothing"' "$ferry" pack remove nothing
says 'a name that is none' 2 'a name is a letter' "$ferry" pack new 20

changed() { # NAME TEXT COMMAND: the example with a change is refused, with this text
  rm -rf "$work/pack"
  cp -R docs/packs/image "$work/pack"
  (cd "$work/pack" && eval "$3")
  says "refused: $1" 2 "$2" "$ferry" pack add "$work/pack"
}
changed 'the name of an exercise of the course' 'hidden/20_1_saxpy: name it' 'mv hidden/image_2_flip hidden/20_1_saxpy'
changed 'two names' 'two names' 'mv hidden/image_2_flip hidden/photo_2_flip'
changed 'another ID' 'must contain .id = "image_2_flip"' 'sed -i s/\"image_2_flip\"/\"20_1_saxpy\"/ hidden/image_2_flip/check.c'
changed 'no solution' 'solutions/image_3_box_blur.cu is missing' 'rm solutions/image_3_box_blur.cu'
changed 'no driver' 'driver.cu is missing' 'rm hidden/image_1_grayscale/driver.cu'
changed 'a link' 'is a symbolic link' 'ln -s /etc/passwd hidden/image_1_grayscale/right_link.cu'
[ "$before" = "$(ls tests/hidden solutions exercises | cksum)" ]
result $? 'nothing has changed'

(cd "$work" && "$ferry" pack new sorting >"$work/out")
[ -f "$work/sorting/hidden/sorting_1_grayscale/check.c" ] && [ -f "$work/sorting/solutions/sorting_1_grayscale.cu" ] && ! grep -rq 'image[_.]1' "$work/sorting"
result $? 'a new pack' "$(cat "$work/out")"
for kind in right:3 wrong:6; do
  few=$(for folder in docs/packs/image/hidden/*; do
    [ "$(find "$folder" -name "${kind%:*}_*" | wc -l)" -ge "${kind#*:}" ] || echo "$folder"
  done)
  [ -z "$few" ]
  result $? "the example has at least ${kind#*:} ${kind%:*} answers for each exercise" "$few"
done

finish
