/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/sort/sort.c: sorts along one dimension, always stable: by merging, whatever the comparator, or digit
 * by digit where it compares keys that are numbers. */
#include "kernels/families.h"
#include "kernels/sort/records.h"

#include <math.h>

extern const char halo_cl_sort[], halo_cl_sort_radix[], halo_cl_sort_radix_tiles[];

static int64_t sort_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t sort_units(const halo_sort_records *r) {
  return r->caps->compute_units > 0 ? r->caps->compute_units : 1;
}

/* Records that a work item may do something to, some rounds each, where it may not do as many as it likes. */
static int64_t sort_most(const halo_sort_records *r, int64_t rounds) {
  uint64_t most = r->caps->max_rounds / (uint64_t)rounds;
  return most && most < INT64_MAX ? (int64_t)most : INT64_MAX;
}

typedef void sort_emit_fn(const halo_sort_records *r, halo_helpers *p);

/* Scratch: two arrays of records, and a radix sort's counts. */
enum { SORT_FIRST, SORT_SECOND, SORT_COUNTS };

static void sort_read_first(const halo_sort_records *r, halo_helpers *p) {
  halo_sort_emit_read(r, p, SORT_FIRST, r->n);
}
static void sort_write_first(const halo_sort_records *r, halo_helpers *p) {
  halo_sort_emit_write(r, p, SORT_FIRST, r->n);
}
static void sort_write_second(const halo_sort_records *r, halo_helpers *p) {
  halo_sort_emit_write(r, p, SORT_SECOND, r->n);
}

/* The same kernel once more, with the two arrays of records exchanged if `swapped`, and another number. */
static void sort_again(halo_lowering *l, const halo_launch *of, bool swapped, int64_t number) {
  halo_launch again = *of;
  halo_kernel_arg *args = halo_arena_copy(l->arena, of->args, sizeof *args * (size_t)of->arg_count);
  for (int32_t i = 0; i < of->arg_count; i++) {
    if (args[i].role == HALO_ROLE_VALUE) args[i].number = number;
    if (!swapped || args[i].role != HALO_ROLE_SCRATCH) continue;
    if (args[i].index == SORT_FIRST) {
      args[i].index = SORT_SECOND;
    } else if (args[i].index == SORT_SECOND) {
      args[i].index = SORT_FIRST;
    }
  }
  again.args = args;
  halo_vec_push(&l->launches, again);
}

static const char *sort_number(halo_helpers *p, int64_t value) {
  return halo_emit_value_arg(&p->e, HALO_VALUE_NUMBER, p->e.wide ? HALO_S64 : HALO_S32, value);
}

static void sort_common_holes(const halo_sort_records *r, halo_helpers *p, halo_template *k) {
  halo_sort_holes(r, p, k);
  halo_template_define_int(k, "H_ROWS", r->rows);
  halo_template_define_int(k, "H_N", r->n);
}

/* ---- Merging ---- */

/* How blocks are cut. */
typedef struct sort_blocks {
  int64_t block, team, teams;
} sort_blocks;

/* Local memory for blocks: on a CPU it is to stay in the first caches. */
enum { SORT_LOCAL = 32 << 10 };

static sort_blocks sort_cut(const halo_sort_records *r, int64_t n) {
  enum { BLOCK_ROUNDS = 32 }; /* two for each level of merging */
  const halo_caps *caps = r->caps;
  const halo_parameters *given = r->given;
  int64_t room = caps->local_memory < SORT_LOCAL ? (int64_t)caps->local_memory : SORT_LOCAL;
  int64_t records = room / (2 * r->bytes);
  if (records > given->sort_merge_records) records = given->sort_merge_records;
  if (records > sort_most(r, BLOCK_ROUNDS)) records = sort_most(r, BLOCK_ROUNDS);
  sort_blocks cut = {.block = 8, .team = 1, .teams = 1};
  while (cut.block < n && 2 * cut.block <= records) cut.block *= 2;
  int64_t most = given->sort_merge_group;
  if (most > (int64_t)halo_caps_largest_group(caps)) most = (int64_t)halo_caps_largest_group(caps);
  while (!caps->is_cpu && cut.team < cut.block / 8 && 2 * cut.team <= most) cut.team *= 2;
  int64_t all = r->rows * sort_ceil(n, cut.block);
  while (2 * cut.teams * cut.team <= most && 2 * cut.teams * cut.block <= records &&
         2 * cut.teams * 8 * sort_units(r) <= all) {
    cut.teams *= 2;
  }
  return cut;
}

