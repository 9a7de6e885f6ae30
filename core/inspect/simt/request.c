// One warp instruction's accesses: how many sectors of 32 bytes of global memory, or passes over the 32 banks of shared memory,
// it takes, and how many it would take if its bytes lay side by side.
#include "inspect/simt/counts.h"
#include "inspect/simt/replay.h"

enum { SECTOR = 32, BANKS = 32, BANK_BYTES = 4, ROW = BANKS * BANK_BYTES };

// Sorts what is sorted already most of the time.
static void sort(uint64_t *items, unsigned count) {
  for (unsigned i = 1; i < count; i++) {
    uint64_t item = items[i];
    unsigned j = i;
    for (; j > 0 && items[j - 1] > item; j--)
      items[j] = items[j - 1];
    items[j] = item;
  }
}

static unsigned unique(uint64_t *sorted, unsigned count) {
  unsigned kept = 1;
  for (unsigned i = 1; i < count; i++)
    if (sorted[i] != sorted[kept - 1])
      sorted[kept++] = sorted[i];
  return kept;
}

static void count_met(const struct site *site, uint64_t address, unsigned lanes) {
  if (counts_wanted && !site->shared)
    counts_met(address, lanes);
}

static void count_same(struct site *site, const uint64_t *sorted, unsigned lanes) {
  unsigned most = 1, here = 1;
  for (unsigned i = 1; i < lanes; i++) {
    if (sorted[i] != sorted[i - 1]) {
      count_met(site, sorted[i - 1], here);
      here = 0;
    }
    here++;
    most = here > most ? here : most;
  }
  count_met(site, sorted[lanes - 1], here);
  site->same += most;
  site->same_max = most > site->same_max ? most : site->same_max;
}

static unsigned sectors(const uint64_t *distinct, unsigned count, unsigned bytes) {
  uint64_t last = (uint64_t)-1;
  unsigned found = 0;
  for (unsigned i = 0; i < count; i++)
    for (uint64_t sector = distinct[i] / SECTOR; sector <= (distinct[i] + bytes - 1) / SECTOR; sector++)
      if (sector > last || last == (uint64_t)-1) {
        found++;
        last = sector;
      }
  return found;
}

static unsigned wavefronts(const uint64_t *distinct, unsigned count, unsigned bytes) {
  uint8_t words[BANKS] = {0};
  uint64_t last = (uint64_t)-1;
  unsigned most = 0;
  for (unsigned i = 0; i < count; i++)
    for (uint64_t word = distinct[i] / BANK_BYTES; word <= (distinct[i] + bytes - 1) / BANK_BYTES; word++)
      if (word > last || last == (uint64_t)-1) {
        unsigned in_bank = ++words[word % BANKS];
        most = in_bank > most ? in_bank : most;
        last = word;
      }
  return most;
}

// Bytes that are wanted, each once.
static unsigned distinct_bytes(const uint64_t *distinct, unsigned count, unsigned bytes) {
  unsigned sum = bytes;
  for (unsigned i = 1; i < count; i++) {
    uint64_t step = distinct[i] - distinct[i - 1];
    sum += step < bytes ? (unsigned)step : bytes;
  }
  return sum;
}

// What a modelled GPU wants to know besides, of `count` pieces of `bytes` each, of which `wanted` bytes are.
static void count_for_model(struct site *site, const uint64_t *pieces, unsigned count, unsigned bytes,
                            unsigned wanted) {
  uint64_t last = (uint64_t)-1;
  if (!counts_wanted)
    return;
  for (unsigned i = 0; i < count; i++) {
    for (uint64_t line = pieces[i] / ROW; line <= (pieces[i] + bytes - 1) / ROW; line++) {
      site->lines += line != last;
      last = line;
    }
    counts_touched(site->key, pieces[i] / SECTOR, (pieces[i] + bytes - 1) / SECTOR);
  }
  site->waves += wavefronts(pieces, count, bytes);
  site->bytes += wanted;
}

// The two requests that there are most of: one element for all lanes, and elements side by side.
static inline void compare(const uint64_t *addresses, unsigned lanes, unsigned bytes, uint64_t *apart,
                           uint64_t *beside) {
  uint64_t begin = addresses[0];
  for (unsigned i = 0; i < lanes; i++) {
    *apart |= addresses[i] ^ begin;
    *beside |= addresses[i] ^ (begin + (uint64_t)i * bytes);
  }
}

static bool count_simple(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes) {
  uint64_t begin = addresses[0], apart = 0, beside = 0;
  if (lanes == WARP) // a number that the compiler knows
    compare(addresses, WARP, bytes, &apart, &beside);
  else
    compare(addresses, lanes, bytes, &apart, &beside);
  if (apart && beside)
    return false;
  unsigned wanted = apart ? lanes * bytes : bytes;
  unsigned unit = site->shared ? ROW : SECTOR, step = site->shared ? BANK_BYTES : SECTOR;
  site->units += ((unsigned)(begin % step) + wanted + unit - 1) / unit;
  site->ideal += (wanted + unit - 1) / unit;
  if (!site->shared)
    count_for_model(site, &begin, 1, wanted, wanted); // one piece
  return true;
}

