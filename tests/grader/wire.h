// SPDX-License-Identifier: MIT
// What grader and answer say to each other over a socket: one request, one reply, each a list of named items.
//
//   message: magic u32, length u32 (bytes of the body), nonce u64, body: items one after another
//   item:    kind u8, name length u8, name, then by kind
//     'n' number   f64
//     't' text     length u32, bytes
//     'a' array    dtype u8, flags u8, device i8 (-1: the CPU), rank u8, sizes i64..., elements in row-major order
//     'c' counts   a Counts
//     'e' error    length u32, bytes: "RuntimeError: ..."
//
// Before its reply the child sends a ledger, records of the same length as a message's header: each copy, launch and wait
// between driver_count and driver_stop, at the moment when it is counted. What has been sent cannot be taken back, so the
// grader holds the reply's counts against it.
//
//   record: LEDGER_MAGIC u32, kind u32, value u64 (bytes of a copy; the nonce where counting begins and ends)
//
// Numbers are in the machine's order: both ends are the same machine. A reply has to repeat the request's nonce. Everything
// that is read is checked: the grader reads replies from a hostile process.
#ifndef GRADER_WIRE_H
#define GRADER_WIRE_H

#include "tensor/dtype.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_RANK = 6, MAX_ITEMS = 64, NAME_BYTES = 64, WIRE_MAGIC = 0x31595246, WIRE_LIMIT = 64 << 20 };
#define INSPECTION_ITEM "(inspection)" // the text in which an inspected answer's reply has its record
enum { HEADER_BYTES = 16, LEDGER_MAGIC = 0x4c595246 };

typedef struct Shape {
  int rank;
  int64_t size[MAX_RANK];
} Shape;
#ifndef __cplusplus
#define shape(...) ((Shape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .size = {__VA_ARGS__}})
#endif

enum {
  ARRAY_STRIDED = 1,       // to be placed as a non-contiguous view
  ARRAY_TRANSPOSED = 2,    // to be placed as the transpose of a contiguous tensor
  ARRAY_REQUIRES_GRAD = 4, // (reply: it does)
  ARRAY_PINNED = 8,        // (reply: it is)
  ARRAY_CONTIGUOUS = 16,   // reply: it is
  ARRAY_GUARD_BROKEN = 32, // reply: memory around it was written
  ARRAY_NULL = 64          // reply: the answer gave NULL
};

// Bits of a float32 element of a reply, but for its sign: a NaN that its array was filled with, and one that comes from other memory
// which nobody has written.
#define WIRE_UNWRITTEN 0xffffffffu
#define WIRE_HANDED_ON 0xfffffffeu

// A tensor in host memory, contiguous, row-major. In what was received, data has room for `count` elements of 8 bytes whatever
// the dtype says, so that a check that takes a hostile array for one of float32 reads nonsense and no other memory.
typedef struct Array {
  FyDType dtype;
  Shape shape;
  int64_t count; // elements
  int device;    // CUDA index, -1 for the CPU: where it is to be, or was
  int flags;
  union {
    void *data;
    float *f32;
    double *f64;
    int64_t *i64;
    int32_t *i32;
    uint8_t *u8;      // FY_UINT8 and FY_BOOL
    uint16_t *bits16; // FY_FLOAT16 and FY_BFLOAT16
  };
} Array;

// What the library (a kernel exercise: the CUDA runtime) counted.
typedef struct Counts {
  int64_t host_to_device, device_to_host, device_to_device; // copies
  int64_t host_to_device_bytes, device_to_host_bytes, device_to_device_bytes;
  int64_t launches, synchronizations;
  int64_t cuda_allocations, cpu_allocations; // tensors' memory asked for, on all CUDA devices and on the CPU
  int64_t cuda_peak_bytes, cuda_live_bytes;  // over what was there before, all devices together
  int64_t operations;                        // kernel exercises: launches, copies and fills, of whatever kind
} Counts;

typedef enum LedgerKind {
  LEDGER_BEGIN, // counting begins, with the request's nonce; a second one starts again
  LEDGER_END,
  LEDGER_HOST_TO_DEVICE,
  LEDGER_DEVICE_TO_HOST,
  LEDGER_DEVICE_TO_DEVICE,
  LEDGER_LAUNCH,
  LEDGER_SYNCHRONIZATION,
  LEDGER_OPERATION, // of a kernel exercise, in place of the five above
  LEDGER_KINDS
} LedgerKind;

typedef struct LedgerRecord {
  uint32_t magic, kind;
  uint64_t value;
} LedgerRecord;

// The grader's sums.
typedef struct Ledger {
  bool begun, ended, broken; // broken: a record that cannot be
  int64_t count[LEDGER_KINDS], value[LEDGER_KINDS];
} Ledger;

void ledger_take(Ledger *ledger, const LedgerRecord *record, uint64_t nonce);

typedef struct Item {
  char kind, name[NAME_BYTES];
  double number;
  char *text; // texts and errors
  Array array;
  Counts counts;
} Item;

typedef struct Message {
  uint64_t nonce;
  int count;
  Item items[MAX_ITEMS];
} Message;

Item *message_find(Message *m, char kind, const char *name);
Item *message_add(Message *m, char kind, const char *name); // NULL when it is full
void message_free(Message *m);                              // texts and arrays' elements

bool same_shape(Shape a, Shape b);
int64_t shape_count(Shape s); // -1 when it overflows or a size is negative

// The whole message as bytes (malloc), NULL when it is too long or memory is short.
uint8_t *message_pack(const Message *m, size_t *bytes);
// Body bytes (after the 16 of the header) to items, malloc'ed. A sentence about what is wrong, NULL when nothing is.
const char *message_unpack(Message *m, const uint8_t *body, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
