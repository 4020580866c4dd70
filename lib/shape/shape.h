/* SPDX-License-Identifier: Apache-2.0 */
/* shape/shape.h: what a shape is inside the library, and how rooms above make and compare them. */
#ifndef HALO_SHAPE_SHAPE_H
#define HALO_SHAPE_SHAPE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "halo/types.h"
#include "shape/types.h"

/* Ranks above this are refused: more than any front end produces, small enough for stack arrays. */
enum { HALO_MAX_RANK = 64 };

/* Immutable. Lives in an arena, or in one heap block when made by the public create calls. */
struct halo_shape {
  halo_type type;
  int32_t rank;                      /* arrays; 0 otherwise */
  const int64_t *dims;               /* [rank]; the bound of a bounded dynamic dimension */
  const bool *dynamic;               /* [rank], or NULL when every dimension is static */
  const int32_t *minor_to_major;     /* [rank]; never NULL when rank > 0 */
  const char *layout_extras;         /* raw text after the `:` of a layout ("T(8,128)"), or NULL */
  int32_t count;                     /* tuples */
  const halo_shape *const *elements; /* [count] */
  /* Tuples: number of the first leaf of each element, and of all leaves: [count + 1]. */
  const int32_t *leaf_starts;
  bool has_dynamic; /* a dynamic dimension, at any depth */
};

/* An array shape in `arena` with the default layout; no checks (callers have done them). `dims` is
 * copied. */
const halo_shape *halo_shape_new(halo_arena *arena, halo_type type, int rank, const int64_t *dims);
/* As halo_shape_new with dynamic marks (NULL: none) and layout (NULL: default); both copied. */
const halo_shape *halo_shape_new_full(halo_arena *arena, halo_type type, int rank,
                                      const int64_t *dims, const bool *dynamic,
                                      const int32_t *minor_to_major);
/* A tuple in `arena`; the element pointers are copied, the elements are not. */
const halo_shape *halo_shape_new_tuple(halo_arena *arena, int count,
                                       const halo_shape *const *elements);
const halo_shape *halo_shape_new_token(halo_arena *arena);
/* A deep copy in `arena`. */
const halo_shape *halo_shape_clone(halo_arena *arena, const halo_shape *shape);
/* A deep copy in one heap block, to be released with halo_shape_release. */
halo_shape *halo_shape_clone_heap(const halo_shape *shape);
/* The array shape with another element type, other things (layout, marks) the same. */
const halo_shape *halo_shape_with_type(halo_arena *arena, const halo_shape *shape, halo_type type);
/* The shape, tuples included, with every layout set to the default and extras dropped. */
const halo_shape *halo_shape_with_default_layout(halo_arena *arena, const halo_shape *shape);
/* The shape, tuples included, with every dimension static: at its bound, where it was dynamic. The shape
 * itself when none is. */
const halo_shape *halo_shape_static(halo_arena *arena, const halo_shape *shape);
/* Whether an array or tuple of these static extents fits a shape: equal but for layouts, and for dynamic
 * dimensions, which may be smaller than their bounds. */
bool halo_shape_fits(const halo_shape *extents, const halo_shape *shape);
/* Number of dynamic dimensions of all leaves. */
int32_t halo_shape_dynamic_count(const halo_shape *shape);

/* Checks extents, rank and total size; HALO_INVALID_ARGUMENT with a message otherwise. Unbounded
 * dimensions are allowed and count as 0 elements. */
halo_status halo_shape_check_array(halo_type type, int rank, const int64_t *dims);
halo_status halo_shape_check_layout(int rank, const int32_t *minor_to_major);

static inline bool halo_shape_is_array(const halo_shape *s) { return halo_type_is_array(s->type); }
static inline bool halo_shape_is_tuple(const halo_shape *s) { return s->type == HALO_TUPLE; }
static inline bool halo_shape_is_token(const halo_shape *s) { return s->type == HALO_TOKEN; }
static inline bool halo_shape_is_scalar(const halo_shape *s) {
  return halo_shape_is_array(s) && s->rank == 0;
}
/* An array of rank 0 and this type. */
static inline bool halo_shape_is_scalar_of(const halo_shape *s, halo_type t) {
  return s->type == t && s->rank == 0;
}
bool halo_shape_has_default_layout(const halo_shape *shape);
/* Any dimension, at any depth. */
static inline bool halo_shape_is_dynamic(const halo_shape *shape) { return shape->has_dynamic; }
/* Same rank and extents (types, layouts and marks aside); both arrays. */
bool halo_shape_same_dims(const halo_shape *a, const halo_shape *b);

/* strides[d] = distance in elements between neighbours along d, in the shape's layout. */
void halo_shape_strides(const halo_shape *shape, int64_t *strides);
/* The part of nested tuples that an index names; NULL when there is none. */
const halo_shape *halo_shape_part(const halo_shape *shape, const int64_t *index, int32_t count);
/* Number of leaves (non-tuple shapes) at any depth. */
static inline int32_t halo_shape_leaf_count(const halo_shape *shape) {
  return halo_shape_is_tuple(shape) ? shape->leaf_starts[shape->count] : 1;
}
/* Number of the leaf at which tuple element i begins. */
static inline int32_t halo_leaf_start(const halo_shape *tuple, int64_t i) {
  return tuple->leaf_starts[i];
}
/* Number of the leaf that an index of nested tuples leads to; -1 where it leads to none. */
int32_t halo_leaf_at(const halo_shape *shape, const int64_t *index, int32_t count);
/* The tuple's element that holds leaf number `leaf`, by bisection. */
int32_t halo_leaf_element(const halo_shape *tuple, int32_t leaf);
/* Shape of leaf number `leaf`, counted in order over all depths; the shape itself when no tuple. */
const halo_shape *halo_leaf_shape(const halo_shape *shape, int32_t leaf);
/* Appends HLO text. */
void halo_shape_print(halo_strbuf *out, const halo_shape *shape, bool with_layout);
/* The texts of two shapes that are not equal, for a message: with layouts where nothing else tells them apart. Cut to
 * `size` bytes each. */
void halo_shape_texts(const halo_shape *a, const halo_shape *b, char *a_text, char *b_text,
                      size_t size);
/* HLO text with layout, or without, in an arena; for messages. */
const char *halo_shape_text(halo_arena *arena, const halo_shape *shape, bool with_layout);

#endif
