/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/layouts.c: the extension that tells layouts of arrays. */
#include "pjrt/pjrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its text, "{1,0}". */
struct PJRT_Layouts_MemoryLayout {
  char *text;
};

static PJRT_Layouts_MemoryLayout *layout_create(char *text) {
  PJRT_Layouts_MemoryLayout *layout = pjrt_alloc(sizeof *layout);
  layout->text = text;
  return layout;
}

/* The order of dimensions, of a shape or, without one, descending. */
static char *layout_text(const halo_shape *shape, int rank) {
  char *text = pjrt_alloc(16 * (size_t)rank + 16);
  size_t length = (size_t)sprintf(text, "{");
  for (int i = 0; i < rank; i++) {
    int d = shape ? halo_shape_minor_to_major(shape, i) : rank - 1 - i;
    length += (size_t)sprintf(text + length, i ? ",%d" : "%d", d);
  }
  sprintf(text + length, "}");
  return text;
}

/* Of what a program takes or gives: there, elements of less than a byte say their size, though each lies in a byte
 * of its own. */
static char *layout_text_sized(const halo_shape *shape) {
  char *text = layout_text(shape, halo_shape_rank(shape));
  halo_type type = halo_shape_type(shape);
  int bits = halo_type_bits(type);
  if (bits > 0 && bits < 8 && type != HALO_PRED) sprintf(strchr(text, '}'), ":E(%d)}", bits);
  return text;
}

PJRT_Layouts_MemoryLayout *pjrt_layout_create(const halo_shape *shape) {
  return layout_create(shape ? layout_text_sized(shape) : layout_text(NULL, 0));
}

void pjrt_layout_release(PJRT_Layouts_MemoryLayout *layout) {
  if (!layout) return;
  free(layout->text);
  free(layout);
}

/* ---- The interface ---- */

static PJRT_Error *layout_destroy(PJRT_Layouts_MemoryLayout_Destroy_Args *args) {
  pjrt_layout_release(args->layout);
  return NULL;
}

/* The text lives as long as the layout. */
static void layout_no_delete(PJRT_Layouts_SerializedLayout *layout) { (void)layout; }

static PJRT_Error *layout_serialize(PJRT_Layouts_MemoryLayout_Serialize_Args *args) {
  args->serialized_bytes = args->layout->text;
  args->serialized_bytes_size = strlen(args->layout->text);
  args->serialized_layout = NULL;
  args->serialized_layout_deleter = layout_no_delete;
  return NULL;
}

static PJRT_Error *layout_default(PJRT_Layouts_GetDefaultLayout_Args *args) {
  if (args->num_dims > 64) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "an array of %zu dimensions",
                      args->num_dims);
  }
  args->layout = layout_create(layout_text(NULL, (int)args->num_dims));
  return NULL;
}

static PJRT_Error *layout_of_buffer(PJRT_Layouts_Buffer_MemoryLayout_Args *args) {
  PJRT_Buffer *buffer = args->buffer;
  pthread_mutex_lock(&buffer->lock);
  const halo_shape *shape = buffer->value ? halo_buffer_shape(buffer->value) : NULL;
  args->layout = layout_create(layout_text(shape, (int)buffer->rank));
  pthread_mutex_unlock(&buffer->lock);
  return NULL;
}

static PJRT_Error *layouts_of_results(PJRT_Layouts_Executable_Args *args) {
  args->count = args->executable->core->results.count;
  args->layouts = args->executable->core->results.layouts;
  return NULL;
}

static PJRT_Error *layouts_of_parameters(PJRT_Layouts_Executable_Args *args) {
  args->count = args->executable->core->arguments.count;
  args->layouts = args->executable->core->arguments.layouts;
  return NULL;
}

PJRT_Layouts_Extension pjrt_layouts_extension = {
    .base = {.struct_size = sizeof(PJRT_Layouts_Extension),
             .type = PJRT_Extension_Type_Layouts,
             .next = &pjrt_partitioner_extension.base},
    .layout_destroy = layout_destroy,
    .layout_serialize = layout_serialize,
    .client_default = layout_default,
    .buffer_layout = layout_of_buffer,
    .topology_default = layout_default,
    .output_layouts = layouts_of_results,
    .parameter_layouts = layouts_of_parameters};
