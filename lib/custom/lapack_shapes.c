/* SPDX-License-Identifier: Apache-2.0 */
/* custom/lapack_shapes.c: holds the arrays of a call against what the routine declares. */
#include "base/status.h"
#include "base/strbuf.h"
#include "custom/lapack.h"

#include <stdio.h>
#include <string.h>

static const halo_type shapes_types[] = {HALO_F32, HALO_F64, HALO_C64, HALO_C128};

void lapack_name(const lapack_routine *routine, int kind, char out[LAPACK_NAME]) {
  const char *name = kind >= 2 && routine->complex_name ? routine->complex_name : routine->name;
  snprintf(out, LAPACK_NAME, "lapack_%c%s_ffi", "sdcz"[kind], name);
}

/* The facts known of a call while its arrays are gone through. */
typedef struct shapes_state {
  int kind;                /* of the call's numbers, as in shapes_types */
  const halo_shape *first; /* an array that has the batch in front of `first_rank` extents */
  int first_rank;
  lapack_extents extents;
} shapes_state;

static halo_type shapes_type(int kind, char letter) {
  bool wide = kind % 2 == 1;
  switch (letter) {
    case 'i': return HALO_S32;
    case 'r': return wide ? HALO_F64 : HALO_F32;
    case 'c': return wide ? HALO_C128 : HALO_C64;
  }
  return shapes_types[kind];
}

/* The extent at *at, "n" or "n-1", which is moved behind it. A letter that is met first takes `extent`. */
static int64_t shapes_extent(lapack_extents *extents, const char **at, int64_t extent) {
  int64_t *known = &extents->of[*(*at)++ - 'a'];
  if (**at == '-') {
    *at += 2;
    return *known > 0 ? *known - 1 : 0;
  }
  if (*known < 0) *known = extent;
  return *known;
}

int lapack_rank(const char *declared) {
  int rank = declared[1] == '[';
  for (const char *at = declared; *at && *at != ' '; at++) rank += *at == ',';
  return rank;
}

const char *lapack_next(const char *declared) {
  declared += strcspn(declared, " ");
  return declared + strspn(declared, " ");
}

/* Whether an array is as the declaration says. */
static bool shapes_fit(shapes_state *s, const char *declared, const halo_shape *shape) {
  if (!halo_shape_is_array(shape)) return false;
  int rank = lapack_rank(declared), batch = shape->rank - rank;
  if (shape->type != shapes_type(s->kind, declared[0])) return false;
  if (batch < 0 || (s->first && batch != s->first->rank - s->first_rank)) return false;
  for (int d = 0; s->first && d < batch; d++) {
    if (shape->dims[d] != s->first->dims[d]) return false;
  }
  if (!s->first) {
    s->first = shape;
    s->first_rank = rank;
  }
  const char *at = declared + 2;
  for (int d = batch; d < shape->rank; d++, at++) {
    if (shapes_extent(&s->extents, &at, shape->dims[d]) != shape->dims[d]) return false;
  }
  /* Where m and n are known, k is the lesser. */
  int64_t m = s->extents.of['m' - 'a'], n = s->extents.of['n' - 'a'];
  if (m >= 0 && n >= 0) s->extents.of['k' - 'a'] = m < n ? m : n;
  return true;
}

/* "f32[..., 5, u]": extents that are not known are letters. */
static void shapes_print(halo_strbuf *out, const shapes_state *s, const char *declared) {
  halo_strbuf_append(out, halo_type_name(shapes_type(s->kind, declared[0])));
  halo_strbuf_append(out, "[...");
  for (const char *at = declared + 1; *at == '[' || *at == ','; at += strcspn(at, ",]")) {
    at++;
    int64_t known = s->extents.of[*at - 'a'];
    int less = at[1] == '-';
    if (known < 0) {
      halo_strbuf_printf(out, ", %.*s", less ? 3 : 1, at);
    } else {
      halo_strbuf_printf(out, ", %lld", (long long)(known > less ? known - less : 0));
    }
  }
  halo_strbuf_append(out, "]");
}

static halo_status shapes_refuse(const shapes_state *s, const char *what, int number,
                                 const char *declared, const halo_shape *shape) {
  halo_strbuf want = {0}, is = {0};
  shapes_print(&want, s, declared);
  halo_shape_print(&is, shape, false);
  halo_status status = halo_fail(HALO_INVALID_ARGUMENT, "%s %d must be %s, but is %s", what, number,
                                 halo_strbuf_text(&want), halo_strbuf_text(&is));
  halo_strbuf_deinit(&want);
  halo_strbuf_deinit(&is);
  return status;
}

/* One array, which the declaration at *declared is for; it and *number go on. */
static halo_status shapes_next(shapes_state *s, const char *what, const halo_shape *shape,
                               const char **declared, int *number) {
  if (!**declared) return halo_fail(HALO_INVALID_ARGUMENT, "there is no %s %d", what, *number);
  if (!shapes_fit(s, *declared, shape)) return shapes_refuse(s, what, *number, *declared, shape);
  *declared = lapack_next(*declared);
  (*number)++;
  return HALO_OK;
}

static halo_status shapes_check(shapes_state *s, const lapack_routine *routine, int operand_count,
                                const halo_shape *const *operands, const halo_shape *result,
                                const char *config) {
  const char *in = routine->in, *out = lapack_out(routine, s->kind);
  int number = 0;
  for (int i = 0; i < operand_count; i++) {
    HALO_TRY(shapes_next(s, "operand", operands[i], &in, &number));
  }
  if (*in) return halo_fail(HALO_INVALID_ARGUMENT, "operand %d is missing", number);
  number = 0;
  int parts = halo_shape_is_tuple(result) ? result->count : 1;
  for (int i = 0; i < parts; i++) {
    const halo_shape *part = halo_shape_is_tuple(result) ? result->elements[i] : result;
    HALO_TRY(shapes_next(s, "result", part, &out, &number));
  }
  if (*out) return halo_fail(HALO_INVALID_ARGUMENT, "result %d is missing", number);
  if (!routine->rule) return HALO_OK;
  halo_arena scratch = {0};
  halo_custom_frame call = {0};
  halo_status status = halo_custom_config_read(&scratch, config ? config : "", &call);
  const char *broken = status == HALO_OK ? routine->rule(&s->extents, &call) : NULL;
  if (broken) status = halo_fail(HALO_INVALID_ARGUMENT, "%s", broken);
  halo_arena_deinit(&scratch);
  return status;
}

/* NULL: the name is none of these. */
static const lapack_routine *shapes_find(const char *name, int *out_kind) {
  for (const lapack_routine *r = lapack_routines; r->name; r++) {
    for (int kind = 0; kind < LAPACK_KINDS; kind++) {
      char own[LAPACK_NAME];
      lapack_name(r, kind, own);
      *out_kind = kind;
      if (strcmp(own, name) == 0) return r;
    }
  }
  return NULL;
}

int halo_custom_lapack_rank(const char *name) {
  int kind;
  const lapack_routine *routine = shapes_find(name, &kind);
  return routine ? lapack_rank(routine->in) : -1;
}

halo_status halo_custom_lapack_check(const char *name, int operand_count,
                                     const halo_shape *const *operands, const halo_shape *result,
                                     const char *config) {
  shapes_state s = {0};
  const lapack_routine *routine = shapes_find(name, &s.kind);
  if (!routine) return HALO_OK;
  for (int i = 0; i < 26; i++) s.extents.of[i] = -1;
  halo_status status = shapes_check(&s, routine, operand_count, operands, result, config);
  return halo_fail_in(status, "custom call %s", name);
}