/* Whether each work item sorts blocks of its own, in private memory: on CPUs, and elsewhere where blocks are so short that a work item
 * sorts one alone, and so few that groups of several would not fill the device. Such a step may be part of a region. */
static bool sort_is_own(const halo_sort_records *r, const sort_blocks *cut) {
  return r->caps->is_cpu || cut->team * cut->teams == 1;
}

static void sort_launch_groups(halo_launch *launch, int64_t groups, int64_t local) {
  launch->grid.local[0] = (size_t)local;
  launch->grid.global[0] = (size_t)(groups * local);
}

void halo_sort_block_kernel(const halo_sort_records *r, halo_helpers *p, int64_t n, int64_t keep,
                            const char *label) {
  sort_blocks cut = sort_cut(r, n);
  int64_t blocks = sort_ceil(n, cut.block);
  bool own = sort_is_own(r, &cut);
  halo_template k;
  halo_helpers_template(p, &k, halo_cl_sort, "");
  halo_sort_holes(r, p, &k);
  halo_template_define_int(&k, "H_ROWS", r->rows);
  halo_template_define_int(&k, "H_N", n);
  halo_template_define_int(&k, "H_BLOCK", cut.block);
  halo_template_define_int(&k, "H_BLOCKS", blocks);
  halo_template_define_int(&k, "H_TEAM", cut.team);
  halo_template_define_int(&k, "H_TEAMS", cut.teams);
  halo_template_define_int(&k, "H_OWN", own);
  halo_template_define_int(&k, "H_KEEP", keep);
  halo_template_define_int(&k, "H_DISTINCT", r->packed);
  if (own) {
    halo_kernel_private(p->l, 2 * halo_private_room(cut.block, (size_t)r->bytes), (size_t)r->bytes);
  } else {
    halo_kernel_group(p->l, (size_t)(cut.team * cut.teams), 1);
    halo_kernel_local(p->l, 2 * cut.teams * cut.block, (size_t)r->bytes);
  }
  halo_helpers_finish(p, &k);
  halo_launch *launch = halo_helpers_launch(p, label);
  if (own && !r->caps->is_cpu) {
    halo_launch_items(r->caps, launch, r->rows * blocks);
  } else {
    sort_launch_groups(launch, sort_ceil(r->rows * blocks, cut.teams), cut.team * cut.teams);
  }
}

int64_t halo_sort_block_size(const halo_sort_records *r, int64_t n) { return sort_cut(r, n).block; }

static halo_status sort_block_step(const halo_sort_records *r, bool last) {
  halo_helpers p;
  halo_helpers_begin(&p, r->l, halo_kernel_name(r->l, "blocks"), false);
  halo_sort_emit_make(r, &p);
  if (last) {
    halo_sort_emit_store(r, &p);
  } else {
    sort_write_first(r, &p);
  }
  halo_sort_block_kernel(r, &p, r->n, halo_sort_block_size(r, r->n),
                         last ? "sort:merge" : "sort:merge_blocks");
  return halo_helpers_end(&p);
}

/* Records that a work item merges. */
static int64_t sort_segment(const halo_sort_records *r) {
  if (!r->caps->is_cpu) return 16;
  enum { LEAST = 1024, MOST = 65536, ROUNDS = 8 };
  int64_t segment = r->rows * r->n / (8 * sort_units(r)), most = sort_most(r, ROUNDS);
  if (segment < LEAST) segment = LEAST;
  if (segment > MOST) segment = MOST;
  return segment < most ? segment : most;
}

