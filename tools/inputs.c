/* SPDX-License-Identifier: Apache-2.0 */
/* tools/inputs.c: the arguments of a program: from files, from the command line, or generated. */
#include "inputs.h"

#include "recipes.h"
#include "tool.h"

#include "halo/npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX_RANK = 64 };

/* ---- The list ---- */

static void inputs_add(input_list *list, const char *name, const halo_shape *shape) {
  if (halo_shape_type(shape) == HALO_TOKEN) return;
  if (halo_shape_type(shape) == HALO_TUPLE) {
    for (int i = 0; i < halo_shape_tuple_count(shape); i++) {
      char *leaf = tool_printf("%s.%d", name, i);
      inputs_add(list, leaf, halo_shape_tuple_element(shape, i));
      free(leaf);
    }
    return;
  }
  list->data = tool_realloc(list->data, sizeof *list->data * (size_t)(list->count + 1));
  list->data[list->count++] = (input){.name = tool_strdup(name), .shape = shape};
}

void inputs_create(const halo_module *module, input_list *list) {
  *list = (input_list){.part_count = 1, .split = -1};
  for (int i = 0; i < halo_module_parameter_count(module); i++) {
    inputs_add(list, halo_module_parameter_name(module, i), halo_module_parameter_shape(module, i));
  }
}

void inputs_release(input_list *list) {
  for (int i = 0; i < list->count; i++) {
    free(list->data[i].name);
    free(list->data[i].origin);
    halo_literal_release(list->data[i].value);
  }
  free(list->data);
  *list = (input_list){0};
}

/* ---- Which one is meant ---- */

/* The length of a name without the number that HLO puts behind it: "x.12" is called x. */
static size_t inputs_base_length(const char *name) {
  const char *dot = strrchr(name, '.');
  if (!dot || dot == name || !dot[1]) return strlen(name);
  for (const char *at = dot + 1; *at; at++) {
    if (!isdigit((unsigned char)*at)) return strlen(name);
  }
  return (size_t)(dot - name);
}

bool inputs_is_open(const halo_shape *shape) {
  for (int d = 0; d < halo_shape_rank(shape); d++) {
    if (halo_shape_dim(shape, d) == HALO_UNBOUNDED) return true;
  }
  return false;
}

bool inputs_are_open(const input_list *list) {
  for (int i = 0; i < list->count; i++) {
    if (inputs_is_open(list->data[i].shape)) return true;
  }
  return false;
}

/* Equal, when what HLO names cannot contain counts as '_', as front ends write it: params[0] is
 * params_0_. */
static bool inputs_same_name(const char *a, size_t a_length, const char *b, size_t b_length) {
  if (a_length != b_length) return false;
  for (size_t i = 0; i < a_length; i++) {
    char x = isalnum((unsigned char)a[i]) || a[i] == '.' ? a[i] : '_';
    char y = isalnum((unsigned char)b[i]) || b[i] == '.' ? b[i] : '_';
    if (x != y) return false;
  }
  return true;
}

/* The number that fills the rest of a text, or -1. */
static int inputs_number(const char *text) {
  int value = 0;
  if (!*text || strlen(text) > 6) return -1;
  for (; *text; text++) {
    if (!isdigit((unsigned char)*text)) return -1;
    value = 10 * value + *text - '0';
  }
  return value;
}

/* The index that a name or number means: its whole name, its name without HLO's number, its place,
 * or its place as JAX and NumPy call it (arg0, Arg_0, arr_0). -1: none, -2: several. */
static int inputs_find(const input_list *list, const char *which) {
  size_t length = strlen(which);
  int found = -1;
  for (int i = 0; i < list->count; i++) {
    const char *name = list->data[i].name;
    if (inputs_same_name(which, length, name, strlen(name))) return i;
  }
  for (int i = 0; i < list->count; i++) {
    const char *name = list->data[i].name;
    if (!inputs_same_name(which, length, name, inputs_base_length(name))) continue;
    found = found == -1 ? i : -2;
  }
  if (found != -1) return found;
  static const char *const prefixes[] = {"", "arg", "Arg_", "arr_"};
  for (int p = 0; p < 4; p++) {
    if (strncmp(which, prefixes[p], strlen(prefixes[p])) != 0) continue;
    int number = inputs_number(which + strlen(prefixes[p]));
    if (number >= 0 && number < list->count) return number;
  }
  return -1;
}