// A warp of 16 x 2 threads often wants two pieces: one for each half.
static bool count_halves(struct site *site, const uint64_t *addresses, unsigned bytes) {
  uint64_t first[2], end[2];
  for (unsigned half = 0; half < 2; half++) {
    uint64_t apart = 0, beside = 0;
    compare(addresses + half * (WARP / 2), WARP / 2, bytes, &apart, &beside);
    if (apart && beside)
      return false;
    first[half] = addresses[half * (WARP / 2)];
    end[half] = first[half] + (apart ? WARP / 2 * bytes : bytes);
  }
  const bool swap = first[1] < first[0];
  const uint64_t a = first[swap], a_end = end[swap], b = first[!swap], b_end = end[!swap];
  const bool same = first[0] == first[1] && end[0] == end[1];
  if (site->shared) { // in one pass, if they are the same words or of different banks
    if (a % BANK_BYTES || b % BANK_BYTES || a_end - a > ROW || (!same && (b < a_end || b_end - a / ROW * ROW > ROW)))
      return false;
    site->units += 1;
    site->ideal += 1;
    return true;
  }
  if (!same && b < a_end)
    return false;
  const unsigned wanted = (unsigned)(a_end - a + (same ? 0 : b_end - b));
  const uint64_t a_last = (a_end - 1) / SECTOR, b_last = (b_end - 1) / SECTOR, b_first = b / SECTOR;
  site->units += (unsigned)(a_last - a / SECTOR + 1);
  if (!same)
    site->units += (unsigned)(b_last - b_first + (b_first > a_last));
  site->ideal += (wanted + SECTOR - 1) / SECTOR;
  return true;
}

// ---- requests that stay within a few lines --------------------------------------------------------------------------------------

enum { SPAN = 8192, PER_WORD = 64 };

struct span {
  uint64_t begin;
  unsigned bytes, words;                // of an element; of `elements`
  uint64_t sectors[SPAN / SECTOR / 64]; // bits
  uint64_t elements[SPAN / 64];         // as many of these bits as there can be elements
};

// Puts the lanes' elements into sets of bits. False: they are not aligned, or lie farther apart.
static bool span_fill(struct span *s, const uint64_t *addresses, unsigned lanes, unsigned bytes) {
  uint64_t least = addresses[0], most = addresses[0], bits = addresses[0];
  for (unsigned i = 1; i < lanes; i++) {
    least = addresses[i] < least ? addresses[i] : least;
    most = addresses[i] > most ? addresses[i] : most;
    bits |= addresses[i];
  }
  s->begin = least / ROW * ROW;
  s->bytes = bytes;
  if (bits % bytes || most - s->begin >= SPAN)
    return false;
  const unsigned shift = (unsigned)__builtin_ctz(bytes);
  const uint64_t words = ((most - s->begin) >> shift) / PER_WORD + 1;
  memset(s->sectors, 0, sizeof s->sectors);
  memset(s->elements, 0, words * sizeof s->elements[0]);
  for (unsigned i = 0; i < lanes; i++) {
    const uint64_t at = addresses[i] - s->begin, element = at >> shift, sector = at / SECTOR;
    s->elements[element / PER_WORD] |= (uint64_t)1 << element % PER_WORD;
    s->sectors[sector / PER_WORD] |= (uint64_t)1 << sector % PER_WORD;
  }
  s->words = (unsigned)words;
  return true;
}

static unsigned bits_of(const uint64_t *words, unsigned count) {
  unsigned sum = 0;
  for (unsigned i = 0; i < count; i++)
    sum += (unsigned)__builtin_popcountll(words[i]);
  return sum;
}

static unsigned span_wavefronts(const struct span *s) {
  uint8_t in_bank[BANKS] = {0};
  unsigned most = 0;
  const unsigned banks = s->bytes <= BANK_BYTES ? 1 : s->bytes / BANK_BYTES;
  uint64_t last = (uint64_t)-1;
  for (unsigned w = 0; w < s->words; w++)
    for (uint64_t left = s->elements[w]; left; left &= left - 1) {
      const uint64_t at = ((uint64_t)w * PER_WORD + (unsigned)__builtin_ctzll(left)) * s->bytes / BANK_BYTES;
      for (unsigned b = 0; b < banks && at + b != last; b++) {
        const unsigned here = ++in_bank[(at + b) % BANKS];
        most = here > most ? here : most;
      }
      last = banks == 1 ? at : (uint64_t)-1;
    }
  return most;
}

static bool count_span(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes) {
  struct span s;
  if (counts_wanted && !site->shared)
    return false;
  if (lanes == WARP && count_halves(site, addresses, bytes))
    return true;
  if (!span_fill(&s, addresses, lanes, bytes))
    return false;
  const unsigned wanted = bits_of(s.elements, s.words) * bytes;
  const unsigned unit = site->shared ? ROW : SECTOR;
  site->units += site->shared ? span_wavefronts(&s) : bits_of(s.sectors, SPAN / SECTOR / 64);
  site->ideal += (wanted + unit - 1) / unit;
  return true;
}

