/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/linker_threads.c: an object with something that lib/linker does not link; compiled by itself. */
static _Thread_local int count;

int linker_next(void) { return ++count; }