/* Whether all are called by their place, "Arg_0.1", as in StableHLO text without locations. */
static bool inputs_have_no_names(const input_list *list) {
  for (int i = 0; i < list->count; i++) {
    const char *name = list->data[i].name;
    if (strncmp(name, "Arg_", 4) != 0) return false;
    for (name += 4; *name; name++) {
      if (!isdigit((unsigned char)*name) && *name != '.') return false;
    }
  }
  return list->count > 0;
}

static void inputs_print_names(const input_list *list) {
  enum { MOST = 12 };
  fputs(list->count ? "The program takes:" : "The program takes no arrays.", stderr);
  for (int i = 0; i < list->count && i < MOST; i++) {
    fprintf(stderr, "%s %s", i ? "," : "", list->data[i].name);
  }
  if (list->count > MOST) fprintf(stderr, ", ... (%d in all)", list->count);
  fputc('\n', stderr);
  if (inputs_have_no_names(list)) {
    fputs("It has no names for them: JAX writes names with .as_text(debug_info=True).\n", stderr);
  }
}

/* ---- Values ---- */

/* Whether an array has the input's extents; along a dynamic dimension it may have fewer than the bound, if there is
 * one. */
static bool inputs_fits(const halo_shape *shape, const halo_shape *wanted) {
  if (halo_shape_rank(shape) != halo_shape_rank(wanted)) return false;
  for (int d = 0; d < halo_shape_rank(shape); d++) {
    int64_t size = halo_shape_dim(shape, d), bound = halo_shape_dim(wanted, d);
    bool dynamic = halo_shape_dim_is_dynamic(wanted, d);
    if (bound != HALO_UNBOUNDED && (dynamic ? size > bound : size != bound)) return false;
  }
  return true;
}

/* For values that say no extents of their own. */
static int inputs_need_array(const input *in, int index) {
  return tool_error(
      "input %d (%s) is %s: give it as an array (.npy, .npz, a list, or with its extents: "
      "random[2,3]), whose extents are then the program's",
      index, in->name, tool_shape(in->shape));
}

/* An array of the input's element type with these extents; its own, or their bounds, for NULL. */
static halo_status inputs_array(const halo_shape *shape, const int64_t *extents,
                                halo_literal **out) {
  int64_t dims[INPUTS_MAX_RANK];
  halo_shape *sized;
  for (int d = 0; d < halo_shape_rank(shape); d++) {
    dims[d] = extents ? extents[d] : halo_shape_dim(shape, d);
  }
  halo_status status =
      halo_shape_create_array(halo_shape_type(shape), halo_shape_rank(shape), dims, &sized);
  if (status != HALO_OK) return status;
  status = halo_literal_create(sized, out);
  halo_shape_release(sized);
  return status;
}

/* The extents of a value in HLO's notation: of each dimension as many elements as its first list has. */
static void inputs_count(const char *text, int rank, int64_t *extents) {
  bool counted[INPUTS_MAX_RANK] = {false}, empty = true;
  int depth = 0;
  for (int d = 0; d < rank; d++) extents[d] = 0;
  for (; *text; text++) {
    int d = depth - 1;
    bool counting = d >= 0 && d < rank && !counted[d];
    if (*text == '{') {
      depth++;
      empty = true;
    } else if (*text == '}') {
      if (counting) extents[d] += !empty;
      if (counting) counted[d] = true;
      depth--;
      empty = false;
    } else if (*text == ',') {
      if (counting) extents[d]++;
    } else if (!isspace((unsigned char)*text)) {
      empty = false;
    }
  }
}

