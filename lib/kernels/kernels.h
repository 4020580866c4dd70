/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/kernels.h: which kernels can compute a fusion, and the dispatcher that chooses.
 *
 * Each family file (loop.c, reduce.c, dot.c, ...) exports a table of implementations, best-known
 * first, the general one last. The dispatcher asks every implementation of the family whether it
 * supports the fusion on the device and what it would cost, takes the cheapest, and lets it lower:
 * append OpenCL C to the program and launches to the list. */
#ifndef HALO_KERNELS_KERNELS_H
#define HALO_KERNELS_KERNELS_H

#include "base/strbuf.h"
#include "codegen/emitter.h"
#include "hlo/attention.h"
#include "kernels/dot/gemm.h"
#include "opencl/caps.h"

/* One kernel launch, or one library call. Arguments are (role, index) pairs that the plan resolves to
 * buffers. */
typedef struct halo_launch {
  const halo_kernel *kernel; /* NULL: a library call */
  const char *label;         /* what people read: "fusion.3 reduce:row" */
  halo_kernel_arg *args;
  int32_t arg_count;
  halo_grid grid;
  /* Input `i` is read by each work item only where the same work item then writes the output, so
   * that the output may take the input's buffer: bit i. */
  uint64_t in_place;
  /* What output k holds before the launch: what input updates[k] does, or anything where that is -1; the
   * launch then writes parts of it. The plan copies, unless the input dies there. NULL: none. */
  const int32_t *updates;
  int32_t update_count;
  const halo_gemm *gemm; /* library call: CLBlast */
  bool
      own_unit; /* the kernel is a unit of its own, which other fusions may have too; so are all of the fusion's */
  halo_sections sections; /* of the prelude that such a kernel needs */
} halo_launch;

/* Scratch memory of one fusion: allocated before its first launch, free after its last. */
typedef struct halo_scratch {
  int64_t bytes;
} halo_scratch;

/* Answers about a fusion that the forms of loops share (loop/forms.c); none is known at first. */
typedef struct halo_loop_facts halo_loop_facts;
halo_loop_facts *halo_loop_facts_create(halo_arena *arena);

/* What lowering one fusion reads and writes. */
typedef struct halo_lowering {
  halo_arena *arena;
  const halo_caps *caps;
  const char *kernels;     /* the HALO_KERNELS list, or NULL */
  halo_arena *texts;       /* of kernels; descriptions too are gone when the plan is made */
  halo_strbuf *source;     /* of the next kernel; nothing of the program is named in it */
  halo_kernel_facts facts; /* of that kernel, so far */
  halo_sections *sections;
  halo_strbuf *explain; /* one line an implementation considered */
  const char *prefix;   /* of kernel names: what keeps those of one program apart, such as "u@_" */
  int32_t next_kernel;  /* numbers kernels in the lowering */
  /* the fusion */
  const char *name;                    /* of the fusion */
  const halo_computation *computation; /* its body */
  /* What a family of its own computes: the root, or the instruction that the root finishes elementwise,
   * position by position (HALO_TRAIT_FINISH). NULL: loops over elements do it all. Set by
   * halo_kernels_lower. */
  const halo_instr *hero;
  halo_loop_facts *loop; /* what forms of loops have found out; set by halo_kernels_lower */
  /* The description of the fusion by the family's `describe`; of the families with which the plan chooses how to launch steps, which have
   * no fusion: what they know of these steps. NULL: nothing. */
  const void *desc;
  const halo_target *target; /* that `cost` is to be for; NULL: the module's */
  /* One work group of the device, whose launch is a step of a region; NULL: regions cannot hold what is lowered, or are no
   * better than launches. */
  const halo_target *region;
  /* results */
  /* Whether the operations of the body, each done once an element, say what the launches take. */
  bool counts_operations;
  bool one_launch; /* as the implementation says */
  double seconds;  /* that all launches, or the host's call, are expected to take */
  const halo_instr
      *host_call; /* instead of launches: a custom call in the body, which the host is to do */
  HALO_VEC(const halo_kernel *) made; /* the kernels, in order */
  HALO_VEC(halo_launch) launches;
  HALO_VEC(halo_scratch) scratch;
  HALO_VEC(halo_literal *) tables; /* that launches have as constants: a reference each */
  halo_status tables_status;       /* the first failure to make one */
} halo_lowering;

