/* SPDX-License-Identifier: Apache-2.0 */
/* use.c: a program of a stranger, who has only what was installed. Also compiled as C++. */
#include <halo/client.h>
#include <halo/literal.h>
#include <halo/npy.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  const int64_t dims[] = {2, 3};
  halo_shape *shape;
  char text[64];
  if (halo_shape_create_array(HALO_F32, 2, dims, &shape) != HALO_OK) return 1;
  halo_shape_to_text(shape, true, text, sizeof text);
  halo_shape_release(shape);
  if (halo_shape_create_array(HALO_F32, 2, NULL, &shape) == HALO_OK) return 2;
  puts(text);
  return strcmp(text, "f32[2,3]{1,0}") != 0 || halo_error_message()[0] == '\0';
}
