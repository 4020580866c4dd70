/* SPDX-License-Identifier: Apache-2.0 */
/* partition/spmd.h: what the files of the partitioner share. partition.h says how they work together. */
#ifndef HALO_PARTITION_SPMD_H
#define HALO_PARTITION_SPMD_H

#include "hlo/sharding.h"
#include "rewrite/expander.h"

enum { HALO_SPMD_AXES = 16, HALO_SPMD_MAX_DEVICES = 1 << 16 };

/* Axes of the mesh by number, the major one first. */
typedef struct halo_spmd_axes {
  int8_t count;
  int8_t id[HALO_SPMD_AXES];
} halo_spmd_axes;

/* Digit 0 is the major one. */
typedef struct halo_spmd_mesh {
  int axes;
  int64_t devices;
  int64_t radix[HALO_SPMD_AXES], stride[HALO_SPMD_AXES];
  uint32_t
      separate; /* axes that the text uses without the next one: those between are parts of one of its axes */
} halo_spmd_mesh;

/* How one array lies. Tiles divide each dimension. Along the axes of the set `manual` each partition has an array
 * of its own: the shape is that of one of them. */
typedef struct halo_spmd_sharding {
  int rank;
  halo_spmd_axes *dims; /* [rank] */
  uint32_t manual;
  uint32_t unreduced; /* axes along which each partition has a summand; none of them cuts */
} halo_spmd_sharding;

/* The sharding of a value, or of several that must have the same one (the state of a loop). */
typedef struct halo_spmd_box {
  halo_spmd_sharding sharding;
  bool fixed;      /* said by the text: axes are not added */
  uint64_t closed; /* dimensions of which the text says so, where others are open */
  uint32_t barred; /* axes that are not added: it enters a region that is manual along them */
  uint32_t
      derived; /* axes of `unreduced` of which the text says nothing: callers never see these */
} halo_spmd_box;

/* Each partition's part of an array, under one of the shardings that it was made with. */
typedef struct halo_spmd_variant {
  halo_spmd_sharding sharding;
  halo_instr *value;
  struct halo_spmd_variant *next;
} halo_spmd_variant;

/* One array of the module as it was. */
typedef struct halo_spmd_leaf {
  const halo_shape *shape; /* of all of it */
  halo_spmd_box *box;
  halo_spmd_variant *variants; /* NULL: not written yet */
} halo_spmd_leaf;

/* ---- Rules ---- */

typedef enum halo_spmd_factor_kind {
  HALO_SPMD_PARALLEL, /* parts do not know of each other, but for borders */
  HALO_SPMD_SUMMED,   /* each part gives a summand of the result */
  HALO_SPMD_CARRIED,  /* everybody needs all of it, but results lie as operands do */
  HALO_SPMD_WHOLE     /* everybody needs all of it */
} halo_spmd_factor_kind;

/* A list of factors: those that a dimension consists of, the major one first. */
typedef struct halo_spmd_factors {
  int32_t count;
  const int32_t *id;
} halo_spmd_factors;

/* How the dimensions of an operation's operands and results go together. Tensors are the leaves of all operands,
 * then those of the result; `dims[t]` [rank of t]. */
typedef struct halo_spmd_rule {
  int32_t factors, room;
  int64_t *size; /* [factors] */
  int64_t
      *border; /* [factors] how many elements of its neighbours a part needs of the first operand */
  halo_spmd_factor_kind *kind;
  int32_t tensors, operands; /* of which operands' */
  const halo_spmd_leaf **leaf;
  halo_spmd_factors **dims;
  bool passes;                /* elements only pass through: axes travel here first */
  double work;                /* multiplications, of everything */
  halo_computation *combiner; /* of summands; NULL: there are no summed factors */
} halo_spmd_rule;

/* Axes for each factor of a rule. */
typedef halo_spmd_axes halo_spmd_assignment;

/* The pass's notes about an instruction: its `data`. */
typedef struct halo_spmd_node {
  int32_t count;
  halo_spmd_leaf **leaves; /* of its shape, over all depths */
  halo_spmd_rule *rule;    /* NULL: none, what it reads is gathered */
  halo_instr *written;     /* what stands for it now, for control edges */
} halo_spmd_node;

/* Two leaves of which one becomes the other: what enters a loop and its state. */
typedef struct halo_spmd_link {
  halo_spmd_leaf *a, *b;
} halo_spmd_link;

/* Arrays that are to lie alike share a box. */
typedef struct halo_spmd_group {
  int64_t id;
  halo_spmd_leaf *first;
} halo_spmd_group;