/* Frees the lists of results, but what lies in arenas. */
void halo_lowering_deinit(halo_lowering *l);

/* Where the simple operations of a fusion's body, each done once an element, say what an implementation takes; elsewhere
 * it is its cost alone. On CPUs sums of work items are vectors, and what a row's sums are asked for is near. */
typedef enum halo_counts { HALO_COUNTS_NEVER, HALO_COUNTS_ON_CPUS, HALO_COUNTS_ALWAYS } halo_counts;

typedef struct halo_implementation {
  const char *name; /* "row": unique in its family */
  /* Whether it can; otherwise *why says why not, in a few words. */
  bool (*supports)(const halo_lowering *l, const char **why);
  /* Expected seconds, by what things cost on the target. */
  double (*cost)(const halo_lowering *l);
  halo_status (*lower)(halo_lowering *l);
  halo_counts counts;
  /* Whether the device and the installed libraries allow it for some fusion; otherwise *why says why not, in a few words.
   * NULL: any device does. `supports` is only called where this holds. */
  bool (*works_on)(const halo_caps *caps, const char **why);
  /* Whether no region of a GPU can hold what it launches: the work items of a group have local memory or barriers in common, or
   * a library or the host does it. */
  bool in_groups;
  /* Whether `cost` has one launch, or prices of its own for starting kernels; elsewhere it has a launch for each. */
  bool one_launch;
} halo_implementation;

typedef struct halo_family {
  const char *name;
  halo_opcode opcode; /* of its heroes; HALO_OPCODE_COUNT: whatever has no family of its own */
  const halo_implementation *implementations; /* ends with a NULL name */
  /* Recognises what the fusion computes, once a lowering: `supports`, `cost` and `lower` of all implementations find the result
   * as `desc`. It is made in the arena `texts`. Of a family without an opcode NULL says that the fusion is not of this
   * family. NULL: there is nothing to recognise. */
  const void *(*describe)(const halo_lowering *l);
} halo_family;

/* A new description, all 0, of a type. */
#define halo_desc_new(l, type) halo_arena_new((l)->texts, type)

#define FAMILY(name) extern const halo_family halo_family_##name;
#include "kernels/families.def"
#undef FAMILY

/* HALO_INVALID_ARGUMENT when HALO_KERNELS (NULL: none) names an implementation that does not exist, or prefers one that
 * never runs on this device. `more`: families besides those of fusions, up to a NULL. */
halo_status halo_kernels_check_list(const halo_caps *caps, const char *list,
                                    const halo_family *const *more);

/* Chooses and lowers. HALO_UNIMPLEMENTED (naming instruction and line) when an instruction of the
 * body has no device code; HALO_INVALID_ARGUMENT when HALO_KERNELS leaves no implementation. A named one is
 * taken wherever it can serve. `*out_chosen` is "family:name". */
halo_status halo_kernels_lower(halo_lowering *l, const char **out_chosen);

/* For whom kernels are quoted. */
typedef struct halo_kernels_device {
  const halo_caps *caps;
  const char *list; /* the HALO_KERNELS list, or NULL */
} halo_kernels_device;
/* Of halo_quotes: what the implementation that halo_kernels_lower would choose costs on a halo_kernels_device, with the module's
 * target. Nothing of the body is changed; threads may ask at once. */
double halo_kernels_quote(const void *device, const halo_computation *body, bool in_rounds);

