/* SPDX-License-Identifier: Apache-2.0 */
/* exec/watch.c: what launches that may take long turned out to take. */
#include "exec/watch.h"

#include "base/config.h"

/* How many times longer than estimated a launch may take, as far as is known; the first part of one is so small that it may be
 * off by ten times as much. */
static const double WATCH_DOUBT = 50, WATCH_FIRST = 10;
/* Parts grow at most so fast, as their groups need not be alike; budgets shrink at most so fast, for what one slow round says. */
static const double WATCH_GROWTH = 4, WATCH_SHRINK = 0.0625;
/* Seconds that the commands between two steps that ask the host should take at most. */
static const double WATCH_STRETCH = 1;

/* ---- Launches ---- */

bool halo_watch_may_cut(const halo_program *p, const halo_step *step) {
  double longest = p->device->longest;
  return longest > 0 && step->kind == HALO_STEP_KERNEL && !halo_step_leaves(step, NULL) &&
         step->seconds * WATCH_DOUBT > longest && halo_grid_pieces(&step->grid) > 1;
}

double halo_watch_groups(halo_program *p, const halo_step *step, double all) {
  pthread_mutex_lock(&p->lock);
  halo_watch_speed speed = p->speeds[step->number];
  pthread_mutex_unlock(&p->lock);
  double groups = speed.groups > 0 && speed.seconds > 0
                      ? speed.groups * p->device->longest / speed.seconds
                      : all * p->device->longest / (step->seconds * WATCH_DOUBT * WATCH_FIRST);
  double most = speed.groups * WATCH_GROWTH;
  if (speed.groups > 0 && speed.groups < all && groups > most) groups = most;
  return groups < 1 ? 1 : groups;
}

void halo_watch_note(halo_program *p, const halo_step *step, double groups, double seconds) {
  pthread_mutex_lock(&p->lock);
  halo_watch_speed *speed = &p->speeds[step->number];
  /* The rest of a launch may be too few groups to fill the device, and the first part waits for what drivers put off until then. */
  bool faster = seconds * speed->groups < speed->seconds * groups;
  if (faster || groups * WATCH_GROWTH > speed->groups) *speed = (halo_watch_speed){groups, seconds};
  pthread_mutex_unlock(&p->lock);
}

/* ---- Regions ---- */

int64_t halo_watch_budget(halo_program *p, const halo_step *launch) {
  if (!(p->device->longest > 0) || !halo_step_leaves(launch, NULL)) return 0;
  pthread_mutex_lock(&p->lock);
  int64_t budget = p->budgets[launch->unit];
  pthread_mutex_unlock(&p->lock);
  return budget;
}

void halo_watch_note_region(halo_program *p, const halo_step *launch, double seconds, bool is_spent,
                            bool is_exact) {
  double longest = p->device->longest;
  const char *by_hand = halo_config_text(HALO_CONFIG_REGION_TIME);
  int64_t planned;
  if (!(longest > 0) || !halo_step_leaves(launch, &planned) || (by_hand && *by_hand)) return;
  double change = longest / (seconds > 0 ? seconds : longest);
  if (change > 1 ? !is_spent : !is_exact) return;
  if (change > WATCH_GROWTH) change = WATCH_GROWTH;
  if (change < WATCH_SHRINK) change = WATCH_SHRINK;
  pthread_mutex_lock(&p->lock);
  int64_t *budget = &p->budgets[launch->unit];
  double old = (double)(*budget ? *budget : planned);
  double now = old * change;
  *budget = now < 1 ? 1 : now > 1e15 ? (int64_t)1e15 : (int64_t)now;
  pthread_mutex_unlock(&p->lock);
}

/* ---- What is queued ---- */

/* Seconds that a step that asks nothing is expected to take. */
static double watch_seconds(const halo_program *p, const halo_step *step) {
  if (p->asks_host[step->number]) return 0;
  double seconds = step->seconds;
  for (int32_t l = 0; l < step->list_count; l++) {
    for (int32_t i = 0; i < step->lists[l].count; i++) {
      seconds += watch_seconds(p, &step->lists[l].data[i]);
    }
  }
  return step->trips > 0 ? seconds * (double)step->trips : seconds;
}

bool halo_watch_is_long(const halo_program *p, const halo_step *step) {
  return p->device->longest > 0 && watch_seconds(p, step) * WATCH_DOUBT > WATCH_STRETCH;
}

void halo_watch_survey(halo_program *p) {
  double queued = 0;
  if (!(p->device->longest > 0)) return;
  for (int32_t i = 0; i < p->plan->steps.count; i++) {
    const halo_step *step = &p->plan->steps.data[i];
    queued += watch_seconds(p, step);
    bool asks = p->asks_host[step->number];
    if (asks || (step->kind == HALO_STEP_KERNEL && queued * WATCH_DOUBT > WATCH_STRETCH)) {
      p->asks_host[step->number] = true;
      queued = 0;
    }
  }
}
