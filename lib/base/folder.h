/* SPDX-License-Identifier: Apache-2.0 */
/* base/folder.h: folders of caches: made private to the user, and used only if nobody else can have put files there. */
#ifndef HALO_BASE_FOLDER_H
#define HALO_BASE_FOLDER_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the folder and those above it that are missing, for the user alone (0700). Reports nothing: a folder that could not
 * be made is missing when it is used. */
void halo_folder_make(const char *path);

/* Whether the folder can be written to, or made, as far as that is seen without making it. */
bool halo_folder_is_writable(const char *path);

/* HALO_IO_ERROR where the disk of the folder, which need not be there yet, has less than so many bytes left for this user, or no
 * place for another file. HALO_OK also where that cannot be found out. */
halo_status halo_folder_check_room(const char *path, uint64_t least);

/* HALO_FAILED_PRECONDITION, with the reason, where others than this user and root can put files into the folder: another user
 * owns it, everybody may write there, or a group that is not the user's own. HALO_OK also where there is no such folder. */
halo_status halo_folder_check(const char *path);

/* Whether a cache in this folder may be used. Where the check fails the process's first such call for a folder says why on
 * stderr, in one line; this thread's message stays as it was. Any thread. */
bool halo_folder_is_trusted(const char *path);

#endif