/* The cheapest of implementations, up to a NULL name, of a family: of those that the list forces, if any can, and of none that
 * it leaves out. One that a region can hold counts as what it takes there, if that is less: *out_cost is its own. `explain` gets a line for each; NULL: none. HALO_INVALID_ARGUMENT as halo_kernels_lower. */
halo_status halo_kernels_choose(const halo_lowering *l, const char *family,
                                const halo_implementation *implementations, halo_strbuf *explain,
                                const halo_implementation **out_best, double *out_cost);

/* How messages name that list. */
#define HALO_KERNELS_LIST "the list of kernels (--kernels, HALO_KERNELS)"
/* An entry of that list: `length` characters "family:name", which a minus sign was before if `skip`. */
typedef struct halo_kernels_entry {
  const char *name;
  size_t length;
  bool skip;
} halo_kernels_entry;
/* The next entry that is not empty; *list moves behind it. False: there is none. */
bool halo_kernels_next(const char **list, halo_kernels_entry *out);
/* Whether an entry of `length` characters is "family:name". */
bool halo_kernels_is_entry(const char *entry, size_t length, const char *family, const char *name);
/* Whether it forces "family:name". */
bool halo_kernels_forces(const char *list, const char *entry);
/* How a list of kernels decides about "family:name": 1 forced, -1 skipped, 0 not named. */
int halo_kernels_listed(const char *list, const char *family, const char *name);

/* ---- For the families ---- */

/* For `works_on`: the device is a CPU. */
bool halo_kernels_on_cpus(const halo_caps *caps, const char **why);

/* The fusion's root; for a multi-output fusion the tuple. */
static inline const halo_instr *halo_lowering_root(const halo_lowering *l) {
  return l->computation->root;
}
/* Where the program is to run. */
static inline const halo_target *halo_lowering_target(const halo_lowering *l) {
  return l->target ? l->target : &l->computation->module->target;
}
/* Its prices. */
static inline const halo_prices *halo_lowering_prices(const halo_lowering *l) {
  return &halo_lowering_target(l)->prices;
}
/* Its parameters of kernels. */
static inline const halo_parameters *halo_lowering_parameters(const halo_lowering *l) {
  return &halo_lowering_target(l)->parameters;
}
/* Seconds in which `items` work items side by side do so many simple operations together. */
static inline double halo_lowering_operations(const halo_lowering *l, double operations,
                                              double items) {
  return halo_target_operations(halo_lowering_target(l), operations, items);
}
/* Seconds in which `items` work items side by side do so many of a loop's operations, of which those of neighbouring elements are
 * vectors on CPUs. */
static inline double halo_lowering_elements(const halo_lowering *l, double operations,
                                            double items) {
  return halo_lowering_operations(l, operations / halo_lowering_prices(l)->vector_gain, items);
}
/* Seconds in which they do those of the fusion's body, each element once; 0 where not all of it is such operations. */
double halo_lowering_body(const halo_lowering *l, double items);
/* Simple operations of a fusion's body if each element is computed once, by itself or on its way into sums; -1 where
 * something in it is of another kind. */
double halo_kernel_operations(const halo_computation *body);
/* Seconds of one kernel in which `items` work items side by side move so many bytes. */
static inline double halo_lowering_seconds(const halo_lowering *l, double bytes, double items) {
  return halo_lowering_prices(l)->launch + halo_target_bytes(halo_lowering_target(l), bytes, items);
}
/* A fresh kernel name such as "k0_row". The text of a kernel names nothing of the program, so that
 * equal fusions have equal texts: what people read is the launch's label. */
const char *halo_kernel_name(halo_lowering *l, const char *suffix);
/* A list of arguments as OpenCL C text. A kernel gets a pointer and an element offset for each; its
 * helper functions get plain pointers. No two arguments may share memory that the kernel writes, other
 * than inputs in `in_place` (bits, as in halo_launch) and outputs where there is such an input. In the
 * arena. */
