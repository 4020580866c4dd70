/* SPDX-License-Identifier: Apache-2.0 */
/* tools/doctor_plugin.c: `halo doctor` within the plugin, for those who have no more than the Python package
 * (`python -m jax_halo doctor`). */
#include "tool.h"

/* argv[0] is "doctor"; an exit code. */
HALO_API int HaloDoctor(int argc, char **argv);

int HaloDoctor(int argc, char **argv) {
  int code = tool_doctor(argc, argv);
  fflush(stdout);
  return code;
}
