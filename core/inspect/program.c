// SPDX-License-Identifier: MIT
// Symbols and segments of the running program: its load address, its shared arrays (thread-local variables), its
// other variables.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/program.h"

// A redzone after the kernels' shared arrays (the linker keeps the order of the files): an access past the end of the
// last array is detected, and damages nothing of the simulator's.
_Alignas(64) __thread char inspect_redzone[65536];

uint64_t program_loaded_at;
static uint64_t data_begin, data_bytes;
static size_t thread_local_bytes;
static struct array *arrays;
static int array_count;

// Variables that __constant__ and __managed__ put into sections of their own (cudasim_abi.h).
struct ranges {
  struct range {
    uint64_t begin, bytes;
  } * items;
  int count;
};
static struct ranges constants, managed;

// A program counter must fit into an event id, together with the kind.
enum { MOST_CODE = 1 << (32 - KIND_BITS) };

static int find_parts(struct dl_phdr_info *info, size_t size, void *found) {
  (void)size;
  if (*(bool *)found) // the first one is the program
    return 1;
  *(bool *)found = true;
  program_loaded_at = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && part->p_flags & PF_X && part->p_vaddr + part->p_memsz > MOST_CODE) {
      fprintf(stderr, "ferry inspect: the program has more than %d MB of code\n", MOST_CODE >> 20);
      exit(1);
    }
    if (part->p_type == PT_TLS) {
      thread_local_bytes = part->p_memsz;
    } else if (part->p_type == PT_LOAD && part->p_flags & PF_W) {
      data_begin = info->dlpi_addr + part->p_vaddr;
      data_bytes = part->p_memsz;
    }
  }
  return 0;
}

static uint8_t *volatiles; // a bit per program counter; pages that are not touched take no memory

void program_has_volatile(uint32_t pc) {
  if (volatiles == NULL)
    volatiles = inspect_allocate(MOST_CODE / 8);
  volatiles[pc / 8] |= (uint8_t)(1 << pc % 8);
}

bool program_is_volatile(uint32_t pc) {
  return volatiles && volatiles[pc / 8] >> pc % 8 & 1;
}

static uint8_t *members; // per program counter; pages that are not touched take no memory

void program_has_member(uint32_t pc, unsigned whole) {
  if (members == NULL)
    members = inspect_allocate(MOST_CODE);
  members[pc] = (uint8_t)whole;
}

unsigned program_member_of(uint32_t pc) {
  return members ? members[pc] : 0;
}

// offset of the redzone in the program's thread-local segment, from the symbol table
static size_t redzone_offset;

char *program_shared(void) {
  return inspect_redzone - redzone_offset;
}

size_t program_shared_bytes(void) {
  return redzone_offset + sizeof inspect_redzone;
}

static bool is_in(const struct ranges *ranges, uint64_t address) {
  for (int i = 0; i < ranges->count; i++)
    if (address - ranges->items[i].begin < ranges->items[i].bytes)
      return true;
  return false;
}

bool program_has_data(uint64_t address, uint64_t *first, uint64_t *bytes) {
  *first = data_begin;
  *bytes = data_bytes;
  return address - data_begin < data_bytes && !is_in(&constants, address);
}

static uint64_t constants_begin, constants_end; // of all of them together

static void span_constants(void) {
  constants_begin = constants.count ? UINT64_MAX : 0;
  for (int i = 0; i < constants.count; i++) {
    const struct range *r = &constants.items[i];
    constants_begin = r->begin < constants_begin ? r->begin : constants_begin;
    constants_end = r->begin + r->bytes > constants_end ? r->begin + r->bytes : constants_end;
  }
}

bool program_is_constant(uint64_t address, size_t *offset) {
  *offset = address - constants_begin;
  return address - constants_begin < constants_end - constants_begin && is_in(&constants, address);
}

size_t program_constant_bytes(void) {
  return constants_end - constants_begin;
}

bool program_has_managed(void) {
  return managed.count > 0;
}

bool program_is_managed(uint64_t address) {
  return is_in(&managed, address);
}

