/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/suite.h: what all programs of tests share: how one ends, and what a failure must say. */
#ifndef HALO_TESTS_SUITE_H
#define HALO_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* The message of the library's last failure has this part; who asks includes the library's headers. */
#define ck_message_has(part)                                                                       \
  ck_assert_msg(strstr(halo_error_message(), part), "\"%s\" is not in: %s", part,                  \
                halo_error_message())

/* Runs the suite, as the variables that Check knows say, and releases it; what main returns. */
static inline int suite_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