/* A value in HLO's notation, of as many elements as it has where the input's number is not fixed. */
static halo_status inputs_from_text(const char *text, const halo_shape *shape, halo_literal **out) {
  int64_t extents[INPUTS_MAX_RANK];
  halo_shape *sized;
  int rank = halo_shape_rank(shape);
  inputs_count(text, rank, extents);
  for (int d = 0; d < rank; d++) {
    int64_t bound = halo_shape_dim(shape, d);
    if (bound == HALO_UNBOUNDED) continue;
    if (!halo_shape_dim_is_dynamic(shape, d) || extents[d] > bound) extents[d] = bound;
  }
  halo_status status = halo_shape_create_array(halo_shape_type(shape), rank, extents, &sized);
  if (status != HALO_OK) return status;
  status = halo_literal_from_text(text, sized, out);
  halo_shape_release(sized);
  return status;
}

/* Of a value for all parts, the piece along the dimension that is split which is this part's. False after a
 * message; then the value is released. */
static bool inputs_cut(const input_list *list, const input *in, halo_literal **value,
                       const char *origin) {
  const halo_shape *shape = halo_literal_shape(*value);
  int rank = halo_shape_rank(shape), split = list->split;
  int64_t dims[INPUTS_MAX_RANK], rows = 1, row = 1;
  bool fits = rank == halo_shape_rank(in->shape) && split < rank;
  for (int d = 0; d < rank && fits; d++) {
    dims[d] = halo_shape_dim(in->shape, d);
    int64_t whole = d == split ? dims[d] * list->part_count : dims[d];
    fits = halo_shape_dim(shape, d) == whole;
    if (d < split) rows *= dims[d];
    if (d >= split) row *= dims[d];
  }
  halo_literal *piece = NULL;
  halo_shape *cut = NULL;
  if (!fits) {
    tool_error("%s holds %s, which is not %d times %s (%s) along dimension %d", origin,
               tool_shape(shape), list->part_count, tool_shape(in->shape), in->name, split);
  } else if (tool_check(halo_shape_create_array(halo_shape_type(shape), rank, dims, &cut)) &&
             tool_check(halo_literal_create(cut, &piece))) {
    size_t size = (size_t)row * halo_type_size(halo_shape_type(shape));
    const char *from = halo_literal_data(*value);
    char *to = halo_literal_data(piece);
    for (int64_t r = 0; r < rows; r++) {
      size_t at = (size_t)(r * list->part_count + list->part);
      memcpy(to + size * (size_t)r, from + size * at, size);
    }
  }
  halo_shape_release(cut);
  halo_literal_release(*value);
  *value = piece;
  return piece != NULL;
}

static void inputs_refuse_shape(const input *in, int index, const halo_shape *shape,
                                const char *origin, const char *hint) {
  tool_error("input %d (%s) is %s, and %s holds %s%s", index, in->name, tool_shape(in->shape),
             origin, tool_shape(shape), hint);
}

/* Takes `value` for an input, converting its element type when that is allowed; on failure it is
 * released. */
static int inputs_set(input_list *list, int index, halo_literal *value, const char *origin) {
  input *in = &list->data[index];
  if (list->split >= 0 && !inputs_cut(list, in, &value, origin)) return TOOL_FAILED;
  const halo_shape *shape = halo_literal_shape(value);
  bool same_dims = inputs_fits(shape, in->shape);
  if (!same_dims || halo_shape_type(shape) != halo_shape_type(in->shape)) {
    if (!same_dims || !list->convert) {
      inputs_refuse_shape(in, index, shape, origin, same_dims ? "; --convert converts it" : "");
      halo_literal_release(value);
      return TOOL_FAILED;
    }
    halo_literal *converted = NULL;
    int64_t extents[INPUTS_MAX_RANK];
    for (int d = 0; d < halo_shape_rank(shape); d++) extents[d] = halo_shape_dim(shape, d);
    bool ok = tool_check(inputs_array(in->shape, extents, &converted));
    halo_type from = halo_shape_type(shape);
    bool whole = strchr("sup", halo_type_name(from)[0]) != NULL;
    for (int64_t i = 0; ok && i < halo_shape_element_count(shape); i++) {
      double re, im;
      halo_literal_get_c128(value, i, &re, &im);
      if (whole) {
        halo_literal_set_i64(converted, i, halo_literal_get_i64(value, i));
      } else {
        halo_literal_set_c128(converted, i, re, im);
      }
    }
    halo_literal_release(value);
    if (!ok) return TOOL_FAILED;
    value = converted;
  }
  if (in->value) {
    halo_literal_release(value);
    tool_error("input %d (%s) is given twice: by %s and by %s", index, in->name, in->origin,
               origin);
    return TOOL_USAGE;
  }
  in->value = value;
  in->origin = tool_strdup(origin);
  return TOOL_OK;
}

