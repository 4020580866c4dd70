/* SPDX-License-Identifier: Apache-2.0 */
/* builder/conv.c: convolutions. */
#include "builder/build.h"

/* What a call says of the window, dimension by dimension; NULL where it says nothing. */
typedef struct conv_window {
  int count;
  const int64_t *strides, *lhs_dilation, *rhs_dilation;
  const halo_padding *padding; /* NULL: by `kind` */
  halo_conv_padding kind;
  const bool *reversal;
} conv_window;

static halo_conv_dims *conv_default_dims(build_call *call, int count) {
  halo_conv_dims *dims = halo_arena_new(halo_build_arena(call), halo_conv_dims);
  *dims = (halo_conv_dims){
      .spatial = count, .lhs_feature = 1, .rhs_input = 1, .rhs_output = 0, .out_feature = 1};
  for (int i = 0; i < count; i++) {
    dims->lhs_spatial[i] = dims->rhs_spatial[i] = dims->out_spatial[i] = i + 2;
  }
  return dims;
}

/* -1, which inference refuses, for what no array has. */
static int conv_number(int64_t number) {
  return number >= 0 && number < HALO_MAX_RANK ? (int)number : -1;
}

static halo_conv_dims *conv_dims(build_call *call, int count, const halo_conv_numbers *n) {
  if (!n) return conv_default_dims(call, count);
  if (count > 0 && (!n->lhs_spatial || !n->rhs_spatial || !n->out_spatial)) {
    halo_build_fail(call, "a list of spatial dimensions is NULL");
    return NULL;
  }
  halo_conv_dims *dims = conv_default_dims(call, count);
  dims->lhs_batch = conv_number(n->lhs_batch);
  dims->lhs_feature = conv_number(n->lhs_feature);
  dims->rhs_input = conv_number(n->rhs_input_feature);
  dims->rhs_output = conv_number(n->rhs_output_feature);
  dims->out_batch = conv_number(n->out_batch);
  dims->out_feature = conv_number(n->out_feature);
  for (int i = 0; i < count; i++) {
    dims->lhs_spatial[i] = conv_number(n->lhs_spatial[i]);
    dims->rhs_spatial[i] = conv_number(n->rhs_spatial[i]);
    dims->out_spatial[i] = conv_number(n->out_spatial[i]);
  }
  return dims;
}

/* The extent of a dimension, 1 where there is none: inference then says what is wrong. */
static int64_t conv_extent(const halo_shape *shape, int dim) {
  return dim >= 0 && dim < shape->rank ? shape->dims[dim] : 1;
}

/* The padding for a result of ceil(size / stride); without a stride, which is refused later, none. */
static void conv_pad_same(halo_window_dim *w, int64_t size) {
  if (w->stride < 1) return;
  int64_t results = size / w->stride + (size % w->stride != 0);
  int64_t total = results > 0 ? (results - 1) * w->stride + w->size - size : 0;
  if (total < 0) total = 0;
  w->pad_low = total / 2;
  w->pad_high = total - w->pad_low;
}

static halo_attr conv_window_attr(build_call *call, const conv_window *from,
                                  const halo_conv_dims *dims, const halo_shape *lhs,
                                  const halo_shape *rhs) {
  halo_attr attr = {.id = HALO_ATTR_WINDOW};
  halo_window_dim *w = halo_arena_array(halo_build_arena(call), halo_window_dim, from->count);
  for (int i = 0; i < from->count; i++) {
    w[i] = (halo_window_dim){.size = conv_extent(rhs, dims->rhs_spatial[i]),
                             .stride = from->strides ? from->strides[i] : 1,
                             .base_dilation = from->lhs_dilation ? from->lhs_dilation[i] : 1,
                             .window_dilation = from->rhs_dilation ? from->rhs_dilation[i] : 1,
                             .reversal = from->reversal && from->reversal[i]};
    if (from->padding) {
      w[i].pad_low = from->padding[i].low;
      w[i].pad_high = from->padding[i].high;
      if (from->padding[i].interior != 0) halo_build_fail(call, "padding %d has an interior", i);
    } else if (from->kind == HALO_CONV_SAME) {
      conv_pad_same(&w[i], conv_extent(lhs, dims->lhs_spatial[i]));
    }
  }
  attr.window.data = w;
  attr.window.count = from->count;
  return attr;
}

static bool conv_check(build_call *call, const conv_window *window, const halo_conv_options *o) {
  if (call->ok && (window->count < 0 || window->count > HALO_MAX_RANK - 2)) {
    halo_build_fail(call, "count must be 0 to %d, not %d", HALO_MAX_RANK - 2, window->count);
  }
  if (call->ok && (unsigned)window->kind > HALO_CONV_SAME) {
    halo_build_fail(call, "padding is neither HALO_CONV_VALID nor HALO_CONV_SAME");
  }
  if (call->ok && ((unsigned)o->lhs_precision > HALO_PRECISION_HIGHEST ||
                   (unsigned)o->rhs_precision > HALO_PRECISION_HIGHEST)) {
    halo_build_fail(call, "a precision is not one of default, high and highest");
  }
  if (call->ok && o->preferred_type != HALO_TYPE_INVALID &&
      !halo_type_is_array(o->preferred_type)) {
    halo_build_fail(call, "preferred_type is no element type");
  }
  return call->ok;
}

