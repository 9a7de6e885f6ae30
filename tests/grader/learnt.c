// One sentence for each exercise: what somebody who solved it has learnt.
#include "commands.h"
#include <string.h>

static const struct {
  const char *id, *sentence;
} sentences[] = {
    {"", ""},
};

const char *learnt(const Exercise *e) {
  for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
    if (strcmp(sentences[i].id, e->id) == 0)
      return sentences[i].sentence;
  return e->title;
}