typedef struct halo_spmd {
  halo_module *module;
  halo_arena arena; /* lives as long as the pass runs */
  halo_spmd_mesh mesh;
  HALO_VEC(halo_instr *) instrs; /* with nodes, callees' before their callers' */
  HALO_VEC(halo_spmd_link) links;
  HALO_VEC(halo_spmd_group) groups;
  const halo_sharding *
      *params; /* what the entry says of the leaves of its parameters, in turn; NULL: nothing */
  const halo_sharding **results; /* and of its result */
  halo_rewriter r;               /* of the computation that is written */
  halo_expander x;
  int64_t first_channel, channel; /* of what this pass makes; the next unused one */
} halo_spmd;

static inline halo_spmd_node *halo_spmd_node_of(const halo_instr *instr) { return instr->data; }
static inline bool halo_spmd_is_array(const halo_spmd_leaf *leaf) {
  return halo_shape_is_array(leaf->shape);
}

/* ---- Meshes and shardings: mesh.c ---- */

/* The mesh in which most of the module's shardings can be said. HALO_UNIMPLEMENTED for too many devices. */
halo_status halo_spmd_mesh_choose(halo_spmd *p);
/* A sharding of an array of `rank` dimensions, checked already, by axes. `direct` receives whether tiles lie on
 * just the devices that it says; otherwise they lie on others, as many of each. HALO_UNIMPLEMENTED for
 * kinds that cannot be said. */
halo_status halo_spmd_read(halo_spmd *p, const halo_sharding *from, int rank,
                           halo_spmd_sharding *out, bool *direct);
/* The same for others, in the module's memory. */
const halo_sharding *halo_spmd_publish(halo_spmd *p, const halo_spmd_sharding *from);
halo_spmd_sharding halo_spmd_replicated(halo_spmd *p, int rank, uint32_t manual);
halo_spmd_sharding halo_spmd_copy(halo_spmd *p, const halo_spmd_sharding *from);
bool halo_spmd_axes_equal(const halo_spmd_axes *a, const halo_spmd_axes *b);
bool halo_spmd_equal(const halo_spmd_sharding *a, const halo_spmd_sharding *b);
/* The set of axes of a list, or of all dimensions. */
uint32_t halo_spmd_axes_set(const halo_spmd_axes *axes);
uint32_t halo_spmd_set(const halo_spmd_sharding *sharding);
/* How many tiles: the product of the radices. */
int64_t halo_spmd_tiles(const halo_spmd *p, const halo_spmd_axes *axes);
/* Leaves of each dimension as many axes as divide it; all or none with `whole`. */
void halo_spmd_make_even(const halo_spmd *p, const halo_shape *shape, halo_spmd_sharding *sharding);
/* A partition's number along a list of axes. */
int64_t halo_spmd_position(const halo_spmd *p, const halo_spmd_axes *axes, int64_t device);
/* The shape of one part, in the module's memory. */
const halo_shape *halo_spmd_local(halo_spmd *p, const halo_shape *shape,
                                  const halo_spmd_sharding *sharding);

/* ---- Changing shardings: reshard.c. All write into p->r.computation. ---- */

/* The partition's number along `axes` times `scale`: s32[], or s64[] where that is needed. */
halo_instr *halo_spmd_offset(halo_spmd *p, const halo_spmd_axes *axes, int64_t scale);
/* The bytes that each partition receives where an array of this shape goes from one sharding to another, as cheaply as is
 * known. */
double halo_spmd_reshard_cost(halo_spmd *p, const halo_shape *shape, const halo_spmd_sharding *from,
                              const halo_spmd_sharding *to);
/* Combines summands that are spread over the set `partial` of axes, but for those over which `to` has summands too.
 * *sharding is that of the summand, and becomes that of the result, which is nearer to `to`. */
halo_instr *halo_spmd_combine(halo_spmd *p, halo_instr *value, halo_spmd_sharding *sharding,
                              uint32_t partial, const halo_spmd_sharding *to,
                              halo_computation *combiner);
/* The array of which each partition has a piece as `from` says (halo_sharding_piece), under `to`, which is what
 * halo_spmd_read and halo_spmd_make_even make of it; and the way back. */
halo_instr *halo_spmd_enter(halo_spmd *p, halo_instr *value, const halo_shape *shape,
                            const halo_sharding *from, const halo_spmd_sharding *to);
