/* tools/profile.h: where the time went. */
#ifndef HALO_TOOLS_PROFILE_H
#define HALO_TOOLS_PROFILE_H

#include "halo/client.h"

#include <stdbool.h>

/* Prints a table of the steps of an executable whose client profiles, the slowest first; false after
 * a message. */
bool profile_print(halo_executable *executable);

#endif
