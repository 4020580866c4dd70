/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/records.h: what a sort moves, and the text that makes, compares and unmakes it.
 *
 * A record stands for one place of a row. It holds the values that the comparator looks at, and for the
 * other operands either their values, where those are small, or the place that they come from, by which the
 * last step fetches them. Where the comparator compares keys that fit, a record is a single number instead:
 * the keys' code above the place. */
#ifndef HALO_KERNELS_SORT_RECORDS_H
#define HALO_KERNELS_SORT_RECORDS_H

#include "hlo/comparator.h"
#include "kernels/helpers.h"

typedef struct halo_sort_records {
  const halo_caps *caps;
  const halo_parameters *given;
  halo_lowering *l;       /* once declared */
  const halo_instr *sort; /* a sort, or a topk: the keys are then its operand's total order */
  int32_t arity;          /* operands */
  int dim;                /* that is sorted along, */
  int64_t rows, n;        /* the product of the others' extents, and its own */
  halo_sort_key keys[HALO_COMPARATOR_KEYS];
  int32_t key_count; /* 0: the comparator is to be asked */
  int code_bits;     /* of all keys together; 0 when there are none, or too many bits */
  int place_bits;    /* of a place */
  bool packed;       /* a record is one number */
  bool *held;        /* [arity] the record has this operand's value */
  bool place;        /* the record has its place */
  int64_t bytes;     /* of a record */
  const char *name;  /* prefix of what is declared once for all kernels of the sort */
  const char *type;  /* a record's */
  /* Not NULL: the records are another family's, packed, and stay in scratch. It writes the helper "_in(row, p)". */
  void (*make)(const void *maker, halo_helpers *p);
  const void *maker;
} halo_sort_records;

/* The description of sorts and topks. */
typedef struct halo_sort_desc {
  halo_sort_records plain;
  halo_sort_records packed; /* each one number, if keys and place fit; else as `plain` */
} halo_sort_desc;
const void *halo_sort_describe(const halo_lowering *l);
/* Declares the type, the code and the comparison of records in the program's text. */
halo_status halo_sort_declare(halo_sort_records *r, halo_lowering *l);
/* Helpers of a kernel: "_in(row, p)" makes record p of a row from the operands, "_out(row, p, v)" stores
 * record v as place p of the results; or both from and to scratch of this number. */
void halo_sort_emit_make(const halo_sort_records *r, halo_helpers *p);
void halo_sort_emit_store(const halo_sort_records *r, halo_helpers *p);
void halo_sort_emit_read(const halo_sort_records *r, halo_helpers *p, int32_t scratch, int64_t n);
void halo_sort_emit_write(const halo_sort_records *r, halo_helpers *p, int32_t scratch, int64_t n);
/* The holes H_T, H_IN, H_OUT and H_BEFORE. */
void halo_sort_holes(const halo_sort_records *r, halo_helpers *p, halo_template *k);

/* ---- sort.c: kernels that others use ---- */

/* Records of a block that a group of work items sorts in local memory, of rows of `n`. */
int64_t halo_sort_block_size(const halo_sort_records *r, int64_t n);
/* Template, holes and launch of the kernel that sorts each block of rows of `n` records, which its helpers
 * read, and hands on the first `keep` of it, one block's behind another's. */
void halo_sort_block_kernel(const halo_sort_records *r, halo_helpers *p, int64_t n, int64_t keep,
                            const char *label);
/* The implementations of a whole sort; a topk stores what comes first. */
bool halo_sort_radix_supports(const halo_lowering *l, const char **why);
double halo_sort_radix_cost(const halo_lowering *l);
halo_status halo_sort_radix_lower(halo_lowering *l);
double halo_sort_merge_cost(const halo_lowering *l);
halo_status halo_sort_merge_lower(halo_lowering *l);

/* ---- sort.c: records of other families ---- */

/* `n` records of one row, packed: a code of `code_bits` above a number of `place_bits`, together at most 64. */
halo_sort_records halo_sort_packed(const halo_lowering *l, int64_t n, int code_bits,
                                   int place_bits);
/* Whether a radix sort can do it, and in how many seconds. */
bool halo_sort_radix_fits(const halo_sort_records *r, const char **why);
double halo_sort_radix_seconds(const halo_lowering *l, const halo_sort_records *r);
/* Launches that sort by the code, stably. The fusion has no scratch yet, and gets three; *out_sorted is the one that
 * holds the sorted records in the end. */
halo_status halo_sort_radix_records(halo_sort_records *r, halo_lowering *l, int32_t *out_sorted);

#endif
