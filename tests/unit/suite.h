/* tests/unit/suite.h: the end of a program of tests. */
#ifndef HALO_TESTS_SUITE_H
#define HALO_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite, as the variables that Check knows say, and releases it; what main returns. */
static inline int suite_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