static halo_status sort_merge_step(const halo_sort_records *r, int64_t width, bool last) {
  halo_helpers p;
  halo_helpers_begin(&p, r->l, halo_kernel_name(r->l, "merge"), false);
  const char *number = sort_number(&p, width);
  sort_read_first(r, &p);
  if (last) {
    halo_sort_emit_store(r, &p);
  } else {
    sort_write_second(r, &p);
  }
  int64_t segment = sort_segment(r);
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_sort, "");
  sort_common_holes(r, &p, &k);
  halo_template_define_int(&k, "H_OWN", 0);
  halo_template_define_int(&k, "H_BLOCK", 0);
  halo_template_define_int(&k, "H_TEAM", 1);
  halo_template_define_int(&k, "H_SEGMENT", segment);
  halo_helpers_hole(&p, &k, "H_WIDTH", "%s", number);
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, last ? "sort:merge" : "sort:merge_runs");
  int64_t items = r->rows * sort_ceil(r->n, segment);
  halo_launch_items(r->caps, launch, items);
  if (r->caps->is_cpu) sort_launch_groups(launch, items, 1); /* long work items */
  return halo_helpers_end(&p);
}

/* Launches behind that which sorts blocks: each makes runs twice as long. */
static int sort_merges(const halo_sort_records *r) {
  int steps = 0;
  for (int64_t reached = halo_sort_block_size(r, r->n); reached < r->n; reached *= 2) steps++;
  return steps;
}

halo_status halo_sort_merge_lower(halo_lowering *l) {
  /* Places are worth a look-up as long as a row stays in the caches. */
  const halo_sort_desc *desc = l->desc;
  halo_sort_records r = desc->packed;
  if (r.packed && halo_sort_block_size(&r, r.n) < r.n) r = desc->plain;
  if (r.rows * r.n == 0) return HALO_OK;
  HALO_TRY(halo_sort_declare(&r, l));
  int64_t width = halo_sort_block_size(&r, r.n);
  if (width >= r.n) return sort_block_step(&r, true);
  for (int i = 0; i < 2; i++) {
    halo_vec_push(&l->scratch, (halo_scratch){r.rows * r.n * r.bytes});
  }
  HALO_TRY(sort_block_step(&r, false));
  int steps = sort_merges(&r);
  if (steps > 1) {
    HALO_TRY(sort_merge_step(&r, width, false));
    const halo_launch first = l->launches.data[l->launches.count - 1];
    for (int step = 1; step < steps - 1; step++) sort_again(l, &first, step % 2, width <<= 1);
    width <<= 1;
  }
  HALO_TRY(sort_merge_step(&r, width, true));
  if (steps % 2 == 0) { /* the last one reads the second array */
    const halo_launch last = l->launches.data[--l->launches.count];
    sort_again(l, &last, true, width);
  }
  return HALO_OK;
}

/* Bytes of all records, read and written so many times. */
static double sort_moved(const halo_sort_records *r, double times) {
  return 2 * times * (double)(r->rows * r->n * r->bytes);
}

/* Seconds: a level of merging costs an element about twenty simple operations. */
double halo_sort_merge_cost(const halo_lowering *l) {
  const halo_sort_records *r = &((const halo_sort_desc *)l->desc)->plain;
  double elements = (double)(r->rows * r->n), levels = r->place_bits > 3 ? r->place_bits : 3;
  const halo_prices *p = halo_lowering_prices(l);
  double launches = 1 + sort_merges(r), moved = sort_moved(r, launches);
  double work = halo_lowering_operations(l, p->sort_merge * levels * elements, elements);
  double moving = halo_target_bytes(halo_lowering_target(l), moved, elements);
  return launches * p->launch + fmax(work, moving);
}

/* ---- Digit by digit ---- */

/* How a row is cut, and into what digits its codes. */
typedef struct sort_radix {
  int digit_bits, digits;
  int64_t local;  /* work items of a group */
  int64_t share;  /* records that a work item has at a time */
  int64_t tiles;  /* of `local` * `share` records each in a piece; 0: a piece is one work item's */
  int64_t pieces; /* of a row */
} sort_radix;

enum { SORT_HALF = 16 /* values of half a digit */ };

/* Bytes of local memory that puts a tile's records in order: these and the counters of half a digit take turns. */
static int64_t sort_radix_pool(const halo_sort_records *r, const sort_radix *cut) {
  int64_t records = cut->local * cut->share * r->bytes;
  int64_t counters = 2 * (SORT_HALF + 2) * cut->local;
  return sort_ceil(records > counters ? records : counters, 16) * 16;
}

