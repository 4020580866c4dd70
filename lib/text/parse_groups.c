/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_groups.c: replica groups in their three spellings, all reduced to lists. */
#include "text/parser.h"

#include <string.h>

typedef HALO_VEC(int64_t) groups_ints;

/* Builds groups of equal size from a flat list of ids. */
static halo_groups *groups_of_rows(halo_text_parser *p, const int64_t *ids, int64_t count,
                                   int64_t size) {
  halo_groups *groups = halo_arena_new(p->arena, halo_groups);
  int32_t *starts = halo_arena_array(p->arena, int32_t, count + 1);
  for (int64_t g = 0; g <= count; g++) starts[g] = (int32_t)(g * size);
  groups->count = (int32_t)count;
  groups->starts = starts;
  groups->ids = halo_arena_copy(p->arena, ids, sizeof *ids * (size_t)(count * size));
  return groups;
}

/* Keeps hostile texts from expanding to more than fits. */
static halo_status groups_charge(halo_text_parser *p, const char *at, int64_t ids) {
  if (ids > HALO_TEXT_MAX_GROUP_IDS - p->group_ids) {
    return halo_text_error(p, at, "the module's replica groups hold more than %d ids in all",
                           HALO_TEXT_MAX_GROUP_IDS);
  }
  p->group_ids += ids;
  return HALO_OK;
}

/* ---- Lists: {{0,1},{2,3}} ---- */

