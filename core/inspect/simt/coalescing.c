// SPDX-License-Identifier: MIT
// Coalescing and bank conflicts: how many 32-byte sectors of global memory, or wavefronts over the 32 banks of shared
// memory, a warp instruction takes, and how many it would take if its bytes were contiguous. Terms and rules are
// those of Nsight Compute.
#include "inspect/simt/counts.h"
#include "inspect/simt/simt_stack.h"

enum { SECTOR = 32, BANKS = 32, BANK_BYTES = 4, ROW = BANKS * BANK_BYTES };

// Insertion sort: the addresses are usually sorted already.
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

static void count_atomic(const struct site *site, uint64_t address, unsigned lanes) {
  if (counts_wanted && !site->shared)
    counts_atomic(address, lanes);
}

static void count_same(struct site *site, const uint64_t *sorted, unsigned lanes) {
  unsigned most = 1, here = 1;
  for (unsigned i = 1; i < lanes; i++) {
    if (sorted[i] != sorted[i - 1]) {
      count_atomic(site, sorted[i - 1], here);
      here = 0;
    }
    here++;
    most = here > most ? here : most;
  }
  count_atomic(site, sorted[lanes - 1], here);
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

// The bytes requested, each counted once.
static unsigned distinct_bytes(const uint64_t *distinct, unsigned count, unsigned bytes) {
  unsigned sum = bytes;
  for (unsigned i = 1; i < count; i++) {
    uint64_t step = distinct[i] - distinct[i - 1];
    sum += step < bytes ? (unsigned)step : bytes;
  }
  return sum;
}

// The L1 cache takes 8-byte elements of device memory by half warps, even if all lanes want the same one: gpu-benches' gpu-strides
// measured 2 wavefronts of a broadcast double on A100, A40 and H200.
static unsigned wavefronts_by_halves(const uint64_t *addresses) {
  enum { HALF = WARP / 2, BYTES = 8 };
  unsigned sum = 0;
  for (unsigned half = 0; half < 2; half++) {
    uint64_t sorted[HALF];
    memcpy(sorted, addresses + half * HALF, sizeof sorted);
    sort(sorted, HALF);
    sum += wavefronts(sorted, unique(sorted, HALF), BYTES);
  }
  return sum;
}

// A request, as the lanes have made it.
struct request {
  const uint64_t *addresses;
  unsigned lanes, bytes;
};

// Further counts for a modeled GPU: of `count` ranges of `bytes` bytes each, of which `wanted` bytes are distinct.
static void count_for_model(struct site *site, const struct request *request, const uint64_t *ranges, unsigned count,
                            unsigned bytes, unsigned wanted) {
  uint64_t last = (uint64_t)-1;
  if (!counts_wanted)
    return;
  for (unsigned i = 0; i < count; i++) {
    for (uint64_t line = ranges[i] / ROW; line <= (ranges[i] + bytes - 1) / ROW; line++) {
      site->lines += line != last;
      last = line;
    }
    counts_touched(site->event, ranges[i] / SECTOR, (ranges[i] + bytes - 1) / SECTOR);
  }
  site->waves += request->bytes == 8 && request->lanes == WARP ? wavefronts_by_halves(request->addresses)
                                                               : wavefronts(ranges, count, bytes);
  site->bytes += wanted;
}

// The two most frequent requests: one element for all lanes, and contiguous elements.
static inline void compare(const uint64_t *addresses, unsigned lanes, unsigned bytes, uint64_t *not_uniform,
                           uint64_t *not_contiguous) {
  uint64_t begin = addresses[0];
  for (unsigned i = 0; i < lanes; i++) {
    *not_uniform |= addresses[i] ^ begin;
    *not_contiguous |= addresses[i] ^ (begin + (uint64_t)i * bytes);
  }
}

static bool count_simple(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes) {
  uint64_t begin = addresses[0], not_uniform = 0, not_contiguous = 0;
  if (lanes == WARP) // a constant, so the loop is unrolled
    compare(addresses, WARP, bytes, &not_uniform, &not_contiguous);
  else
    compare(addresses, lanes, bytes, &not_uniform, &not_contiguous);
  if (not_uniform && not_contiguous)
    return false;
  unsigned wanted = not_uniform ? lanes * bytes : bytes;
  unsigned unit = site->shared ? ROW : SECTOR, step = site->shared ? BANK_BYTES : SECTOR;
  site->units += ((unsigned)(begin % step) + wanted + unit - 1) / unit;
  site->ideal += (wanted + unit - 1) / unit;
  if (!site->shared)
    count_for_model(site, &(struct request){addresses, lanes, bytes}, &begin, 1, wanted, wanted); // one range
  return true;
}

// A warp of a 16 x 2 block often requests two contiguous ranges, one per half-warp.
static bool count_halves(struct site *site, const uint64_t *addresses, unsigned bytes) {
  uint64_t first[2], end[2];
  for (unsigned half = 0; half < 2; half++) {
    uint64_t not_uniform = 0, not_contiguous = 0;
    compare(addresses + half * (WARP / 2), WARP / 2, bytes, &not_uniform, &not_contiguous);
    if (not_uniform && not_contiguous)
      return false;
    first[half] = addresses[half * (WARP / 2)];
    end[half] = first[half] + (not_uniform ? WARP / 2 * bytes : bytes);
  }
  const bool swap = first[1] < first[0];
  const uint64_t a = first[swap], a_end = end[swap], b = first[!swap], b_end = end[!swap];
  const bool same = first[0] == first[1] && end[0] == end[1];
  if (site->shared) { // one wavefront, if both halves access the same words, or different banks
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

// ---- requests within a small span ---------------------------------------------------------------------------------------

enum { SPAN = 8192, PER_WORD = 64 };

struct span {
  uint64_t begin;
  unsigned bytes, words;                // of an element; of `elements`
  uint64_t sectors[SPAN / SECTOR / 64]; // bit set
  uint64_t elements[SPAN / 64];         // bit set, with a bit per element of the span
};

// Enters the lanes' elements into the bit sets. False: they are not aligned, or too far not_uniform.
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

// ---- requests with the same pattern as the last one --------------------------------------------------------------------

// In a loop most requests equal the previous one, shifted by some bytes, so their cost is known. In shared memory it
// does not depend on the first address; in global memory only on its offset within a sector.
enum { POSITIONS = SECTOR / BANK_BYTES, MANY_MISSES = 64 };

enum { FOUR = 4 };
typedef uint64_t four_lanes __attribute__((vector_size(FOUR * sizeof(uint64_t)), aligned(8)));
struct four {
  four_lanes lanes;
};

struct pattern {
  struct four offset[WARP / FOUR];  // of each lane's address from the first lane's
  uint64_t least, most;             // of the offsets
  uint64_t rest;                    // the first address modulo BANK_BYTES
  unsigned units[POSITIONS], ideal; // 0 units: not counted yet
  unsigned misses;                  // in a row; after many, nothing is compared any more
};

static unsigned position_in_sector(const struct site *site, uint64_t first) {
  return site->shared ? 0 : (unsigned)(first % SECTOR / BANK_BYTES);
}

bool coalescing_repeats(struct site *site, const struct lane *lanes, uint32_t at, uint64_t begin, uint64_t bytes) {
  struct pattern *p = site->pattern;
  if (p == NULL || p->misses >= MANY_MISSES)
    return false;
  const uint64_t first = lanes[0].addresses[at];
  struct four differ = {{first % BANK_BYTES ^ p->rest}};
  for (unsigned i = 0; i < WARP; i += FOUR) // written out: the compiler's choice would be slower
    differ.lanes |= ((four_lanes){lanes[i].addresses[at], lanes[i + 1].addresses[at], lanes[i + 2].addresses[at],
                                  lanes[i + 3].addresses[at]} -
                     first) ^
                    p->offset[i / FOUR].lanes;
  const uint64_t differs = differ.lanes[0] | differ.lanes[1] | differ.lanes[2] | differ.lanes[3];
  const unsigned units = p->units[position_in_sector(site, first)];
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
  p->units[position_in_sector(site, addresses[0])] = (unsigned)units;
  p->ideal = (unsigned)ideal;
}

// ---- any request -----------------------------------------------------------------------------------------------------------------

static void count_any(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes) {
  uint64_t sorted[WARP];
  for (unsigned i = 0; i < lanes; i++)
    sorted[i] = addresses[i];
  sort(sorted, lanes);
  if (is_atomic(site->event))
    count_same(site, sorted, lanes);
  unsigned count = unique(sorted, lanes), wanted = distinct_bytes(sorted, count, bytes);
  if (site->shared) {
    site->units += wavefronts(sorted, count, bytes);
    site->ideal += (wanted + ROW - 1) / ROW;
  } else {
    site->units += sectors(sorted, count, bytes);
    site->ideal += (wanted + SECTOR - 1) / SECTOR;
    count_for_model(site, &(struct request){addresses, lanes, bytes}, sorted, count, bytes, wanted);
  }
}

void coalescing_count(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes) {
  const uint64_t units = site->units, ideal = site->ideal;
  if (is_atomic(site->event)) {
    count_any(site, addresses, lanes, bytes);
    return;
  }
  if (!count_simple(site, addresses, lanes, bytes) && !count_span(site, addresses, lanes, bytes))
    count_any(site, addresses, lanes, bytes);
  if (lanes == WARP && (site->shared || !counts_wanted)) // a modeled GPU needs each request's sectors
    remember(site, addresses, site->units - units, site->ideal - ideal);
}