/* Tiles for the groups of a GPU; false: it has too small groups for them. */
static bool sort_radix_tiles(const halo_sort_records *r, sort_radix *cut) {
  enum { LARGEST = 256, BITS = 8, BYTES = 64, PIECES = 2048 };
  const halo_caps *caps = r->caps;
  int64_t most = (int64_t)halo_caps_largest_group(caps), tables = 3ll << (BITS + 2);
  if (caps->is_cpu) return false;
  /* Odd, and few enough for registers. */
  cut->share = (BYTES / r->bytes - 1) | 1;
  if (cut->share > r->given->sort_radix_records)
    cut->share = (r->given->sort_radix_records - 1) | 1;
  if (cut->share < 1) cut->share = 1;
  cut->local = LARGEST;
  while (cut->local > most || cut->local > r->given->sort_radix_group ||
         sort_radix_pool(r, cut) + tables + 8 * cut->local > (int64_t)caps->local_memory) {
    cut->local /= 2;
    if (cut->local < SORT_HALF) return false;
  }
  /* Enough groups for any device, and few enough for their counts to be a small part of what is moved. */
  int64_t all = sort_ceil(r->n, cut->local * cut->share), pieces = sort_ceil(PIECES, r->rows);
  cut->tiles = all > pieces ? sort_ceil(all, pieces) : 1;
  cut->pieces = sort_ceil(all, cut->tiles);
  cut->digit_bits = BITS;
  cut->digits = (int)sort_ceil(r->code_bits, BITS);
  return true;
}

static sort_radix sort_radix_cut(const halo_sort_records *r) {
  const halo_parameters *given = r->given;
  sort_radix cut = {.digit_bits = given->sort_radix_bits};
  cut.digits = (int)sort_ceil(r->code_bits, cut.digit_bits);
  if (sort_radix_tiles(r, &cut)) return cut;
  /* A few pieces for each core, of all rows together. */
  int64_t pieces = sort_ceil(4 * sort_units(r), r->rows);
  cut.local = 1;
  cut.share = sort_ceil(r->n, pieces);
  int64_t least = given->sort_radix_records < r->n ? given->sort_radix_records : r->n;
  if (cut.share < least) cut.share = least;
  if (cut.share > sort_most(r, 2)) cut.share = sort_most(r, 2);
  if (cut.share < 1) cut.share = 1; /* of no elements */
  cut.pieces = sort_ceil(r->n, cut.share);
  return cut;
}

/* Whether rows of tiles are single pieces, whose counts need no sums. */
static bool sort_radix_single(const sort_radix *cut) { return cut->tiles && cut->pieces == 1; }

/* Counts of all pieces and, of tiles, totals of all digits. */
static int64_t sort_radix_counts(const halo_sort_records *r, const sort_radix *cut) {
  int64_t totals = cut->tiles && cut->pieces > 1;
  return r->rows * ((cut->pieces + totals) << cut->digit_bits);
}

/* By how many bits a record's code is shifted for a digit. */
static int64_t sort_radix_shift(const halo_sort_records *r, const sort_radix *cut, int digit) {
  return (r->packed ? r->place_bits : 0) + digit * cut->digit_bits;
}

/* Work items of a group of a digit's kernel: for sums, no more than counts. */
static int64_t sort_radix_group(const sort_radix *cut, int step) {
  int64_t local = cut->local;
  while (step == 1 && cut->tiles && local / 2 >= cut->pieces) local /= 2;
  return local;
}

/* Notes the arrays in local memory of a digit's kernel. */
static void sort_radix_local(halo_helpers *p, const halo_sort_records *r, const sort_radix *cut,
                             int step) {
  int64_t digits = 1ll << cut->digit_bits, sums = 2 * sort_radix_group(cut, step);
  if (!cut->tiles) {
    if (step != 1) halo_kernel_local(p->l, digits, sizeof(uint32_t));
    return;
  }
  if (step == 2) halo_kernel_local(p->l, sort_radix_pool(r, cut), 1);
  halo_kernel_local(p->l,
                    step == 0   ? digits
                    : step == 1 ? sums
                                : sums + (cut->tiles > 1 ? 3 : 2) * digits,
                    sizeof(uint32_t));
}

