#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every C line in a table of a lesson (PyTorch's words beside Ferry's) compiles: a learner copies it from there.
# run check:
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${FERRY_BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What the cells speak of. A name that is not here is declared here with the type that the lesson gives it.
prelude() {
  cat <<'END'
#include "ferry.h"
#include <stdio.h>
#pragma GCC diagnostic ignored "-Wunused"
#pragma GCC diagnostic ignored "-Wunused-value"
static FyDevice device;
static FyTensor *a, *b, *c, *x, *y, *t, *loss;
static FyModule *model, *ddp, *criterion;
static struct { FyModule base, *fc1; FyTensor *scale, *mean; } *net;
static FyFunction *function;
static FyFunctionCall *call;
static FyFunctionForward *forward;
static FyFunctionBackward *backward;
static FyDataset *d, *dataset;
static FyStream *s, *other;
static FyEvent *event, *begin, *end;
static FyTensor *weight, *bias, *target, *inputs, *targets, *output, *outputs, *labels;
static double lr;
static bool was;
static int64_t i;
static FyDataLoader *loader;
static FySampler *sampler;
static FyTransform *transform;
static FyOptimizer *optimizer;
static FyScheduler *scheduler;
static FySchedulerState counted;
static FyTensorList *state;
static FyRngState drawn;
static FyGradScaler *scaler;
static int64_t n, count, t_max, e;
static bool use_amp;
static const char *path, *root;
END
}

# A line "PAGE ROW CODE" for each piece of C in a table: a cell's `...` that has fy_ in it. Two in a cell are two.
cells() {
  awk '/^```/ { listing = !listing } !listing && /^\|/ {
    row = $0
    while (match(row, /`[^`]*fy_[^`]*`/)) {
      print FILENAME "\t" FNR "\t" substr(row, RSTART + 1, RLENGTH - 2)
      row = substr(row, RSTART + RLENGTH)
    }
  }' "$@"
}

# Ellipses stand for what the reader puts there: nothing, as far as the compiler is concerned.
as_function() { # NUMBER PAGE ROW CODE
  local code=$4
  code=${code//...,/}
  code=${code//, .../}
  code=${code//.../;}
  code=${code//\\|/|}
  case $code in
  *'{'*'}' | *';') ;;
  *) code="$code;" ;;
  esac
  printf 'static void cell_%s(void) {\n#line %s "%s"\n%s\n}\n' "$1" "$3" "$2" "$code"
}

# Names alone (`fy_scatter`, `fy_scope`) are looked up: a function is an expression, a macro has a definition.
name_exists() { # NAME
  grep -rqE "(^#define $1\b|\b$1\()" core --include='*.h'
}

translate() { # PAGE...: writes $work/tables.c; returns 1 where a name is nowhere
  local n=0 page row code missing=0
  prelude >"$work/tables.c"
  while IFS=$'\t' read -r page row code; do
    n=$((n + 1))
    if [[ $code =~ ^fy_[a-z0-9_]+$ ]]; then
      name_exists "$code" || {
        echo "# $page:$row: there is no $code"
        missing=1
      }
    elif [[ $code =~ ^fy_ || $code =~ =\ *fy_ || $code =~ \(fy_ ]]; then
      as_function "$n" "$page" "$row" "$code" >>"$work/tables.c"
    fi
  done < <(cells "$@")
  echo "# $n pieces of C in tables"
  return $missing
}

compiles() { # PAGE...: the tables of these pages
  translate "$@" >"$work/said" || {
    cat "$work/said"
    return 1
  }
  ${CC:-gcc} -std=c17 -D_GNU_SOURCE -Icore -I"$build/include" -Ibuild/include -Werror -fsyntax-only "$work/tables.c" >"$work/errors" 2>&1 ||
    {
      grep -E 'error|warning' "$work/errors" | head -20 | sed 's/^/# /'
      return 1
    }
}

if compiles docs/[0-9]*.md; then
  echo 'ok every C line of the tables compiles'
else
  echo 'not ok every C line of the tables compiles - see above'
fi

printf '| `x.cuda()` | `fy_cuda(x, 1, 2, 3)` |\n' >"$work/page.md"
if compiles "$work/page.md" >"$work/out"; then
  echo 'not ok a line that does not compile is found - it was not'
else
  echo 'ok a line that does not compile is found'
fi
printf '| `x.cuda()` | `fy_kuda` |\n' >"$work/page.md"
if compiles "$work/page.md" >"$work/out"; then
  echo 'not ok a name that is nowhere is found - it was not'
else
  echo 'ok a name that is nowhere is found'
fi