// "tile" of _ZZ9transposePfPKfiiE4tile: the last identifier, which its length precedes.
static char *short_name(const char *symbol) {
  size_t length = strlen(symbol);
  for (size_t cut = length; cut > 0; cut--) {
    if (cut < length && symbol[cut] != '_') // a number may follow: name_0
      continue;
    for (size_t begin = cut; begin-- > 1;) {
      size_t number = begin;
      while (number > 0 && symbol[number - 1] >= '0' && symbol[number - 1] <= '9')
        number--;
      if (number < begin && (size_t)strtoul(symbol + number, NULL, 10) == cut - begin)
        return inspect_copy(symbol + begin, cut - begin);
    }
  }
  return inspect_copy(symbol, SIZE_MAX);
}

static void add_array(const char *name, const ElfW(Sym) * symbol) {
  arrays = inspect_resize(arrays, (size_t)(array_count + 1) * sizeof *arrays);
  arrays[array_count++] =
      (struct array){short_name(name), symbol->st_value, symbol->st_size, strncmp(name, "_ZGV", 4) == 0};
}

// ---- the instrumented version of a kernel (instrument/dual_version.c) ---------------------------------------------------

struct instrumented_copy {
  const char *symbol;
  uint64_t address;
};
static struct instrumented_copy *instrumented;
static int instrumented_count;

// cudasim::closure<...>::inspected(void const*)
static void add_instrumented(const char *name, const ElfW(Sym) * symbol) {
  static const char begin[] = "_ZN7cudasim7closureI", end[] = "9inspectedEPKv";
  const size_t length = strlen(name);
  if (strncmp(name, begin, sizeof begin - 1) != 0 || length < sizeof begin + sizeof end ||
      strcmp(name + length - (sizeof end - 1), end) != 0)
    return;
  instrumented = inspect_resize(instrumented, (size_t)(instrumented_count + 1) * sizeof *instrumented);
  instrumented[instrumented_count++] =
      (struct instrumented_copy){inspect_copy(name, length), program_loaded_at + symbol->st_value};
}

void (*cudasim_inspected(const char *type))(const void *closure);
void (*cudasim_inspected(const char *type))(const void *closure) {
  const size_t length = strlen(type);
  for (int i = 0; i < instrumented_count; i++)
    if (strncmp(instrumented[i].symbol + 2, type, length - 1) == 0 &&
        strcmp(instrumented[i].symbol + length + 1, "9inspectedEPKv") == 0)
      return (void (*)(const void *))(uintptr_t)instrumented[i].address;
  fprintf(stderr, "ferry inspect: there is no instrumented version of %s. Run it without --blocks.\n", type);
  abort(); // leaves no record
}

static const char *file; // the program's, mapped

static void read_symbols(const ElfW(Shdr) * sections, const ElfW(Shdr) * table) {
  const ElfW(Sym) *symbols = (const ElfW(Sym) *)(const void *)(file + table->sh_offset);
  const char *names = file + sections[table->sh_link].sh_offset;
  for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
    if (ELF64_ST_TYPE(symbols[i].st_info) == STT_TLS) {
      const char *name = names + symbols[i].st_name;
      if (strcmp(name, "inspect_redzone") == 0)
        redzone_offset = symbols[i].st_value;
      else if (symbols[i].st_size > 0)
        add_array(name, &symbols[i]);
    } else if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_value) {
      add_instrumented(names + symbols[i].st_name, &symbols[i]);
    }
}

static void note_sections(const ElfW(Ehdr) * head, const char *prefix, struct ranges *ranges) {
  const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(const void *)(file + head->e_shoff);
  const char *names = file + sections[head->e_shstrndx].sh_offset;
  for (int i = 0; i < head->e_shnum; i++)
    if (strncmp(names + sections[i].sh_name, prefix, strlen(prefix)) == 0) {
      ranges->items = inspect_resize(ranges->items, (size_t)(ranges->count + 1) * sizeof *ranges->items);
      ranges->items[ranges->count++] = (struct range){program_loaded_at + sections[i].sh_addr, sections[i].sh_size};
    }
}