static int inputs_read_npy(input_list *list, int index, const char *path) {
  halo_literal *value;
  halo_type type = halo_shape_type(list->data[index].shape);
  if (!tool_check(halo_npy_read(path, type, &value))) return TOOL_FAILED;
  return inputs_set(list, index, value, path);
}

/* An array of an archive for an input. A small archive may tell of an array of any size: elements are read only where the
 * extents are the input's. (Of what is cut for several parts it is looked at as a whole.) */
static int inputs_read_array(input_list *list, int index, halo_npz *npz, int number,
                             const char *origin) {
  const input *in = &list->data[index];
  halo_type type = halo_shape_type(in->shape);
  halo_shape *shape;
  if (!tool_check(halo_npz_shape(npz, number, type, &shape))) return TOOL_FAILED;
  bool fits = list->split >= 0 || inputs_fits(shape, in->shape);
  if (!fits) inputs_refuse_shape(in, index, shape, origin, "");
  halo_shape_release(shape);
  halo_literal *value;
  if (!fits || !tool_check(halo_npz_read(npz, number, type, &value))) return TOOL_FAILED;
  return inputs_set(list, index, value, origin);
}

/* "FILE.npz:MEMBER" */
static int inputs_read_member(input_list *list, int index, const char *text, size_t path_length) {
  const char *member = text + path_length + 1;
  char *path = tool_printf("%.*s", (int)path_length, text);
  halo_npz *npz = NULL;
  int code = TOOL_FAILED, found = -1;
  if (tool_check(halo_npz_open(path, &npz))) {
    for (int i = 0; i < halo_npz_count(npz); i++) {
      if (strcmp(halo_npz_name(npz, i), member) == 0) found = i;
    }
    if (found < 0) {
      tool_error("%s has no array '%s'", path, member);
    } else {
      code = inputs_read_array(list, index, npz, found, text);
    }
  }
  halo_npz_close(npz);
  free(path);
  return code;
}

/* Every element the same; `scalar` has the element type. */
static void inputs_fill(halo_literal *value, halo_literal *scalar) {
  const halo_shape *shape = halo_literal_shape(value);
  size_t size = halo_type_size(halo_shape_type(shape));
  char *data = halo_literal_data(value);
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    memcpy(data + (size_t)i * size, halo_literal_data(scalar), size);
  }
}

/* A value in HLO's own notation, or one number for all elements. */
static int inputs_parse_value(input_list *list, int index, const char *text) {
  const halo_shape *shape = list->data[index].shape;
  halo_literal *value = NULL;
  halo_status status;
  char *origin = tool_printf("%.60s%s", text, strlen(text) > 60 ? "..." : "");
  bool is_list = strchr(text, ',') && text[0] != '(' && halo_shape_rank(shape) == 1;
  if (inputs_is_open(shape) && text[0] != '{' && !is_list) {
    free(origin);
    return inputs_need_array(&list->data[index], index);
  }
  if (text[0] == '{' || halo_shape_rank(shape) == 0) {
    status = inputs_from_text(text, shape, &value);
  } else if (is_list) {
    char *braced = tool_printf("{%s}", text);
    status = inputs_from_text(braced, shape, &value);
    free(braced);
  } else {
    halo_shape *scalar_shape = NULL;
    halo_literal *scalar = NULL;
    status = halo_shape_create_array(halo_shape_type(shape), 0, NULL, &scalar_shape);
    if (status == HALO_OK) status = halo_literal_from_text(text, scalar_shape, &scalar);
    if (status == HALO_OK) status = inputs_array(shape, NULL, &value);
    if (status == HALO_OK) inputs_fill(value, scalar);
    halo_literal_release(scalar);
    halo_shape_release(scalar_shape);
  }
  int code = TOOL_USAGE;
  if (status == HALO_OK) {
    code = inputs_set(list, index, value, origin);
  } else {
    tool_error("'%s' is no value for input %d (%s), %s, and no .npy file:\n%s", origin, index,
               list->data[index].name, tool_shape(shape), halo_error_message());
  }
  free(origin);
  return code;
}