halo_instr *halo_spmd_leave(halo_spmd *p, halo_spmd_leaf *leaf, const halo_sharding *to);
/* A leaf's value under a sharding; made once for each, when it is wanted, of what takes the least to make it of.
 * NULL after a failure. */
halo_instr *halo_spmd_value(halo_spmd *p, halo_spmd_leaf *leaf, const halo_spmd_sharding *to);
/* The price of that: bytes that each partition receives. */
double halo_spmd_value_cost(halo_spmd *p, const halo_spmd_leaf *leaf, const halo_spmd_sharding *to);
/* Gives a leaf its value, which lies as `from` says. */
void halo_spmd_define(halo_spmd *p, halo_spmd_leaf *leaf, halo_instr *value,
                      const halo_spmd_sharding *from);

/* ---- Rules: rules.c has them by operation, rule.c what they are made of ---- */

/* The rule of an instruction whose node and whose operands' nodes have their leaves; NULL: there is none. */
halo_spmd_rule *halo_spmd_rule_of(halo_spmd *p, const halo_instr *instr);
/* For those who make rules: a new factor's number; and one more factor of a dimension, behind those that it has. */
int32_t halo_spmd_rule_factor(halo_spmd *p, halo_spmd_rule *rule, int64_t size,
                              halo_spmd_factor_kind kind);
void halo_spmd_rule_put(halo_spmd *p, halo_spmd_rule *rule, int32_t tensor, int64_t dim,
                        int32_t factor);

/* A parallel dimension of a tensor, and the same one of another (-1: of none). */
int32_t halo_spmd_rule_pair(halo_spmd *p, halo_spmd_rule *rule, int32_t a, int64_t a_dim, int32_t b,
                            int64_t b_dim);
/* Whether parts of a sum may be rounded to the type. */
bool halo_spmd_rule_can_sum(halo_type type);
/* Whether summands may be combined in any grouping, starting from an identity that is known. */
bool halo_spmd_rule_can_combine(const halo_computation *c, halo_type type);
typedef void halo_spmd_rule_fn(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr);
halo_spmd_rule_fn halo_spmd_rule_gather, halo_spmd_rule_scatter; /* rules_indexed.c */
halo_spmd_rule_fn halo_spmd_rule_batched;                        /* batch.c */

/* ---- Borders: borders.c, and rule.c for what parts of a window need ---- */

/* How a dimension over which a window moves is cut together with the result's, or with that of the window itself. */
typedef struct halo_spmd_reach {
  int64_t low,
      high; /* elements that each part needs of those before and behind it; negative: has too many */
  int64_t pad_low, pad_high; /* what the window has to pad each part with, then */
} halo_spmd_reach;
/* `size` and `out`: extents of the dimension of the operand and of the result, of all of it. False: parts of the
 * result need different things of the operand's. */
bool halo_spmd_window_reach(const halo_window_dim *w, int64_t size, int64_t out,
                            halo_spmd_reach *reach);
/* The same where the window, which is as large as the operand, is cut, and each part gives a summand. */
bool halo_spmd_kernel_reach(const halo_window_dim *w, int64_t size, int64_t out,
                            halo_spmd_reach *reach);
/* Slices of padded arrays, and padded slices, become padded arrays, and what puts an array together of its end and its
 * beginning, or sums up both where they go, becomes a rotation: a call that this pass alone knows. Before anything else is
 * done to the module. */
halo_status halo_spmd_find_shifts(halo_module *module);
#define HALO_SPMD_ROTATION "halo.rotate"
/* Whether it is such a call; by how many elements, and along which dimension: element 0 of the result is element `by`. */
bool halo_spmd_is_rotation(const halo_instr *instr, int *dim, int64_t *by);

/* ---- Axes of factors: rule.c ---- */

/* The axes of each factor, as far as a tensor's sharding says so. `out` [factors]. */
void halo_spmd_project(const halo_spmd *p, const halo_spmd_rule *rule, int32_t tensor,
                       const halo_spmd_sharding *sharding, halo_spmd_assignment *out);
/* The sharding of a tensor by the axes of the factors. */
void halo_spmd_assemble(const halo_spmd *p, const halo_spmd_rule *rule, int32_t tensor,
                        const halo_spmd_assignment *axes, halo_spmd_sharding *out);

/* ---- Shardings in the module's text: annotate.c, marks.c ---- */

/* Makes nodes, leaves and boxes for all that the entry reaches, with what the text says. Each computation of a
 * loop or branch has one caller. HALO_INVALID_ARGUMENT for shardings that do not fit. */