static int by_offset(const void *a, const void *b) {
  const struct array *x = a, *y = b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static const char *map_file(void) {
  int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (self < 0) // in the sandbox there is no /proc
    self = open((const char *)(uintptr_t)getauxval(AT_EXECFN), O_RDONLY | O_CLOEXEC);
  struct stat status;
  void *mapped = MAP_FAILED;
  if (self >= 0 && fstat(self, &status) == 0)
    mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, self, 0);
  if (mapped == MAP_FAILED) {
    fprintf(stderr, "ferry inspect: the program cannot read its own symbols from its file\n");
    exit(1);
  }
  close(self);
  return mapped;
}

void program_read(void) {
  bool found = false;
  dl_iterate_phdr(find_parts, &found);
  file = map_file();
  const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)file;
  const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(const void *)(file + head->e_shoff);
  for (int i = 0; i < head->e_shnum; i++)
    if (sections[i].sh_type == SHT_SYMTAB)
      read_symbols(sections, &sections[i]);
  note_sections(head, "cudasim_constant_", &constants);
  note_sections(head, "cudasim_managed_", &managed);
  span_constants();
  if (array_count)
    qsort(arrays, (size_t)array_count, sizeof *arrays, by_offset);
  while (array_count > 0 && arrays[array_count - 1].offset > redzone_offset) // variables of the simulator's
    free(arrays[--array_count].name);
}

// The mangled name of the function at this address of the file; NULL: it has no symbol.
static const char *symbol_at(const ElfW(Shdr) * sections, const ElfW(Shdr) * table, uint64_t address) {
  const ElfW(Sym) *symbols = (const ElfW(Sym) *)(const void *)(file + table->sh_offset);
  for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
    if (symbols[i].st_value == address && ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
      return file + sections[table->sh_link].sh_offset + symbols[i].st_name;
  return NULL;
}

const char *program_symbol(const void *function) {
  const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)file;
  const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(const void *)(file + head->e_shoff);
  const char *mangled = NULL;
  for (int i = 0; i < head->e_shnum && !mangled; i++)
    if (sections[i].sh_type == SHT_SYMTAB)
      mangled = symbol_at(sections, &sections[i], (uint64_t)(uintptr_t)function - program_loaded_at);
  return mangled;
}

char *__cxa_demangle(const char *mangled, char *buffer, size_t *bytes, int *status); // NOLINT: of the C++ library

char *program_function(const void *function) {
  const char *mangled = program_symbol(function);
  char *text = mangled ? __cxa_demangle(mangled, NULL, NULL, NULL) : NULL;
  if (text && strncmp(text, "void ", 5) == 0) // only the names of template instances begin with the result type
    memmove(text, text + 5, strlen(text + 5) + 1);
  return text;
}

char *program_variable(uint64_t address, uint64_t *first, uint64_t *bytes) {
  const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)file;
  const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(const void *)(file + head->e_shoff);
  for (int n = 0; n < head->e_shnum; n++) {
    if (sections[n].sh_type != SHT_SYMTAB)
      continue;
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)(const void *)(file + sections[n].sh_offset);
    for (size_t i = 0; i < sections[n].sh_size / sizeof *symbols; i++)
      if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT &&
          address - program_loaded_at - symbols[i].st_value < symbols[i].st_size) {
        *first = program_loaded_at + symbols[i].st_value;
        *bytes = symbols[i].st_size;
        return short_name(file + sections[sections[n].sh_link].sh_offset + symbols[i].st_name);
      }
  }
  return NULL;
}

int program_array_at(size_t offset) {
  static _Thread_local int last = -1;
  if (last >= 0 && offset - arrays[last].offset < arrays[last].bytes)
    return last;
  for (int low = 0, high = array_count; low < high;) {
    int middle = (low + high) / 2;
    if (offset < arrays[middle].offset)
      high = middle;
    else if (offset - arrays[middle].offset < arrays[middle].bytes)
      return last = middle;
    else
      low = middle + 1;
  }
  return -1;
}

const struct array *program_array(int number) {
  return &arrays[number];
}

int program_arrays(void) {
  return array_count;
}
