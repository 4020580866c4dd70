/* SPDX-License-Identifier: Apache-2.0 */
/* tools/absent_windows.c: the commands that need processes and pipes of POSIX, where these are not there. */
#include "tool.h"
#include "tune/tune.h"

int tool_bench(int argc, char **argv) {
  (void)argc, (void)argv;
  return tool_error("'halo bench' is not there on this system: it starts processes as POSIX does");
}

int tool_doctor(int argc, char **argv) {
  (void)argc, (void)argv;
  return tool_error(
      "'halo doctor' is not there on this system: it looks for drivers where POSIX systems have "
      "them");
}

int tool_tune(int argc, char **argv) {
  (void)argc, (void)argv;
  return tool_error("'halo tune' is not there on this system: it measures as 'halo bench' does");
}

/* As tools/tune/tune.c has it: nothing was tuned. */
void tune_print_state(const halo_device *device) { (void)device; }
