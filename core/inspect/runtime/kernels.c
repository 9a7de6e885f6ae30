// SPDX-License-Identifier: MIT
// The kernels that were launched: one entry for all launches of a kernel, with the sites that its warps executed.
#include "inspect/runtime/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/shadow/memory.h"
#include "inspect/program.h"
#include "inspect/registers.h"
#include "inspect/simt/simt_stack.h"

#include "cudasim_launch.h"

static const char *only; // the kernel to instrument; NULL: all
static struct kernel **kernels;
static size_t kernel_count;

struct kernel *kernels_at(size_t i) {
  return i < kernel_count ? kernels[i] : NULL;
}

static const char *name_of(const struct cudasim_launch_request *request) {
  return request->name ? request->name : "kernel";
}

// If the program does not need the kernel's address, the launch function stands for it (cudasim_launch.h).
static const void *function_of(const struct cudasim_launch_request *request) {
  return request->function == (const void *)(uintptr_t)request->thread ? NULL : request->function;
}

static const char *parameters_of(const struct cudasim_launch_request *request) {
  return request->parameters ? request->parameters : "";
}

// Overloads share a name, and so may template instances: those with deduced arguments, or arguments that depend on
// another template.
static bool is_of(const struct kernel *k, const struct cudasim_launch_request *request) {
  const void *const function = function_of(request);
  return strcmp(k->launch, name_of(request)) == 0 &&
         (k->function && function ? k->function == function : strcmp(k->parameters, parameters_of(request)) == 0);
}

// "float *, int" of "const char* cudasim::parameters() [with P = {float*, int}]"
static void name_with_parameters(const struct kernel *k, char *name, size_t bytes) {
  static const char before[] = "P = {";
  const char *begin = strstr(k->parameters, before), *end = strrchr(k->parameters, '}');
  begin = begin && end ? begin + sizeof before - 1 : "";
  snprintf(name, bytes, "%s(%.*s)", k->launch, *begin ? (int)(end - begin) : 0, begin);
}

static void name_in_full(struct kernel *k) {
  char *name = k->function ? program_function(k->function) : NULL, text[512];
  if (k->name != k->launch)
    return;
  if (name == NULL)
    name_with_parameters(k, text, sizeof text);
  k->name = inspect_copy(name ? name : text, SIZE_MAX);
  free(name);
}

static void name(struct kernel *k) {
  bool alone = true;
  k->name = k->launch;
  for (size_t i = 0; i < kernel_count; i++)
    if (kernels[i] != k && strcmp(kernels[i]->launch, k->launch) == 0) {
      name_in_full(kernels[i]);
      alone = false;
    }
  if (!alone)
    name_in_full(k);
}

struct kernel *kernel_of(const struct cudasim_launch_request *request) {
  for (size_t i = 0; i < kernel_count; i++)
    if (is_of(kernels[i], request))
      return kernels[i];
  kernels = inspect_resize(kernels, (kernel_count + 1) * sizeof(struct kernel *));
  struct kernel *k = kernels[kernel_count++] = inspect_allocate(sizeof *k);
  k->launch = inspect_copy(name_of(request), SIZE_MAX);
  k->function = function_of(request);
  k->parameters = parameters_of(request);
  k->registers = registers_of(k->function ? program_symbol(k->function) : NULL, k->launch);
  name(k);
  k->flow = flow_new();
  k->arrays = inspect_allocate((size_t)program_arrays() + 1);
  k->known_shared = inspect_allocate(program_shared_bytes() / MEMORY_WORD + 1);
  memcpy(k->grid, &request->grid, sizeof k->grid);
  memcpy(k->block, &request->block, sizeof k->block);
  k->dynamic_bytes = request->shared_bytes;
  return k;
}

// ./ferry step numbers launches in the same way.
void kernel_count_launch(struct launch *launch, const struct cudasim_launch_request *request) {
  static uint32_t launches;
  launch->number = launches++;
  for (size_t i = 0; i < kernel_count; i++)
    launch->number_of_name +=
        strcmp(kernels[i]->launch, launch->kernel->launch) == 0 ? (uint32_t)kernels[i]->launches : 0;
  launch->kernel->launches++;
  memcpy(launch->grid, &request->grid, sizeof launch->grid);
}

void kernels_want(const char *name) {
  only = name;
}

// A kernel template's name stands for all its instances: `fill` includes `fill<float>`. Without a name: all kernels.
bool kernel_is_wanted(const struct cudasim_launch_request *request) {
  const char *const name = name_of(request);
  const size_t length = only ? strlen(only) : 0;
  return length == 0 || (strncmp(name, only, length) == 0 && (name[length] == '\0' || name[length] == '<'));
}

static struct site *site_slot(const struct kernel *k, uint32_t event, bool shared) {
  for (uint32_t i = site_hash(event, shared);; i++) {
    struct site *site = &k->sites[i & (k->site_room - 1)];
    if (site->event == 0 || (site->event == event && site->shared == shared))
      return site;
  }
}

static void grow_sites(struct kernel *k) {
  struct site *old = k->sites;
  uint32_t room = k->site_room;
  k->site_room = room ? 2 * room : 256;
  k->sites = inspect_allocate(k->site_room * sizeof *k->sites);
  for (uint32_t i = 0; i < room; i++)
    if (old[i].event)
      *site_slot(k, old[i].event, old[i].shared) = old[i];
  free(old);
}

struct site *kernel_site_slow(struct kernel *k, uint32_t event, bool shared) {
  if (2 * k->site_count >= k->site_room)
    grow_sites(k);
  struct site *site = site_slot(k, event, shared);
  if (site->event == 0) {
    site->event = event;
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