halo_status halo_spmd_annotate(halo_spmd *p);
/* Whether the header says of number `index` of the entry's results (or parameters) that it may be spread as suits
 * the program. */
bool halo_spmd_is_free(const halo_module *module, bool result, int32_t index);

/* ---- Summands: summands.c ---- */

/* The axes along which summands of an operand go on as they are, as summands of the result; and those for any operand. */
uint32_t halo_spmd_summands(const halo_instr *instr, int32_t operand);
uint32_t halo_spmd_summands_of_result(const halo_instr *instr);
/* Where summands are wanted, leaves apart what is summed up on the way to there, through loops and branches. */
void halo_spmd_want_summands(halo_spmd *p);
/* Leaves in summands what the rounds of loops add to their state and read no further: it is summed up behind the loop. When
 * shardings are known. */
void halo_spmd_keep_sums(halo_spmd *p);

/* ---- Propagation: propagate.c ---- */

/* Adds axes to the boxes that are not fixed until nothing changes. */
void halo_spmd_propagate(halo_spmd *p);

/* ---- Writing ---- */

/* ops.c: writes an instruction by its rule; its leaves receive values. */
void halo_spmd_write_ruled(halo_spmd *p, halo_instr *instr);

/* write.c */
typedef enum halo_spmd_marker {
  HALO_SPMD_NO_MARKER,
  HALO_SPMD_SAME,    /* the identity */
  HALO_SPMD_TO_PART, /* from here on each partition has an array of its own */
  HALO_SPMD_TO_ALL   /* the arrays of the partitions are tiles of one */
} halo_spmd_marker;
halo_spmd_marker halo_spmd_marker_of(const halo_instr *instr);
/* Writes the computations of all that has nodes. */
halo_status halo_spmd_write(halo_spmd *p);
/* A value as the operand was: all of it, of the same shape, down to the layout. NULL after a failure. */
halo_instr *halo_spmd_whole_operand(halo_spmd *p, const halo_instr *operand);
/* single.c: writes what one partition does for all: the one that a maximal sharding names, else the first.
 * Of sends and receives those that end them, with those that begin them. */
halo_status halo_spmd_write_single(halo_spmd *p, halo_instr *instr);
/* custom.c: custom calls that know themselves how they are partitioned (halo/partitioner.h). */
bool halo_spmd_is_custom(const halo_instr *instr);
/* Makes the rule that the call says of itself, of one that has neither factors nor dimensions yet; one that is not
 * understood leaves it so. */
void halo_spmd_custom_rule(halo_spmd *p, halo_spmd_rule *rule, const halo_instr *instr);
halo_status halo_spmd_write_custom(halo_spmd *p, halo_instr *instr);
/* The frontend attribute of a name; NULL: the instruction has none. */
const char *halo_spmd_frontend(const halo_instr *instr, const char *name);
/* batch.c: how many leading dimensions of all operands and results of a custom call are a batch of problems,
 * each of which the called function treats by itself; 0: none, or that is not known. */
int halo_spmd_batch_dims(const halo_instr *instr);
/* A call "halo.pieces": of an array that is spread in whatever way, what each partition has, as an array of its own that
 * is as large as all of it and begins with the elements of the piece; and the piece's extents, s32[rank], [1] of a
 * number. Its results are marked manual. */
bool halo_spmd_is_pieces(const halo_instr *instr);
halo_status halo_spmd_write_pieces(halo_spmd *p, halo_instr *instr);
/* entry.c: the parameters of the entry, and its results, with what callers need to know of them. */
halo_status halo_spmd_write_params(halo_spmd *p);
halo_status halo_spmd_write_results(halo_spmd *p, const halo_instr *root);
/* tidy.c: sums of all-reduces in a computation that is written become all-reduces of sums, and what
 * nothing needs goes, collectives that this pass made too. */
halo_status halo_spmd_tidy(const halo_spmd *p, halo_computation *computation);
/* The sharding that propagation found for a leaf without one in the text, for callers. */
const halo_sharding *halo_spmd_found(halo_spmd *p, const halo_spmd_leaf *leaf);
/* Values of leaves as one value of a shape, tuples packed; and the other way. */
halo_instr *halo_spmd_pack(halo_spmd *p, const halo_shape *shape, halo_instr *const *leaves);
void halo_spmd_unpack(halo_spmd *p, halo_instr *value, halo_instr **leaves);
/* A shape with these leaves in the places of its own. */
const halo_shape *halo_spmd_with_leaves(halo_spmd *p, const halo_shape *shape,
                                        const halo_shape *const *leaves);

#endif