/* One of the three kernels of a digit: from the operands or scratch, to scratch or the results. */
static halo_status sort_radix_step(const halo_sort_records *r, const sort_radix *cut, int step,
                                   int digit) {
  static const char *const names[] = {"count", "sum", "put"};
  static const char *const labels[] = {"sort:radix_count", "sort:radix_sum", "sort:radix"};
  bool last = digit == cut->digits - 1 && !r->make;
  halo_helpers p;
  halo_helpers_begin(&p, r->l, halo_kernel_name(r->l, names[step]), false);
  const char *counts = halo_emit_arg(&p.e, HALO_ROLE_SCRATCH, SORT_COUNTS, HALO_U32, NULL);
  const char *shift = step == 1 ? "" : sort_number(&p, sort_radix_shift(r, cut, digit));
  if (step != 1) {
    if (digit == 0 && r->make) {
      r->make(r->maker, &p);
    } else if (digit == 0) {
      halo_sort_emit_make(r, &p);
    } else {
      sort_read_first(r, &p);
    }
  }
  if (step == 2) {
    sort_emit_fn *const emit = last    ? halo_sort_emit_store
                               : digit ? sort_write_second
                                       : sort_write_first;
    emit(r, &p);
  }
  halo_template k;
  halo_helpers_template(&p, &k, cut->tiles ? halo_cl_sort_radix_tiles : halo_cl_sort_radix, "");
  sort_common_holes(r, &p, &k);
  halo_helpers_hole(&p, &k, "H_COUNTS", "%s", counts);
  const char *code = r->packed ? "(r)" : halo_arena_printf(r->l->arena, "%s_code(r)", r->name);
  halo_helpers_hole(&p, &k, "H_DIGIT(r)", "(int)(%s >> %s & %d)", code, shift,
                    (1 << cut->digit_bits) - 1);
  int64_t local = sort_radix_group(cut, step);
  halo_template_define_int(&k, "H_STEP", step);
  halo_template_define_int(&k, "H_PIECES", cut->pieces);
  halo_template_define_int(&k, "H_SHARE", cut->share);
  if (cut->tiles) {
    halo_template_define_int(&k, "H_TILES", cut->tiles);
    halo_template_define_int(&k, "H_LOCAL", local);
  } else {
    halo_template_define_int(&k, "H_DIGITS", 1ll << cut->digit_bits);
  }
  halo_kernel_group(p.l, (size_t)local, 1);
  sort_radix_local(&p, r, cut, step);
  halo_helpers_finish(&p, &k);
  int64_t sums = cut->tiles ? r->rows << cut->digit_bits : r->rows;
  sort_launch_groups(halo_helpers_launch(&p, labels[step]),
                     step == 1 ? sums : r->rows * cut->pieces, local);
  return halo_helpers_end(&p);
}

/* The launches of one digit. Those between the first and the last one have the same kernels. */
static halo_status sort_radix_digit(const halo_sort_records *r, const sort_radix *cut, int digit,
                                    halo_launch *kernels) {
  bool made = digit < 2 || digit == cut->digits - 1, swapped = digit % 2 == 0 && digit > 0;
  for (int step = 0; step < 3; step++) {
    if (step == 1 && sort_radix_single(cut)) continue;
    bool fresh = step == 1 ? digit == 0 : step == 0 ? digit < 2 : made;
    if (!fresh) {
      sort_again(r->l, &kernels[step], swapped, sort_radix_shift(r, cut, digit));
      continue;
    }
    HALO_TRY(sort_radix_step(r, cut, step, digit));
    kernels[step] = r->l->launches.data[r->l->launches.count - 1];
    if (swapped) {
      r->l->launches.count--;
      sort_again(r->l, &kernels[step], true, sort_radix_shift(r, cut, digit));
    }
  }
  return HALO_OK;
}

