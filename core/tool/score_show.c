// SPDX-License-Identifier: MIT
// What a learner sees of a score.
#include "tool/commands.h"
#include "grader/score.h"
#include "tool/print/term.h"
#include <stdio.h>
#include <string.h>

void score_print(const Scored *s, const Score *score) {
  char yours[32], naive[32], reference[32], stars[MAX_STARS + 1], text[512];
  score_time(yours, sizeof yours, score->seconds);
  score_time(naive, sizeof naive, s->naive);
  score_time(reference, sizeof reference, s->reference);
  score_stars(stars, sizeof stars, s, score->stars);
  char first[64];
  printf("\n");
  snprintf(first, sizeof first, "  %s%s%s", style(BOLD), yours, style(PLAIN));
  snprintf(text, sizeof text, " on %s, %s: modeled, not measured", score_gpu(s), s->size);
  term_paragraph(stdout, first, 2 + (int)strlen(yours), text);
  snprintf(text, sizeof text, "%.2f times as fast as the original file (%s), %.2f times as fast as the reference (%s)",
           s->naive / score->seconds, naive, s->reference / score->seconds, reference);
  term_paragraph(stdout, "  ", 2, text);
  snprintf(text, sizeof text, "limited by: %s", score->limit);
  term_paragraph(stdout, "  ", 2, text);
  printf("  stars: %s%s%s", style(YELLOW), stars, style(PLAIN));
  if (score->stars < score_most_stars(s))
    printf("   the next star at %.2f times as fast as the original file", s->steps[score->stars]);
  printf("\n");
}
