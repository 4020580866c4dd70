/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/hlo.h: modules, computations and instructions.
 *
 * Everything of a module lives in the module's arena and dies with it; literals are held by
 * reference. A module may be read from several threads, since nothing that takes a const module,
 * computation or instruction writes to it; changing one is for one thread at a time.
 * Front ends build modules with halo_instr_create (which runs shape inference), passes change them
 * in place and call halo_computation_sort. */
#ifndef HALO_HLO_HLO_H
#define HALO_HLO_HLO_H

#include "base/arena.h"
#include "base/vec.h"
#include "halo/module.h"
#include "hlo/annotations.h"
#include "hlo/opcode.h"
#include "hlo/target.h"
#include "shape/literal.h"
#include "shape/shape.h"

#include <stdatomic.h>

typedef struct halo_instr halo_instr;
typedef struct halo_computation halo_computation;

/* One dimension of a window (reduce-window, convolution, ...). */
typedef struct halo_window_dim {
  int64_t size, stride, pad_low, pad_high, base_dilation, window_dilation;
  bool reversal;
} halo_window_dim;

/* Convolution dimension numbers: for each side, which array dimension plays which part. */
typedef struct halo_conv_dims {
  int spatial; /* number of spatial dimensions */
  int lhs_batch, lhs_feature, rhs_input, rhs_output, out_batch, out_feature;
  int lhs_spatial[HALO_MAX_RANK], rhs_spatial[HALO_MAX_RANK], out_spatial[HALO_MAX_RANK];
  const char *text; /* as written, "b01f_01io->b01f" */
} halo_conv_dims;

/* Replica groups, expanded: group g holds ids[starts[g]] .. ids[starts[g+1] - 1]. */
typedef struct halo_groups {
  int32_t count;
  const int32_t *starts; /* [count + 1] */
  const int64_t *ids;
  const char *text; /* original spelling when it was not the list form, else NULL */
} halo_groups;

/* A part of a result that shares memory with a part of an input: one row of input_output_alias (the
 * entry's result and its parameters) or of output_to_operand_aliasing (an instruction's result and its
 * operands). A row of buffer_donor has no out_index. Indices are those of nested tuples. */
typedef struct halo_alias {
  const int64_t *out_index;
  int32_t out_index_count;
  int64_t parameter; /* or operand */
  const int64_t *param_index;
  int32_t param_index_count;
  bool must; /* must-alias rather than may-alias; input_output_alias only */
} halo_alias;
typedef HALO_VEC(halo_alias) halo_aliases;

/* An attribute that is set on an instruction; absent ones have their default. Which member holds the
 * value follows from halo_attr_kind_of(id). All pointers are into the module's arena. */
typedef struct halo_attr {
  halo_attr_id id;
  const char *name; /* HALO_ATTR_UNKNOWN only: what the text called it */
  union {
    int64_t i;
    double f;
    const char *text;
    struct {
      const int64_t *data;
      int32_t count;
    } ints;
    struct {
      const halo_window_dim *data;
      int32_t count;
    } window;
    struct {
      const char *const *data;
      int32_t count;
    } strings;
    const halo_conv_dims *conv;
    const halo_groups *groups;
    struct {
      halo_computation **data;
      int32_t count;
    } comps;
    const halo_shape *shape;
    struct {
      const halo_shape *const *data;
      int32_t count;
    } shapes;
    struct {
      const halo_alias *data;
      int32_t count;
    } aliases;
    const halo_metadata *metadata;
    const halo_sharding *sharding;
    const halo_domain *domain;
    const halo_accuracy *accuracy;
    const halo_operand_configs *configs;
    halo_literal *literal; /* reference held by the module */
  };
} halo_attr;

struct halo_instr {
  halo_opcode opcode;
  int32_t id;       /* unique in the module, never reused */
  int32_t line;     /* of the text it came from, from 1; 0: not from text */
  const char *name; /* without `%`; unique in its computation */
  const halo_shape *shape;
  halo_instr **operands;
  int32_t operand_count;
  halo_instr **control_preds;
  int32_t control_pred_count;
  halo_attr *attrs;
  int32_t attr_count;
  int64_t parameter_number; /* HALO_OP_PARAMETER */
  halo_literal *literal;    /* HALO_OP_CONSTANT; reference held by the module */
  halo_computation *parent;
  /* Scratch of whichever pass or lowering is running; no meaning between them. */
  int32_t mark;
  void *data;
};

struct halo_computation {
  const char *name; /* without `%`; unique in the module */
  halo_module *module;
  HALO_VEC(halo_instr *) instrs; /* operands and control predecessors before their users */
  halo_instr *root;
  HALO_VEC(halo_instr *) params; /* by parameter number */
  const char *execution_thread;  /* NULL: "main" */
  int32_t mark;
  void *data;
};

/* A header attribute that only has to be printed back. */
typedef struct halo_header_attr {
  const char *name, *text;
} halo_header_attr;

