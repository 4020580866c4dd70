/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/text_test.h: what the tests of HLO text share. */
#ifndef HALO_TESTS_TEXT_TEST_H
#define HALO_TESTS_TEXT_TEST_H

#include "text/text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a module that must be right. Release it. */
static inline halo_module *text_read(const char *text) {
  halo_module *module;
  halo_status status = halo_module_parse(text, strlen(text), "t", &module);
  ck_assert_msg(status == HALO_OK, "%s\n%s", halo_error_message(), text);
  return module;
}

/* Reads a module that must be refused with a message that starts and goes on like this. */
static inline void text_refuse(const char *text, const char *place, const char *part) {
  halo_module *module = NULL;
  halo_status status = halo_module_parse(text, strlen(text), "t", &module);
  ck_assert_msg(status != HALO_OK, "accepted: %s", text);
  ck_assert_ptr_null(module);
  const char *message = halo_error_message();
  ck_assert_msg(strncmp(message, place, strlen(place)) == 0, "not at %s: %s", place, message);
  ck_assert_msg(strstr(message, part) != NULL, "no '%s' in: %s", part, message);
}

static inline halo_computation *text_computation(const halo_module *module, const char *name) {
  for (int32_t i = 0; i < module->computations.count; i++) {
    if (strcmp(module->computations.data[i]->name, name) == 0) return module->computations.data[i];
  }
  ck_abort_msg("no computation %s", name);
  return NULL;
}

static inline halo_instr *text_instr_in(const halo_computation *computation, const char *name) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    if (strcmp(computation->instrs.data[i]->name, name) == 0) return computation->instrs.data[i];
  }
  ck_abort_msg("no instruction %s", name);
  return NULL;
}

/* Of the entry. */
static inline halo_instr *text_instr(const halo_module *module, const char *name) {
  return text_instr_in(module->entry, name);
}

#endif