/* ---- Made-up values ---- */

static int inputs_make(input_list *list, int index, recipe_values recipe, uint64_t seed) {
  const halo_shape *shape = list->data[index].shape;
  if (inputs_is_open(shape)) return inputs_need_array(&list->data[index], index);
  halo_literal *value;
  if (inputs_array(shape, NULL, &value) != HALO_OK) {
    return tool_error("input %d (%s), %s: %s", index, list->data[index].name, tool_shape(shape),
                      halo_error_message());
  }
  char *origin = recipe_fill(recipe, value, index, seed);
  int code = inputs_set(list, index, value, origin);
  free(origin);
  return code;
}

/* ---- What the command line says ---- */

static int inputs_assign_whole(input_list *list, int index, const char *what) {
  const char *member = strstr(what, ".npz:");
  recipe_values recipe;
  if (list->split >= 0 && !member && !tool_ends_with(what, ".npy")) {
    tool_error("input %d (%s): only a .npy file, or an array of a .npz file, can be split", index,
               list->data[index].name);
    return TOOL_USAGE;
  }
  if (tool_ends_with(what, ".npy")) return inputs_read_npy(list, index, what);
  if (member) return inputs_read_member(list, index, what, (size_t)(member - what) + 4);
  if (recipe_parse(what, &recipe)) return inputs_make(list, index, recipe, list->seed);
  const char *name = list->data[index].name;
  if (!*what) {
    tool_error("input %d (%s) is given nothing", index, name);
    return TOOL_USAGE;
  }
  if (tool_ends_with(what, ".npz")) {
    tool_error("which array of %s is input %d (%s)? (%s:NAME)", what, index, name, what);
    return TOOL_USAGE;
  }
  if (strncmp(what, "random:", 7) == 0) {
    tool_error("input %d (%s): random:LOW:HIGH takes two numbers, the first smaller, not '%s'",
               index, name, what);
    return TOOL_USAGE;
  }
  return inputs_parse_value(list, index, what);
}

/* The extents in "2,3]", and how many they are; -1: something else is there. */
static int inputs_extents(const char *text, int64_t dims[INPUTS_MAX_RANK]) {
  int rank = 0;
  if (strcmp(text, "]") == 0) return 0;
  for (char end = ','; end == ','; text++) {
    char *stop;
    errno = 0;
    long long extent = strtoll(text, &stop, 10);
    if (rank == INPUTS_MAX_RANK || stop == text || errno != 0 || extent < 0) return -1;
    dims[rank++] = extent;
    text = stop;
    end = *text;
    if (end != ',' && strcmp(text, "]") != 0) return -1;
  }
  return rank;
}

/* "WHAT[2,3]": an input of these extents, and the length of what is before them. NULL where there are none, and after
 * a message (*code). */