/* Of a module that was partitioned: what its entry spoke of before. */
typedef struct halo_spmd_entry {
  /* Tuples: a sharding for each leaf of all parameters, in turn, and of the result. */
  const halo_sharding *params, *results;
  const halo_shape **whole_params; /* [whole_param_count] */
  int32_t whole_param_count;
  const halo_shape *whole_result;
} halo_spmd_entry;

struct halo_module {
  atomic_int references;
  halo_arena arena;
  const char *name;
  HALO_VEC(halo_computation *) computations; /* callees before callers */
  halo_computation *entry;
  int32_t next_id;
  bool is_scheduled;
  halo_target target;                    /* what it is optimised for; at first halo_target_cpu */
  int64_t replica_count, num_partitions; /* 1 when not given */
  /* Shapes of the entry's parameters and result with the layouts callers see. */
  const halo_shape **entry_params; /* [entry->params.count] */
  const halo_shape *entry_result;
  halo_spmd_entry *spmd; /* NULL: not partitioned by the pass partition */
  halo_aliases aliases;  /* input_output_alias */
  halo_aliases donors;   /* buffer_donor */
  /* frontend_attributes, as those of an instruction: names and values in turns. */
  const char *const *frontend;
  int32_t frontend_count;
  HALO_VEC(halo_header_attr) header;
  HALO_VEC(halo_literal *) literals; /* references to drop at the end */
};

/* Computations may call each other this deep, so that walks over the call graph may recurse. Verifying a
 * module holds it to that. */
enum { HALO_MAX_CALL_DEPTH = 500 };

/* ---- Building ---- */

/* An empty module; one reference. `name` is copied. */
halo_module *halo_module_create(const char *name);
/* Appends an empty computation; `name` is copied and made unique with a suffix ".N" if need be, which
 * looks through all others. NULL: no look; the caller sets a name that it knows to be unique. */
halo_computation *halo_computation_create(halo_module *module, const char *name);

/* What an instruction is made of. Pointers are copied into the module's arena (attribute payloads
 * must already live there or outlive the module); the literal is retained. */
typedef struct halo_instr_spec {
  halo_opcode opcode;
  const char *name;        /* NULL or "": a fresh "<opcode>.<n>" */
  const halo_shape *shape; /* the written shape, or NULL to infer it */
  halo_instr *const *operands;
  int32_t operand_count;
  const halo_attr *attrs;
  int32_t attr_count;
  int64_t parameter_number;
  halo_literal *literal;
  int32_t line;
} halo_instr_spec;

/* Appends an instruction. Checks operand count and runs the op's inference: without a written shape
 * the inferred one is taken; with one it must be compatible with it and is kept (layout included).
 * HALO_INVALID_ARGUMENT with a message that names op, operand shapes and the broken rule. A
 * parameter is also entered into computation->params. Root stays unset until the caller sets it. */
halo_status halo_instr_create(halo_computation *computation, const halo_instr_spec *spec,
                              halo_instr **out);
/* As above without inference or checks: for front ends that read shapes on trust and verify the
 * whole module later, and for passes. A shape must be given. */
halo_instr *halo_instr_create_unchecked(halo_computation *computation, const halo_instr_spec *spec);

/* Common passes' short cuts: constants, and instructions with a known result shape. The shape is
 * used as it is (must live in the module's arena). */
halo_instr *halo_instr_constant(halo_computation *computation, halo_literal *literal);

/* ---- Reading ---- */

/* The attribute, or NULL when it is not set. */
const halo_attr *halo_instr_attr(const halo_instr *instr, halo_attr_id id);
/* Whether no attribute says what is computed: only where it lies and what it is for, as metadata does. */
bool halo_instr_is_bare(const halo_instr *instr);
int64_t halo_instr_int(const halo_instr *instr, halo_attr_id id, int64_t default_);
bool halo_instr_bool(const halo_instr *instr, halo_attr_id id, bool default_);
/* The list and its length in *count; NULL and 0 when not set. */
const int64_t *halo_instr_ints(const halo_instr *instr, halo_attr_id id, int32_t *count);
/* The first computation of a COMPS attribute, or NULL. */
halo_computation *halo_instr_comp(const halo_instr *instr, halo_attr_id id);
/* All computations an instruction calls, in attribute order. */
int32_t halo_instr_called_count(const halo_instr *instr);
halo_computation *halo_instr_called(const halo_instr *instr, int32_t i);

/* A walk over all calls that a computation makes; begins as {computation}. */
typedef struct halo_call_walk {
  halo_computation *computation;
  int32_t instr, called; /* where it stands */
} halo_call_walk;
/* The next computation called, and (when `from` is not NULL) the instruction that calls it; NULL at
 * the end. */
halo_computation *halo_call_walk_next(halo_call_walk *walk, const halo_instr **from);

/* ---- Checks before passes and plans work on a module ---- */

/* HALO_UNIMPLEMENTED where a computation would have more than some millions of instructions if what it calls stood at
 * each place that calls it: passes put calls and maps there; plans, and the partitioner, loops and branches too
 * (`with_control`). */
