/* SPDX-License-Identifier: Apache-2.0 */
/* tools/program.c: programs to be run, whose extents may follow from what they are given. */
#include "program.h"

#include "tool.h"

#include <stdlib.h>

/* The shapes of all parameters, of which those that are open are as their arrays; only arrays are open. *said: there
 * is one for each of these, which there must be if `must`. */
static int program_shapes(const halo_module *parameters, const input_list *inputs, bool must,
                          halo_specialisation *how, bool *said) {
  int count = halo_module_parameter_count(parameters), next = 0;
  const halo_shape **shapes = tool_alloc(sizeof *shapes * (size_t)(count + 1));
  int code = TOOL_OK;
  *said = true;
  for (int i = 0; i < count && code == TOOL_OK; i++) {
    shapes[i] = halo_module_parameter_shape(parameters, i);
    if (halo_shape_type(shapes[i]) == HALO_TOKEN) continue;
    const input *in = &inputs->data[next++];
    if (in->value) {
      shapes[i] = halo_literal_shape(in->value);
    } else if (inputs_is_open(in->shape) && !must) {
      *said = false;
    } else if (inputs_is_open(in->shape)) {
      code = tool_error(
          "input %d (%s) is %s: expected an array, whose extents are then the program's "
          "(--input '%d=[...]' gives extents)",
          next - 1, in->name, tool_shape(in->shape), next - 1);
    }
  }
  how->arguments = shapes;
  how->argument_count = count;
  return code;
}

/* The bytes of a program, read once. */
typedef struct program_source {
  const char *bytes;
  size_t size;
  const char *name;
} program_source;

/* `*out`: NULL, or the program as it was read with its extents open, which stays where no extents are given. */
static int program_specialise(const program_source *source, const halo_module *parameters,
                              int platform, program_assign_fn *assign, const void *user,
                              halo_module **out) {
  halo_specialisation how = {.platform_index = platform};
  input_list inputs = {0};
  bool said = false;
  int code = assign(user, parameters, &inputs);
  if (code == TOOL_OK) code = program_shapes(parameters, &inputs, !*out, &how, &said);
  if (code == TOOL_OK && said) {
    halo_module *open = *out;
    if (!tool_check(halo_module_read(source->bytes, source->size, source->name, &how, out))) {
      code = TOOL_FAILED;
    }
    halo_module_release(open);
  }
  free((void *)how.arguments);
  inputs_release(&inputs);
  return code;
}

static bool program_takes_open(const halo_module *module) {
  for (int i = 0; i < halo_module_parameter_count(module); i++) {
    if (inputs_is_open(halo_module_parameter_shape(module, i))) return true;
  }
  return false;
}

/* Whether what the program takes is open, so that the first failure to read it says nothing. */
static bool program_is_open(const program_source *source, halo_module **parameters) {
  input_list inputs;
  if (halo_module_read_parameters(source->bytes, source->size, source->name, parameters) !=
      HALO_OK) {
    return false;
  }
  inputs_create(*parameters, &inputs);
  bool open = inputs_are_open(&inputs);
  inputs_release(&inputs);
  return open;
}

int program_assign_inputs(const void *user, const halo_module *parameters, input_list *inputs) {
  const program_inputs *given = user;
  int code = TOOL_OK;
  inputs_create(parameters, inputs);
  for (int i = 0; i < given->count && code == TOOL_OK; i++) {
    code = inputs_assign(inputs, given->texts[i]);
  }
  return code;
}

int program_read_bytes(const char *bytes, size_t size, const char *name, int platform,
                       program_assign_fn *assign, const void *user, halo_module **out) {
  const halo_specialisation how = {.platform_index = platform};
  const program_source source = {bytes, size, name};
  halo_module *parameters = NULL;
  int code = TOOL_OK;
  *out = NULL;
  if (halo_module_read(bytes, size, name, &how, out) == HALO_OK) {
    /* HLO is read with extents that are open. */
    if (program_takes_open(*out) && program_is_open(&source, &parameters)) {
      code = program_specialise(&source, parameters, platform, assign, user, out);
    }
  } else {
    char *message = tool_strdup(halo_error_message());
    code = program_is_open(&source, &parameters)
               ? program_specialise(&source, parameters, platform, assign, user, out)
               : tool_error("%s", message);
    free(message);
  }
  halo_module_release(parameters);
  return code;
}

int program_read(const char *file, int platform, program_assign_fn *assign, const void *user,
                 halo_module **out) {
  char *bytes;
  size_t size;
  const char *name;
  *out = NULL;
  int code = tool_read_bytes(file, &bytes, &size, &name) ? TOOL_OK : TOOL_FAILED;
  if (code == TOOL_OK) code = program_read_bytes(bytes, size, name, platform, assign, user, out);
  free(bytes);
  return code;
}
