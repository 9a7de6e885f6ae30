#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# chapters/get_data.sh with a table and files of this test's own: what is fetched, what is refused, what is left behind.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
command -v curl >/dev/null 2>&1 || skip_all 'curl, which reads the files served here, is not installed'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/served/bin" "$work/to"
echo pictures >"$work/served/images.gz"
echo batch >"$work/served/bin/batch.bin"
tar -czf "$work/served/set.tar.gz" -C "$work/served" bin
sum() {
  sha256sum "$work/served/$1" | cut -d ' ' -f 1
}
address=file://$work/served
cat >"$work/table" <<END
# two data sets
small $(sum images.gz) small $address/images.gz
packed $(sum set.tar.gz) packed $address/set.tar.gz
gone $(sum images.gz) gone $address/nothing.gz
other $(sum set.tar.gz) other $address/images.gz
END
data() {
  FERRY_DATA_SETS=$work/table FERRY_DATA=$work/to chapters/get_data.sh "$@"
}

says 'without a data set it says what to type' 2 'one of: small packed gone other' data
says 'the help' 0 '--check' data --help
says 'a name that is none' 1 'smal is no data set; these are: small packed gone other' data smal
says 'an option that is none' 1 '--bogus is no option' data --bogus
says 'what is missing is said' 1 "missing    $work/to/small/images.gz" data --check small
[ ! -e "$work/to/small" ]
result $? 'and checking makes no folder'
says 'a file is fetched' 0 "fetched    $work/to/small/images.gz" data small
cmp -s "$work/served/images.gz" "$work/to/small/images.gz"
result $? 'as it was served'
says 'and left alone when it is there' 0 "there      $work/to/small/images.gz" data small
echo damaged >"$work/to/small/images.gz"
says 'but not when it is damaged' 0 "fetched    $work/to/small/images.gz" data small
says 'an archive is unpacked' 0 "fetched    $work/to/packed/set.tar.gz" data packed
cmp -s "$work/served/bin/batch.bin" "$work/to/packed/bin/batch.bin"
result $? 'whole'
rm "$work/to/packed/bin/batch.bin"
says 'and unpacked again when something of it is gone' 0 fetched data packed
says 'a file with another sum is thrown away' 1 'is not the file it should be' data other
says 'an address without a file' 1 'could not be fetched' data gone
[ -z "$(find "$work/to" -name '*.part')" ] && [ ! -e "$work/to/other/images.gz" ]
result $? 'and nothing of either stays' "$(find "$work/to")"
says 'another folder is named for the library' 0 "Set FERRY_DATA=$work/else" data small --to "$work/else"
says 'all that is there' 0 there data --check small packed

# The table that comes with Ferry.
[ -z "$(grep -vE '^(#.*|[a-z0-9-]+ [0-9a-f]{64} [a-z0-9-]+ https://[^ ]+)$' chapters/data_sets.txt)" ]
result $? 'each line has a name, a SHA-256, a folder and an address with https'
finish