static halo_shape *inputs_sized(const input *in, int index, const char *what, size_t *length,
                                int *code) {
  const char *open = strrchr(what, '[');
  int64_t dims[INPUTS_MAX_RANK];
  halo_shape *sized = NULL;
  if (!open || !tool_ends_with(what, "]")) return NULL;
  *length = (size_t)(open - what);
  int rank = inputs_extents(open + 1, dims);
  if (rank >= 0 &&
      halo_shape_create_array(halo_shape_type(in->shape), rank, dims, &sized) == HALO_OK &&
      inputs_fits(sized, in->shape)) {
    return sized;
  }
  halo_shape_release(sized);
  tool_error("input %d (%s) is %s, which the extents %s do not fit", index, in->name,
             tool_shape(in->shape), open);
  *code = TOOL_USAGE;
  return NULL;
}

static int inputs_assign_sized(input_list *list, int index, const char *what) {
  input *in = &list->data[index];
  const halo_shape *shape = in->shape;
  size_t length;
  int code = TOOL_OK;
  halo_shape *sized = inputs_sized(in, index, what, &length, &code);
  if (!sized) return code == TOOL_OK ? inputs_assign_whole(list, index, what) : code;
  char *value = length ? tool_printf("%.*s", (int)length, what) : tool_strdup("random");
  in->shape = sized;
  code = inputs_assign_whole(list, index, value);
  in->shape = shape;
  free(value);
  halo_shape_release(sized);
  return code;
}

static int inputs_assign_to(input_list *list, int index, const char *what) {
  int used = 0;
  list->split = -1;
  if (sscanf(what, "split:%d:%n", &list->split, &used) == 1 && used > 0 && list->split >= 0) {
    int code = inputs_assign_whole(list, index, what + used);
    list->split = -1;
    return code;
  }
  list->split = -1;
  return inputs_assign_sized(list, index, what);
}

int inputs_assign(input_list *list, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals) {
    if (tool_ends_with(text, ".npz")) return inputs_assign_archive(list, text);
    if (list->next >= list->count) {
      tool_error("--input %s is one too many: the program takes %d input%s", text, list->count,
                 list->count == 1 ? "" : "s");
      return TOOL_USAGE;
    }
    return inputs_assign_to(list, list->next++, text);
  }
  char *which = tool_printf("%.*s", (int)(equals - text), text);
  int index = inputs_find(list, which), code = TOOL_USAGE;
  if (index >= 0) {
    code = inputs_assign_to(list, index, equals + 1);
  } else if (index == -2) {
    tool_error("several inputs are called '%s'; use the whole name or the number", which);
    inputs_print_names(list);
  } else {
    tool_error("the program has no input '%s'", which);
    inputs_print_names(list);
  }
  free(which);
  return code;
}

static int inputs_take_members(input_list *list, halo_npz *npz, const char *path) {
  int used = 0;
  for (int i = 0; i < halo_npz_count(npz); i++) {
    const char *name = halo_npz_name(npz, i);
    int index = inputs_find(list, name);
    if (index < 0) continue;
    char *origin = tool_printf("%s:%s", path, name);
    int code = inputs_read_array(list, index, npz, i, origin);
    free(origin);
    if (code != TOOL_OK) return code;
    used++;
  }
  if (used < halo_npz_count(npz)) {
    tool_error("%s has arrays that no input is called after:", path);
    for (int i = 0; i < halo_npz_count(npz); i++) {
      if (inputs_find(list, halo_npz_name(npz, i)) >= 0) continue;
      fprintf(stderr, "  %s\n", halo_npz_name(npz, i));
    }
    inputs_print_names(list);
    return TOOL_USAGE;
  }
  return TOOL_OK;
}

int inputs_assign_archive(input_list *list, const char *path) {
  halo_npz *npz;
  if (!tool_check(halo_npz_open(path, &npz))) return TOOL_FAILED;
  int code = inputs_take_members(list, npz, path);
  halo_npz_close(npz);
  return code;
}

int inputs_generate(input_list *list, int *generated) {
  *generated = 0;
  for (int i = 0; i < list->count; i++) {
    if (list->data[i].value) continue;
    int code = inputs_make(list, i, (recipe_values){.kind = RECIPE_RANDOM}, list->seed);
    if (code != TOOL_OK) return code;
    ++*generated;
  }
  return TOOL_OK;
}