// ---- the same as the last time ---------------------------------------------------------------------------------------------------

// In a loop most requests look like the one before, moved by some bytes: what they take is known then. In shared memory it does not
// depend on where the first one lies, in global memory on its place within a sector alone.
enum { PLACES = SECTOR / BANK_BYTES, MANY_MISSES = 64 };

enum { FOUR = 4 };
typedef uint64_t four_lanes __attribute__((vector_size(FOUR * sizeof(uint64_t)), aligned(8)));
struct four {
  four_lanes lanes;
};

struct pattern {
  struct four offset[WARP / FOUR]; // of each lane's address from the first one's
  uint64_t least, most;            // of the offsets
  uint64_t rest;                   // of the first address, divided by BANK_BYTES
  unsigned units[PLACES], ideal;   // 0 units: not counted yet
  unsigned misses;                 // in a row; after many nothing is compared any more
};

static unsigned place_of(const struct site *site, uint64_t first) {
  return site->shared ? 0 : (unsigned)(first % SECTOR / BANK_BYTES);
}

bool request_repeats(struct site *site, const struct lane *lanes, uint32_t at, uint64_t begin, uint64_t bytes) {
  struct pattern *p = site->pattern;
  if (p == NULL || p->misses >= MANY_MISSES)
    return false;
  const uint64_t first = lanes[0].addresses[at];
  struct four differ = {{first % BANK_BYTES ^ p->rest}};
  for (unsigned i = 0; i < WARP; i += FOUR) // written out, for which the compiler would take a slower instruction
    differ.lanes |= ((four_lanes){lanes[i].addresses[at], lanes[i + 1].addresses[at], lanes[i + 2].addresses[at],
                                  lanes[i + 3].addresses[at]} -
                     first) ^
                    p->offset[i / FOUR].lanes;
  const uint64_t differs = differ.lanes[0] | differ.lanes[1] | differ.lanes[2] | differ.lanes[3];
  const unsigned units = p->units[place_of(site, first)];
  if (differs || units == 0 || first + p->least - begin >= bytes || first + p->most - begin >= bytes)
    return false;
  p->misses = 0;
  site->units += units;
  site->ideal += p->ideal;
  return true;
}

static bool is_pattern(const struct pattern *p, const uint64_t *addresses) {
  uint64_t differs = p->rest ^ addresses[0] % BANK_BYTES;
  for (unsigned i = 1; i < WARP; i++)
    differs |= (addresses[i] - addresses[0]) ^ p->offset[i / FOUR].lanes[i % FOUR];
  return differs == 0;
}

static void begin_pattern(struct pattern *p, const uint64_t *addresses) {
  const unsigned misses = p->misses;
  int64_t least = 0, most = 0;
  *p = (struct pattern){.rest = addresses[0] % BANK_BYTES, .misses = misses + 1};
  for (unsigned i = 1; i < WARP; i++) {
    const int64_t offset = (int64_t)(addresses[i] - addresses[0]);
    least = offset < least ? offset : least;
    most = offset > most ? offset : most;
    p->offset[i / FOUR].lanes[i % FOUR] = (uint64_t)offset;
  }
  p->least = (uint64_t)least;
  p->most = (uint64_t)most;
}

static void remember(struct site *site, const uint64_t *addresses, uint64_t units, uint64_t ideal) {
  struct pattern *p = site->pattern;
  if (p == NULL)
    p = site->pattern = inspect_allocate(sizeof *p);
  if (p->misses >= MANY_MISSES)
    return;
  if (!is_pattern(p, addresses))
    begin_pattern(p, addresses);
  p->units[place_of(site, addresses[0])] = (unsigned)units;
  p->ideal = (unsigned)ideal;
}

// ---- any request -----------------------------------------------------------------------------------------------------------------

static void count_any(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes) {
  uint64_t sorted[WARP];
  for (unsigned i = 0; i < lanes; i++)
    sorted[i] = addresses[i];
  sort(sorted, lanes);
  if (is_atomic(site->key))
    count_same(site, sorted, lanes);
  unsigned count = unique(sorted, lanes), wanted = distinct_bytes(sorted, count, bytes);
  if (site->shared) {
    site->units += wavefronts(sorted, count, bytes);
    site->ideal += (wanted + ROW - 1) / ROW;
  } else {
    site->units += sectors(sorted, count, bytes);
    site->ideal += (wanted + SECTOR - 1) / SECTOR;
    count_for_model(site, sorted, count, bytes, wanted);
  }
}

void request_count(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes) {
  const uint64_t units = site->units, ideal = site->ideal;
  if (is_atomic(site->key)) {
    count_any(site, addresses, lanes, bytes);
    return;
  }
  if (!count_simple(site, addresses, lanes, bytes) && !count_span(site, addresses, lanes, bytes))
    count_any(site, addresses, lanes, bytes);
  if (lanes == WARP && (site->shared || !counts_wanted)) // a modelled GPU asks for each sector
    remember(site, addresses, site->units - units, site->ideal - ideal);
}