static halo_status groups_read_list(halo_text_parser *p, groups_ints *ids, groups_ints *starts) {
  halo_text_advance(p);
  halo_vec_push(starts, 0);
  while (p->tok.kind != '}') {
    HALO_TRY(halo_text_expect(p, '{', "'{' to open a group, or '}'"));
    while (p->tok.kind != '}') {
      int64_t id;
      HALO_TRY(halo_text_int(p, "a replica id", &id));
      halo_vec_push(ids, id);
      HALO_TRY(halo_text_separator(p, '}', "',' or '}' after a replica id"));
    }
    halo_text_advance(p);
    halo_vec_push(starts, ids->count);
    HALO_TRY(halo_text_separator(p, '}', "',' or '}' after a group"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

static halo_status groups_list(halo_text_parser *p, halo_attr *attr) {
  groups_ints ids = {0}, starts = {0};
  halo_status status = groups_read_list(p, &ids, &starts);
  if (status == HALO_OK) {
    halo_groups *groups = halo_arena_new(p->arena, halo_groups);
    int32_t *copy = halo_arena_array(p->arena, int32_t, starts.count);
    for (int32_t i = 0; i < starts.count; i++) copy[i] = (int32_t)starts.data[i];
    groups->count = starts.count - 1;
    groups->starts = copy;
    groups->ids = halo_arena_copy(p->arena, ids.data, sizeof(int64_t) * (size_t)ids.count);
    attr->groups = groups;
  }
  halo_vec_deinit(&ids);
  halo_vec_deinit(&starts);
  return status;
}

/* ---- Iota: [4,2]<=[2,4]T(1,0) ---- */

typedef struct groups_iota {
  int rank, target_rank;
  int64_t dims[HALO_MAX_RANK], target[HALO_MAX_RANK];
  int32_t order[HALO_MAX_RANK]; /* of the transpose */
  int64_t size;
} groups_iota;

/* Takes "[a,b,...]" and multiplies. */
static halo_status groups_dims(halo_text_parser *p, int64_t *dims, int *rank, int64_t *product) {
  HALO_TRY(halo_text_expect(p, '[', "'[' to open a list of extents"));
  *rank = 0;
  *product = 1;
  for (;;) {
    const char *at = p->tok.start;
    int64_t d;
    HALO_TRY(halo_text_int(p, "an extent", &d));
    if (d <= 0 || !halo_mul_i64(*product, d, product)) {
      return halo_text_error(p, at, "expected a positive extent of reasonable size");
    }
    if (*rank == HALO_MAX_RANK) {
      return halo_text_error(p, at, "expected at most %d extents", HALO_MAX_RANK);
    }
    dims[(*rank)++] = d;
    if (!halo_text_accept(p, ',')) break;
  }
  return halo_text_expect(p, ']', "',' or ']' after an extent");
}

/* Takes "T(1,0)" when it is there. */
static halo_status groups_transpose(halo_text_parser *p, groups_iota *iota) {
  for (int i = 0; i < iota->rank; i++) iota->order[i] = i;
  if (!halo_text_is_word(p, "T")) {
    if (iota->rank == 1) return HALO_OK;
    return halo_text_expected(p, "T(...) after a list of several extents");
  }
  const char *start = p->tok.start;
  halo_text_advance(p);
  HALO_TRY(halo_text_expect(p, '(', "'(' after T"));
  int count = 0;
  bool seen[HALO_MAX_RANK] = {false};
  for (;;) {
    const char *at = p->tok.start;
    int64_t d;
    HALO_TRY(halo_text_int(p, "a dimension", &d));
    if (d < 0 || d >= iota->rank || seen[d]) {
      return halo_text_error(p, at, "expected each dimension from 0 to %d once", iota->rank - 1);
    }
    seen[d] = true;
    iota->order[count++] = (int32_t)d;
    if (!halo_text_accept(p, ',')) break;
  }
  if (count != iota->rank) {
    return halo_text_error(p, start, "expected %d dimension%s in T(...), found %d", iota->rank,
                           halo_plural(iota->rank), count);
  }
  return halo_text_expect(p, ')', "')' after T(...)");
}

/* Takes "[target]<=[dims]T(...)"; the last two may be missing, which means 0..n-1. */
static halo_status groups_read_iota(halo_text_parser *p, groups_iota *iota, bool short_form) {
  const char *start = p->tok.start;
  int64_t product;
  HALO_TRY(groups_dims(p, iota->target, &iota->target_rank, &iota->size));
  if (p->tok.kind != TOK_LEQ && short_form) {
    iota->rank = iota->target_rank;
    memcpy(iota->dims, iota->target, sizeof iota->dims);
    return groups_transpose(p, iota);
  }
  HALO_TRY(halo_text_expect(p, TOK_LEQ, "'<=' in iota replica groups"));
  HALO_TRY(groups_dims(p, iota->dims, &iota->rank, &product));
  if (product != iota->size) {
    return halo_text_error(p, start, "the two sides of '<=' have %lld and %lld elements",
                           (long long)iota->size, (long long)product);
  }
  return groups_transpose(p, iota);
}

/* Writes the transposed iota's values in order. */
static void groups_expand(const groups_iota *iota, int64_t *ids) {
  int64_t strides[HALO_MAX_RANK], index[HALO_MAX_RANK] = {0};
  int64_t stride = 1;
  for (int d = iota->rank - 1; d >= 0; d--) {
    strides[d] = stride;
    stride *= iota->dims[d];
  }
  for (int64_t i = 0; i < iota->size; i++) {
    int64_t id = 0;
    for (int d = 0; d < iota->rank; d++) id += index[d] * strides[iota->order[d]];
    ids[i] = id;
    for (int d = iota->rank - 1; d >= 0; d--) {
      if (++index[d] < iota->dims[iota->order[d]]) break;
      index[d] = 0;
    }
  }
}

static halo_status groups_iota_form(halo_text_parser *p, halo_groups **out) {
  const char *start = p->tok.start;
  groups_iota iota;
  HALO_TRY(groups_read_iota(p, &iota, false));
  if (iota.target_rank != 2) {
    return halo_text_error(p, start, "expected [groups,size] on the left of '<='");
  }
  HALO_TRY(groups_charge(p, start, iota.size));
  int64_t *ids = halo_alloc(sizeof *ids * (size_t)iota.size);
  groups_expand(&iota, ids);
  *out = groups_of_rows(p, ids, iota.target[0], iota.target[1]);
  halo_free(ids);
  return HALO_OK;
}

/* ---- Mesh: mesh["x"=2,"y"=4], device_ids=(...) {"y"} ---- */

enum { GROUPS_MAX_AXES = 32 };

typedef struct groups_axis {
  const char *name;
  int64_t size;
} groups_axis;

/* A part of a mesh axis that the groups run along: extents pre | size | rest. */
typedef struct groups_axis_ref {
  int axis;
  int64_t pre, size;
} groups_axis_ref;

typedef struct groups_mesh {
  groups_axis axes[GROUPS_MAX_AXES];
  groups_axis_ref refs[GROUPS_MAX_AXES];
  int axis_count, ref_count;
  int64_t size;
  int64_t *ids; /* of the devices, row-major over the axes; heap */
} groups_mesh;

static halo_status groups_axis_name(halo_text_parser *p, const char **out) {
  if (p->tok.kind == TOK_STRING) return halo_text_string(p, "an axis name", out);
  return halo_text_name(p, "an axis name", out);
}

static halo_status groups_mesh_axes(halo_text_parser *p, groups_mesh *mesh) {
  HALO_TRY(halo_text_expect(p, '[', "'[' after mesh"));
  mesh->size = 1;
  while (p->tok.kind != ']') {
    const char *at = p->tok.start;
    if (mesh->axis_count == GROUPS_MAX_AXES) {
      return halo_text_error(p, at, "a mesh has at most %d axes", GROUPS_MAX_AXES);
    }
    groups_axis *axis = &mesh->axes[mesh->axis_count++];
    HALO_TRY(groups_axis_name(p, &axis->name));
    HALO_TRY(halo_text_expect(p, '=', "'=' after the axis name"));
    HALO_TRY(halo_text_int(p, "the axis' size", &axis->size));
    if (axis->size <= 0 || !halo_mul_i64(mesh->size, axis->size, &mesh->size)) {
      return halo_text_error(p, at, "expected a positive axis size");
    }
    HALO_TRY(halo_text_separator(p, ']', "',' or ']' after an axis"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

/* Takes the device ids in either form, or makes 0..n-1. */
static halo_status groups_mesh_devices(halo_text_parser *p, groups_mesh *mesh) {
  HALO_TRY(groups_charge(p, p->tok.start, 2 * mesh->size));
  mesh->ids = halo_alloc(sizeof *mesh->ids * (size_t)mesh->size);
  for (int64_t i = 0; i < mesh->size; i++) mesh->ids[i] = i;
  halo_text_token next = halo_text_peek(p);
  if (p->tok.kind != ',' || !halo_text_token_is(&next, "device_ids")) return HALO_OK;
  halo_text_advance(p);
  halo_text_advance(p);
  HALO_TRY(halo_text_expect(p, '=', "'=' after device_ids"));
  HALO_TRY(halo_text_expect(p, '(', "'(' to open the device ids"));
  const char *at = p->tok.start;
  if (p->tok.kind == '[') {
    groups_iota iota;
    HALO_TRY(groups_read_iota(p, &iota, true));
    if (iota.size != mesh->size) {
      return halo_text_error(p, at, "expected %lld device ids, found %lld", (long long)mesh->size,
                             (long long)iota.size);
    }
    groups_expand(&iota, mesh->ids);
  } else {
    for (int64_t i = 0; i < mesh->size; i++) {
      if (i) HALO_TRY(halo_text_expect(p, ',', "',' and the next device id"));
      HALO_TRY(halo_text_int(p, "a device id", &mesh->ids[i]));
    }
  }
  return halo_text_expect(p, ')', "')' after the device ids");
}

/* Takes {"y","x":(2)4}. */
static halo_status groups_mesh_refs(halo_text_parser *p, groups_mesh *mesh) {
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the list of axes"));
  while (p->tok.kind != '}') {
    const char *at = p->tok.start, *name;
    if (mesh->ref_count == GROUPS_MAX_AXES) {
      return halo_text_error(p, at, "expected at most %d axes", GROUPS_MAX_AXES);
    }
    HALO_TRY(groups_axis_name(p, &name));
    groups_axis_ref *ref = &mesh->refs[mesh->ref_count++];
    ref->axis = 0;
    while (ref->axis < mesh->axis_count && strcmp(mesh->axes[ref->axis].name, name) != 0) {
      ref->axis++;
    }
    if (ref->axis == mesh->axis_count) {
      return halo_text_error(p, at, "expected an axis of this mesh");
    }
    int64_t whole = mesh->axes[ref->axis].size, used;
    ref->pre = 1;
    ref->size = whole;
    if (halo_text_accept(p, ':')) {
      HALO_TRY(halo_text_expect(p, '(', "'(' of a sub-axis (pre)size"));
      HALO_TRY(halo_text_int(p, "the extent before the sub-axis", &ref->pre));
      HALO_TRY(halo_text_expect(p, ')', "')' of a sub-axis (pre)size"));
      HALO_TRY(halo_text_int(p, "the sub-axis' size", &ref->size));
    }
    if (ref->pre <= 0 || ref->size <= 0 || !halo_mul_i64(ref->pre, ref->size, &used) ||
        whole % used != 0) {
      return halo_text_error(p, at, "expected a sub-axis that divides the axis' size %lld",
                             (long long)whole);
    }
    for (int i = 0; i + 1 < mesh->ref_count; i++) {
      const groups_axis_ref *other = &mesh->refs[i];
      if (other->axis == ref->axis && other->pre < used && ref->pre < other->pre * other->size) {
        return halo_text_error(p, at, "this axis is named twice");
      }
    }
    HALO_TRY(halo_text_separator(p, '}', "',' or '}' after an axis"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

/* A device's group and place in it: the named parts of its coordinates, and the rest. */
static void groups_mesh_place(const groups_mesh *mesh, int64_t device, int64_t *group,
                              int64_t *place) {
  int64_t coordinates[GROUPS_MAX_AXES];
  for (int a = mesh->axis_count - 1; a >= 0; a--) {
    coordinates[a] = device % mesh->axes[a].size;
    device /= mesh->axes[a].size;
  }
  *place = 0;
  for (int i = 0; i < mesh->ref_count; i++) {
    const groups_axis_ref *ref = &mesh->refs[i];
    int64_t rest = mesh->axes[ref->axis].size / (ref->pre * ref->size);
    *place = *place * ref->size + coordinates[ref->axis] / rest % ref->size;
  }
  /* What remains of the coordinates once the named parts are taken out numbers the groups. */
  for (int i = 0; i < mesh->ref_count; i++) {
    const groups_axis_ref *ref = &mesh->refs[i];
    int64_t rest = mesh->axes[ref->axis].size / (ref->pre * ref->size);
    coordinates[ref->axis] -= coordinates[ref->axis] / rest % ref->size * rest;
  }
  *group = 0;
  for (int a = 0; a < mesh->axis_count; a++) {
    *group = *group * mesh->axes[a].size + coordinates[a];
  }
}

static halo_groups *groups_mesh_build(halo_text_parser *p, const groups_mesh *mesh) {
  int64_t size = 1;
  for (int i = 0; i < mesh->ref_count; i++) size *= mesh->refs[i].size;
  int64_t count = mesh->size / size, found = 0;
  int64_t *rows = halo_alloc(sizeof *rows * (size_t)mesh->size);
  int64_t *number = halo_alloc(sizeof *number * (size_t)mesh->size); /* of a group, plus one */
  for (int64_t device = 0; device < mesh->size; device++) {
    int64_t group, place;
    groups_mesh_place(mesh, device, &group, &place);
    if (!number[group]) number[group] = ++found;
    rows[(number[group] - 1) * size + place] = mesh->ids[device];
  }
  halo_groups *groups = groups_of_rows(p, rows, count, size);
  halo_free(rows);
  halo_free(number);
  return groups;
}

static halo_status groups_mesh_form(halo_text_parser *p, halo_groups **out) {
  groups_mesh mesh = {0};
  if (halo_text_is_word(p, "maximal_mesh")) {
    int64_t id;
    halo_text_advance(p);
    HALO_TRY(halo_text_expect(p, '[', "'[' after maximal_mesh"));
    if (!halo_text_is_word(p, "device_id")) return halo_text_expected(p, "device_id=");
    halo_text_advance(p);
    HALO_TRY(halo_text_expect(p, '=', "'=' after device_id"));
    HALO_TRY(halo_text_int(p, "a device id", &id));
    HALO_TRY(halo_text_expect(p, ']', "']' after the device id"));
    if (p->tok.kind == '{') HALO_TRY(groups_mesh_refs(p, &mesh));
    *out = groups_of_rows(p, &id, 1, 1);
    return HALO_OK;
  }
  halo_text_advance(p);
  HALO_TRY(groups_mesh_axes(p, &mesh));
  halo_status status = groups_mesh_devices(p, &mesh);
  if (status == HALO_OK) status = groups_mesh_refs(p, &mesh);
  if (status == HALO_OK) *out = groups_mesh_build(p, &mesh);
  halo_free(mesh.ids);
  return status;
}

halo_status halo_text_groups(halo_text_parser *p, halo_attr *attr) {
  if (p->tok.kind == '{') return groups_list(p, attr);
  const char *start = p->tok.start;
  halo_groups *groups = NULL;
  if (p->tok.kind == '[') {
    /* Real modules repeat a few spellings thousands of times: each is expanded once. */
    const char *text;
    HALO_TRY(halo_text_raw(p, INT32_MAX, &text));
    attr->groups = halo_map_get_text(&p->groups, text);
    if (attr->groups) return HALO_OK;
    halo_text_resume(p, start);
    HALO_TRY(groups_iota_form(p, &groups));
    halo_map_set_text(&p->groups, text, groups);
  } else if (halo_text_is_word(p, "mesh") || halo_text_is_word(p, "maximal_mesh")) {
    HALO_TRY(groups_mesh_form(p, &groups));
  } else {
    return halo_text_expected(p, "replica groups such as {{0,1},{2,3}} or [2,4]<=[8]");
  }
  groups->text = halo_arena_strndup(p->arena, start, (size_t)(p->behind - start));
  attr->groups = groups;
  return HALO_OK;
}

halo_status halo_text_parse_groups(const char *text, halo_arena *arena, const halo_groups **out) {
  halo_text_parser p = {.arena = arena};
  halo_attr attr = {.id = HALO_ATTR_REPLICA_GROUPS};
  *out = NULL;
  HALO_TRY(halo_text_begin(&p, text, strlen(text), "replica groups"));
  halo_status status = halo_text_groups(&p, &attr);
  if (status == HALO_OK && p.tok.kind != TOK_END) {
    status = halo_text_expected(&p, "the end of the replica groups");
  }
  if (status == HALO_OK) *out = attr.groups;
  halo_text_finish(&p);
  return status;
}