static halo_status sort_radix_launches(const halo_sort_records *r, const sort_radix *cut) {
  int64_t bytes = r->rows * r->n * r->bytes;
  int stays = r->make ? 1 : 0;
  halo_vec_push(&r->l->scratch, (halo_scratch){cut->digits + stays > 1 ? bytes : 1});
  halo_vec_push(&r->l->scratch, (halo_scratch){cut->digits + stays > 2 ? bytes : 1});
  halo_vec_push(&r->l->scratch, (halo_scratch){4 * sort_radix_counts(r, cut)});
  halo_launch kernels[3] = {{0}};
  for (int digit = 0; digit < cut->digits; digit++) {
    HALO_TRY(sort_radix_digit(r, cut, digit, kernels));
  }
  return HALO_OK;
}

halo_status halo_sort_radix_lower(halo_lowering *l) {
  halo_sort_records r = ((const halo_sort_desc *)l->desc)->plain;
  if (r.rows * r.n == 0) return HALO_OK;
  HALO_TRY(halo_sort_declare(&r, l));
  sort_radix cut = sort_radix_cut(&r);
  return sort_radix_launches(&r, &cut);
}

halo_status halo_sort_radix_records(halo_sort_records *r, halo_lowering *l, int32_t *out_sorted) {
  r->l = l;
  sort_radix cut = sort_radix_cut(r);
  *out_sorted = cut.digits % 2 ? SORT_FIRST : SORT_SECOND;
  return sort_radix_launches(r, &cut);
}

halo_sort_records halo_sort_packed(const halo_lowering *l, int64_t n, int code_bits,
                                   int place_bits) {
  return (halo_sort_records){.caps = l->caps,
                             .given = halo_lowering_parameters(l),
                             .rows = 1,
                             .n = n,
                             .code_bits = code_bits,
                             .place_bits = place_bits,
                             .packed = true,
                             .bytes = 8,
                             .name = "",
                             .type = "ulong"};
}

bool halo_sort_radix_fits(const halo_sort_records *r, const char **why) {
  *why = "rows are too long";
  if (r->n >= INT32_MAX) return false;
  sort_radix cut = sort_radix_cut(r);
  *why = "too many rows";
  if (sort_radix_counts(r, &cut) >= INT32_MAX) return false;
  *why = "work items may not do so many rounds";
  return cut.tiles || 2 * (cut.pieces << cut.digit_bits) <= sort_most(r, 1);
}

bool halo_sort_radix_supports(const halo_lowering *l, const char **why) {
  const halo_sort_records *r = &((const halo_sort_desc *)l->desc)->plain;
  *why = "the comparator does not compare numbers of together 64 bits";
  return r->code_bits > 0 && halo_sort_radix_fits(r, why);
}

double halo_sort_radix_seconds(const halo_lowering *l, const halo_sort_records *r) {
  sort_radix cut = sort_radix_cut(r);
  const halo_prices *p = halo_lowering_prices(l);
  double counts = (double)(cut.pieces << cut.digit_bits), rows = (double)r->rows;
  double items = rows * (double)(cut.pieces * cut.local);
  int64_t tile = cut.tiles ? cut.local * cut.share : 1;
  double row =
      p->sort_radix * (double)(sort_ceil(r->n, tile) * tile) + p->sort_radix_count * counts;
  double work = halo_lowering_operations(l, rows * row, items);
  /* The second launch of a digit moves its counts alone. */
  double moving = halo_target_bytes(halo_lowering_target(l), sort_moved(r, 1.5), items);
  return cut.digits * ((sort_radix_single(&cut) ? 2 : 3) * p->launch + fmax(work, moving));
}

/* Seconds. */
double halo_sort_radix_cost(const halo_lowering *l) {
  return halo_sort_radix_seconds(l, &((const halo_sort_desc *)l->desc)->plain);
}

static const halo_implementation sort_implementations[] = {
    {"radix", halo_sort_radix_supports, halo_sort_radix_cost, halo_sort_radix_lower,
     .in_groups = true},
    {"merge", halo_loop_supports, halo_sort_merge_cost, halo_sort_merge_lower, .in_groups = true},
    {0}};
const halo_family halo_family_sort = {"sort", HALO_OP_SORT, sort_implementations,
                                      halo_sort_describe};
