// What is known of each kernel: one for all of its launches, with the places of the program that its warps came to.
#include "inspect/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/memory.h"
#include "inspect/program.h"
#include "inspect/replay.h"

#include "cudasim_launch.h"

static const char *only; // the kernel that is looked at; NULL: all are
static struct kernel **kernels;
static size_t kernel_count;

struct kernel *kernels_at(size_t i) {
  return i < kernel_count ? kernels[i] : NULL;
}

static const char *name_of(const struct cudasim_launch_request *request) {
  return request->name ? request->name : "kernel";
}

struct kernel *kernel_of(const struct cudasim_launch_request *request) {
  const char *name = name_of(request);
  for (size_t i = 0; i < kernel_count; i++)
    if (strcmp(kernels[i]->name, name) == 0)
      return kernels[i];
  kernels = inspect_resize(kernels, (kernel_count + 1) * sizeof(struct kernel *));
  struct kernel *k = kernels[kernel_count++] = inspect_allocate(sizeof *k);
  k->name = strdup(name);
  k->flow = flow_new();
  k->arrays = inspect_allocate((size_t)program_arrays() + 1);
  k->known_shared = inspect_allocate(program_shared_bytes() / MEMORY_WORD + 1);
  memcpy(k->grid, &request->grid, sizeof k->grid);
  memcpy(k->block, &request->block, sizeof k->block);
  k->dynamic_bytes = request->shared_bytes;
  return k;
}

void kernels_want(const char *name) {
  only = name;
}

// `fill` and `fill<float>` for a kernel template; without a name all.
bool kernel_is_wanted(const struct cudasim_launch_request *request) {
  const char *const name = name_of(request);
  const size_t length = only ? strlen(only) : 0;
  return length == 0 || (strncmp(name, only, length) == 0 && (name[length] == '\0' || name[length] == '<'));
}

static struct site *site_slot(const struct kernel *k, uint32_t key, bool shared) {
  for (uint32_t i = site_hash(key, shared);; i++) {
    struct site *site = &k->sites[i & (k->site_room - 1)];
    if (site->key == 0 || (site->key == key && site->shared == shared))
      return site;
  }
}

static void grow_sites(struct kernel *k) {
  struct site *old = k->sites;
  uint32_t room = k->site_room;
  k->site_room = room ? 2 * room : 256;
  k->sites = inspect_allocate(k->site_room * sizeof *k->sites);
  for (uint32_t i = 0; i < room; i++)
    if (old[i].key)
      *site_slot(k, old[i].key, old[i].shared) = old[i];
  free(old);
}

struct site *kernel_site_slow(struct kernel *k, uint32_t key, bool shared) {
  if (2 * k->site_count >= k->site_room)
    grow_sites(k);
  struct site *site = site_slot(k, key, shared);
  if (site->key == 0) {
    site->key = key;
    site->shared = shared;
    k->site_count++;
  }
  return site;
}

struct barrier *kernel_barrier_at(struct kernel *k, const char *file, int line) {
  struct barrier **end = &k->barriers;
  for (; *end; end = &(*end)->next)
    if ((*end)->line == line && strcmp((*end)->file, file) == 0)
      return *end;
  *end = inspect_allocate(sizeof **end);
  (*end)->file = file;
  (*end)->line = line;
  return *end;
}
