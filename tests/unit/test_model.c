/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_model.c: whether plans for GPUs are the best that the dispatcher knows, by its own prices. Each program of
 * `halo bench programs` is planned for several cards as it is by default, and once with each implementation forced or left
 * out. No plan may be expected to take over 1.3 times as long as the best of these: an implementation that is
 * cheaper by itself can keep steps out of a region or a bundle, and cost more there than it gains. */
#include "client/executable.h"
#include "plan/lowering.h"
#include "run_test.h"
#include "suite.h"

#include <dirent.h>
#include <stdlib.h>

static const char *const devices[] = {"nvidia-h100", "nvidia-a100", "amd-mi210",
                                      "amd-gfx1100", "intel-arc",   "intel-integrated"};

static const char *const lists[] = {
    "region:steps", "region:kernel", "bundle:steps",   "-dot:clblast",   "dot:loop",
    "dot:tile",     "conv:loop",     "conv:tile",      "reduce:loop",    "reduce:row,reduce:column",
    "-rows:few",    "rows:item",     "rows:group",     "scatter:parts",  "scatter:ordered",
    "sort:merge",   "sort:radix",    "topk:select",    "topk:merge",     "window:loop",
    "window:scan",  "loop:generic",  "attention:tile", "attention:item", "attention:loop"};
enum { DEVICES = sizeof devices / sizeof *devices, LISTS = sizeof lists / sizeof *lists };

/* Plans that are accepted, with the reason. */
static const struct {
  const char *program, *device, *list, *why;
} accepted[] = {
    {"julia_set.small", NULL, "reduce:loop",
     "no region holds reduce:row, which leaves its loop to the host; the sum of 256 in order by "
     "one work item takes less"},
};

static bool is_accepted(const char *program, const char *device, const char *list) {
  for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
    if (accepted[i].program &&
        strncmp(program, accepted[i].program, strlen(accepted[i].program)) == 0 &&
        (!accepted[i].device || strcmp(device, accepted[i].device) == 0) &&
        strcmp(list, accepted[i].list) == 0) {
      return true;
    }
  }
  return false;
}

/* ---- Seconds that a plan is expected to take on a target ---- */

typedef struct seconds_site {
  const halo_target *target;
  const halo_caps *caps;
} seconds_site;

static double seconds_of_list(const halo_steps *steps, const seconds_site *at);

static double seconds_of_loop(const halo_step *step, const seconds_site *at) {
  bool known = step->trips >= 0;
  double round = known ? 0 : at->target->prices.region_wait * at->target->prices.launch;
  for (int32_t l = 0; l < step->list_count; l++) round += seconds_of_list(&step->lists[l], at);
  return round * (known ? (double)step->trips : LOWER_ROUNDS);
}

/* The branch that takes longest. */
static double seconds_of_branches(const halo_step *step, const seconds_site *at) {
  double most = 0;
  for (int32_t l = 0; l < step->list_count; l++) {
    double branch = seconds_of_list(&step->lists[l], at);
    if (branch > most) most = branch;
  }
  return most + at->target->prices.region_wait * at->target->prices.launch;
}

static double seconds_of_step(const halo_step *step, const seconds_site *at) {
  const halo_prices *p = &at->target->prices;
  if (step->kind == HALO_STEP_WHILE) return step->goes_on ? 0 : seconds_of_loop(step, at);
  if (step->kind == HALO_STEP_CONDITIONAL) return seconds_of_branches(step, at);
  if (step->kind == HALO_STEP_COPY) return p->launch + (double)step->bytes / p->bandwidth;
  if (step->kind == HALO_STEP_KERNEL) {
    return p->launch + lower_work(at->target, at->caps, step, lower_items(step));
  }
  return step->seconds > p->launch ? step->seconds : p->launch;
}

static double seconds_of_list(const halo_steps *steps, const seconds_site *at) {
  double sum = 0;
  for (int32_t i = 0; i < steps->count; i++) sum += seconds_of_step(&steps->data[i], at);
  return sum;
}

/* Seconds that a run of the program is expected to take, by the prices of its steps, one after the other: of a loop of
 * unknown length LOWER_ROUNDS rounds, of a conditional the branch that takes longest. Negative where the list leaves an operation without an
 * implementation, or with one whose launch the device's watchdog would end. */
static double seconds_of(halo_client *client, const char *path, const char *list) {
  halo_module *module;
  halo_executable *e;
  ck_ok(halo_module_parse_file(path, &module));
  halo_compile_options options = {.kernels = list};
  halo_status status = halo_client_compile(client, module, &options, &e);
  halo_module_release(module);
  bool refused = status == HALO_INVALID_ARGUMENT || status == HALO_UNIMPLEMENTED;
  if (refused && list) return -1;
  ck_ok(status);
  halo_target target = halo_target_of_device(&client->devices[0]);
  seconds_site at = {&target, &client->devices[0].cl->caps};
  double seconds = seconds_of_list(&halo_executable_plan(e)->steps, &at);
  halo_executable_release(e);
  return seconds;
}

START_TEST(plans_are_the_best_known) {
  const double most = 1.3;
  char device[200], path[1000];
  snprintf(device, sizeof device, "null:" HALO_TEST_DATA "/devices/%s.caps", devices[_i]);
  halo_client *client = run_client(device);
  DIR *folder = opendir(HALO_TEST_PROGRAMS);
  ck_assert_msg(folder != NULL, "no folder " HALO_TEST_PROGRAMS);
  int programs = 0, bad = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    const char *dot = strstr(entry->d_name, ".hlo");
    if (!dot) continue;
    snprintf(path, sizeof path, HALO_TEST_PROGRAMS "/%s", entry->d_name);
    double own = seconds_of(client, path, NULL);
    programs++;
    for (int i = 0; i < LISTS; i++) {
      double other = seconds_of(client, path, lists[i]);
      if (other < 0 || own <= most * other || is_accepted(entry->d_name, devices[_i], lists[i])) {
        continue;
      }
      bad++;
      fprintf(stderr, "%s on %s: %.1f us, with HALO_KERNELS=%s %.1f us\n", entry->d_name,
              devices[_i], own * 1e6, lists[i], other * 1e6);
    }
  }
  closedir(folder);
  halo_client_release(client);
  ck_assert_msg(programs > 100, "only %d programs", programs);
  ck_assert_msg(bad == 0, "%d plans are slower than they need be", bad);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("model");
  TCase *c = tcase_create("model");
  tcase_set_timeout(c, 600);
  tcase_add_loop_test(c, plans_are_the_best_known, 0, DEVICES);
  suite_add_tcase(suite, c);
  return suite_run(suite);
}