typedef struct halo_arg_texts {
  const halo_kernel_param *params; /* the kernel's, as many */
  const char *signature;           /* of the kernel: "__global const float *a0_, ulong a0o, ..." */
  const char *pointers;   /* its first lines: "__global const float *a0 = a0_ + a0o;" ... */
  const char *parameters; /* of functions: "__global const float *a0, ..." */
  const char *arguments;  /* in calls of them: "a0, ..." */
} halo_arg_texts;
halo_arg_texts halo_kernel_arg_texts(halo_arena *arena, const halo_kernel_arg *args, int32_t count,
                                     uint64_t in_place);
/* Notes that the next kernel is written for groups of x * y work items. */
void halo_kernel_group(halo_lowering *l, size_t x, size_t y);
/* Notes an array of so many elements, of `size` bytes each: of a work group of the next kernel in local memory, or of each of its
 * work items in private memory. */
void halo_kernel_local(halo_lowering *l, int64_t count, size_t size);
void halo_kernel_private(halo_lowering *l, int64_t count, size_t size);
/* The same of arrays that are parts of one block of local memory (has_block in kernel.h), one behind the other: returns where the
 * array begins in it. That, and the count, which is how long it is, are in elements of ulong2. */
int64_t halo_kernel_block(halo_lowering *l, int64_t count, size_t size);
int64_t halo_block_count(int64_t count, size_t size);
/* An emitter of the fusion's body whose private arrays stay within what the device should give a work item. Not for functions
 * that do not get the kernel's arguments. */
void halo_lowering_emitter(const halo_lowering *l, halo_emitter *e);
/* The launches' arguments of HALO_ROLE_ITEM become scratches, together of 1/64 of the device's memory or a little more: a launch
 * of more work items is queued in parts. */
void halo_kernel_give_items(halo_lowering *l);
/* Makes a kernel of the source and the facts so far, which are empty then; its parameters are e's arguments. */
const halo_kernel *halo_kernel_finish(halo_lowering *l, const halo_emitter *e, const char *name,
                                      const halo_arg_texts *texts);
/* A launch of a kernel, of one dimension; its groups have the size that the kernel is written for, or none yet. e's arguments and
 * sections are taken over. */
halo_launch *halo_kernel_launch(halo_lowering *l, const halo_emitter *e, const halo_kernel *kernel,
                                const char *label, uint64_t in_place);
/* Adds a kernel with e's body, and a launch of it. */
halo_launch *halo_kernel_add(halo_lowering *l, halo_emitter *e, const char *name, const char *label,
                             uint64_t in_place);
/* Bytes of an element: loops that write no longer ones may be vectors of 16 elements and more before AVX-512, which
 * LLVM 15 then may get wrong (h_zero in scalar.cl). */
enum { HALO_NARROW = 2 };

/* In front of functions that several kernels call: they are not inlined where kernels become functions of a region either. Their names begin with
 * HALO_SHARED_NAME, and say all of what they are. */
#define HALO_SHARED_NAME "h_shared_"
#define HALO_KERNEL_SHARED_FUNCTION "__attribute__((min_vector_width(512), noinline)) "
/* Puts such a function, `text`, into a program that has none of this name yet. */
void halo_kernel_add_function(halo_strbuf *out, const char *name, const char *text);
/* The number of the input that an array parameter of the fusion's body is. */
int32_t halo_lowering_input(const halo_lowering *l, const halo_instr *parameter);
/* A work-group size for a one-dimensional launch of `items` items without local memory. */
size_t halo_kernel_local_size(const halo_caps *caps, int64_t items);
/* Sets a one-dimensional launch of so many work items, or a few more that do nothing, in groups of `local`. */
void halo_launch_line(halo_launch *launch, int64_t items, size_t local);
/* The same in groups of halo_kernel_local_size. */
void halo_launch_items(const halo_caps *caps, halo_launch *launch, int64_t items);

#endif