halo_status halo_module_check_size(const halo_module *module, bool with_control);
/* HALO_UNIMPLEMENTED for dimensions without a bound (naming instruction and line) in what the entry reaches. */
halo_status halo_module_check_bounds(const halo_module *module);

/* Branches of a conditional in index order (true, false for the pred form). */
int32_t halo_conditional_branch_count(const halo_instr *instr);
halo_computation *halo_conditional_branch(const halo_instr *instr, int32_t i);
/* How compare compares: the written type/order, else the default of the operands' element type. Integers and pred
 * may compare with the other signedness than theirs (pred as SIGNED: true is -1); floats do not compare as integers
 * nor integers as floats, whatever is written. */
halo_compare_type halo_compare_type_of(const halo_instr *compare);
static inline halo_instr *halo_instr_operand(const halo_instr *instr, int32_t i) {
  return instr->operands[i];
}
/* Whether the instruction must be kept even when unused (its op, or a computation it calls, has side
 * effects). */
bool halo_instr_has_side_effect(const halo_instr *instr);
/* Bit p: parameter p of a fused computation is read only at the position that is being written, since
 * every path from it to a result is of elementwise ops, all of one shape and layout. Parameters beyond
 * 63, and computations with tuple parameters, give 0 bits. */
uint64_t halo_computation_same_position(const halo_computation *computation);
/* Whether a slice or dynamic slice of the array that a dynamic-update-slice writes to takes the very window that is
 * written. */
bool halo_update_reads_window(const halo_instr *update, const halo_instr *read);
/* Whether the array that a fused dynamic-update-slice writes to, a parameter, is read too, but nothing is read
 * after it was written: the window is one element, which is computed before it is stored, or all reads are slices
 * of the window, each element of them for the same element of it. */
bool halo_computation_updates_in_place(const halo_computation *computation);
/* "%name = f32[2] add(f32[2] %a, f32[2] %b)" in an arena: for messages. */
const char *halo_instr_text(halo_arena *arena, const halo_instr *instr);

/* ---- Changing ---- */

/* Sets (replacing) or removes an attribute. */
void halo_instr_set_attr(halo_instr *instr, const halo_attr *attr);
void halo_instr_remove_attr(halo_instr *instr, halo_attr_id id);
/* Rebuilds computation->instrs in dependency order (depth-first post-order, parameters first) from
 * all instructions present plus all reachable from them; keeps relative order where it is legal.
 * Returns false (and leaves the list alone) when there is a cycle. */
bool halo_computation_sort(halo_computation *computation);
/* Removes instructions that neither the root nor a side effect needs (parameters stay). Returns
 * whether any went. */
bool halo_computation_remove_dead(halo_computation *computation);
/* Rebuilds module->computations: those reachable from the entry, callees first. */
void halo_module_remove_dead(halo_module *module);
/* A name not yet used in the module, from `prefix`. In the module's arena. */
const char *halo_module_fresh_name(halo_module *module, const char *prefix);

/* ---- Sizes that are known at run time only ---- */

/* Set by the pass dynamic-sizes: all shapes of instructions are static, and the sizes of the dynamic
 * dimensions of entry_params and entry_result, which keep their marks, are s32 scalars behind the parameters
 * that callers see, and behind the result that callers see in a tuple of both; each in the order of leaves and
 * dimensions. A note among the module's frontend attributes, so that it lives in text. */
bool halo_module_sizes_are_values(const halo_module *module);
void halo_module_set_sizes_are_values(halo_module *module);
/* The parameters and the result that callers see. */
int32_t halo_module_visible_params(const halo_module *module);
const halo_shape *halo_module_visible_result(const halo_module *module);

/* Notes the kind of memory that a parameter or a result (of a tuple: an element) lies in, for callers
 * (halo_module_memory_kind); entry.c. */
void halo_module_set_memory_kind(halo_module *module, bool result, int number, const char *kind);

/* ---- Copying ---- */

/* A deep copy with its own arena (literals shared); one reference. */
halo_module *halo_module_clone(const halo_module *module);
/* A deep copy of another module's computation, and of all that it calls, under new names in `to`. */
halo_computation *halo_computation_import(halo_module *to, const halo_computation *from);
/* Copies the instructions of `from` to the end of `to` (same module), parameters replaced by `args`
 * [from->params.count], and returns the copy of the root. Called computations are shared. */
halo_instr *halo_computation_inline(halo_computation *to, const halo_computation *from,
                                    halo_instr *const *args);

/* ---- Extents that are open (specialise.c) ---- */

/* Gives the open extents of parameters those of `count` arguments, and all others what follows from them; changes nothing
 * where none is open. The module is verified. HALO_INVALID_ARGUMENT for arguments that do not fit, HALO_UNIMPLEMENTED for
 * extents that do not follow; then the module is good for nothing. */
halo_status halo_module_specialise(halo_module *module, const halo_shape *const *arguments,
                                   int count);

#endif