static halo_op conv_make(const char *function, halo_op lhs, halo_op rhs, const conv_window *window,
                         const halo_conv_numbers *numbers, const halo_conv_options *options) {
  static const halo_conv_options none = {0};
  build_call call = halo_build_begin_with(function, 2, (halo_op[]){lhs, rhs});
  const halo_conv_options *o = options ? options : &none;
  halo_instr *l = halo_build_array(&call, lhs), *r = halo_build_array(&call, rhs);
  if (!conv_check(&call, window, o)) return halo_build_result(&call, NULL);
  const halo_conv_dims *dims = conv_dims(&call, window->count, numbers);
  if (!dims) return halo_build_result(&call, NULL);
  halo_attr attrs[5] = {{.id = HALO_ATTR_DIM_LABELS, .conv = dims}};
  int count = 1;
  if (window->count > 0) {
    attrs[count++] = conv_window_attr(&call, window, dims, l->shape, r->shape);
  }
  if (o->feature_group_count) {
    attrs[count++] = halo_build_int(HALO_ATTR_FEATURE_GROUP_COUNT, o->feature_group_count);
  }
  if (o->batch_group_count) {
    attrs[count++] = halo_build_int(HALO_ATTR_BATCH_GROUP_COUNT, o->batch_group_count);
  }
  if (o->lhs_precision || o->rhs_precision) {
    int64_t precisions[] = {o->lhs_precision, o->rhs_precision};
    attrs[count++] = halo_build_ints(&call, HALO_ATTR_OPERAND_PRECISION, 2, precisions);
  }
  halo_instr *made =
      halo_build_op(&call, HALO_OP_CONVOLUTION, NULL, (halo_instr *[3]){l, r}, count, attrs);
  /* As of a dot: the written type is the preferred one, and any is legal. */
  if (made && o->preferred_type != HALO_TYPE_INVALID) {
    made->shape = halo_shape_with_type(halo_build_arena(&call), made->shape, o->preferred_type);
  }
  return halo_build_result(&call, made);
}

halo_op halo_conv(halo_op lhs, halo_op rhs, int count, const int64_t *strides,
                  halo_conv_padding padding, const halo_conv_options *options) {
  const conv_window window = {.count = count, .strides = strides, .kind = padding};
  return conv_make("halo_conv", lhs, rhs, &window, NULL, options);
}

halo_op halo_conv_with_general_padding(halo_op lhs, halo_op rhs, int count, const int64_t *strides,
                                       const halo_padding *padding,
                                       const halo_conv_options *options) {
  const conv_window window = {.count = count, .strides = strides, .padding = padding};
  return conv_make("halo_conv_with_general_padding", lhs, rhs, &window, NULL, options);
}

/* The forms below are told their numbers. */
static halo_op conv_make_numbered(const char *function, halo_op lhs, halo_op rhs,
                                  const conv_window *window, const halo_conv_numbers *numbers,
                                  const halo_conv_options *options) {
  if (numbers) return conv_make(function, lhs, rhs, window, numbers, options);
  build_call call = halo_build_begin_with(function, 2, (halo_op[]){lhs, rhs});
  if (call.ok) halo_build_fail(&call, "numbers is NULL");
  return halo_build_result(&call, NULL);
}

halo_op halo_conv_with_general_dimensions(halo_op lhs, halo_op rhs, int count,
                                          const int64_t *strides, halo_conv_padding padding,
                                          const halo_conv_numbers *numbers,
                                          const halo_conv_options *options) {
  const conv_window window = {.count = count, .strides = strides, .kind = padding};
  return conv_make_numbered("halo_conv_with_general_dimensions", lhs, rhs, &window, numbers,
                            options);
}

halo_op halo_conv_general(halo_op lhs, halo_op rhs, int count, const int64_t *strides,
                          const halo_padding *padding, const halo_conv_numbers *numbers,
                          const halo_conv_options *options) {
  const conv_window window = {.count = count, .strides = strides, .padding = padding};
  return conv_make_numbered("halo_conv_general", lhs, rhs, &window, numbers, options);
}

halo_op halo_conv_general_dilated(halo_op lhs, halo_op rhs, int count, const int64_t *strides,
                                  const halo_padding *padding, const int64_t *lhs_dilation,
                                  const int64_t *rhs_dilation, const bool *window_reversal,
                                  const halo_conv_numbers *numbers,
                                  const halo_conv_options *options) {
  const conv_window window = {.count = count,
                              .strides = strides,
                              .lhs_dilation = lhs_dilation,
                              .rhs_dilation = rhs_dilation,
                              .padding = padding,
                              .reversal = window_reversal};
  return conv_make_numbered("halo_conv_general_dilated", lhs, rhs, &window, numbers, options);
}
