/* SPDX-License-Identifier: Apache-2.0 */
/* exec/program.c: programs: plans made ready, and what is known of them. */
#include "exec/executor.h"

#include "base/config.h"
#include "base/memory.h"
#include "exec/watch.h"

#include <string.h>

#define HALO_STEP(KIND, name, is_command) extern const halo_step_runner halo_runner_##name;
#include "plan/steps.def"
#undef HALO_STEP

const halo_step_runner *const halo_step_runners[] = {
#define HALO_STEP(KIND, name, is_command) [HALO_STEP_##KIND] = &halo_runner_##name,
#include "plan/steps.def"
#undef HALO_STEP
};

static halo_status program_upload_constants(halo_program *p) {
  const halo_plan *plan = p->plan;
  if (plan->constant_bytes == 0) return HALO_OK;
  HALO_TRY(halo_cl_alloc(p->device, (size_t)plan->constant_bytes, "constants", &p->constants));
  if (p->device->caps.is_null) return HALO_OK;
  void *memory;
  HALO_TRY(halo_try_alloc((size_t)plan->constant_bytes, "constants", &memory));
  char *image = memory;
  for (int32_t i = 0; i < plan->constants.count; i++) {
    const halo_plan_constant *c = &plan->constants.data[i];
    memcpy(image + c->offset, c->literal->data, (size_t)halo_shape_byte_size(c->literal->shape));
  }
  /* On this queue, behind commands of whoever had the memory before; and waited for, for those of other queues. */
  cl_event done = NULL;
  cl_int code = halo_cl.clEnqueueWriteBuffer(p->device->queue, p->constants->mem, CL_FALSE, 0,
                                             (size_t)plan->constant_bytes, image, 0, NULL, &done);
  halo_status status = halo_cl_check(code, "clEnqueueWriteBuffer of constants");
  if (status == HALO_OK) status = halo_cl_await(done);
  if (done) halo_cl.clReleaseEvent(done);
  halo_free(memory);
  return status;
}

bool halo_steps_ask_host(const halo_program *p, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    if (p->asks_host[steps->data[i].number]) return true;
  }
  return false;
}

/* Inner steps first: a step asks the host when one that it holds does. */
static void program_survey(halo_program *p, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    const halo_step_runner *runner = halo_step_runners[step->kind];
    bool asks = false;
    for (int32_t l = 0; l < step->list_count; l++) {
      program_survey(p, &step->lists[l]);
      asks |= halo_steps_ask_host(p, &step->lists[l]);
    }
    p->asks_host[step->number] = asks || (runner->asks_host && runner->asks_host(p, step));
  }
}

/* Whether exchanges stand between the program's steps only, not in loops, branches or beside others. */
static bool program_exchanges_plainly(const halo_program *p) {
  const halo_steps *steps = &p->plan->steps;
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    if (step->kind != HALO_STEP_COLLECTIVE && p->asks_host[step->number]) return false;
  }
  return true;
}

static halo_status program_make_profile(void *user) {
  halo_program *p = user;
  halo_profile profile;
  halo_profile_init(&profile, p->plan);
  p->profile = profile;
  return HALO_OK;
}

/* What grows with the program. */
static halo_status program_make_room(halo_program *p) {
  size_t steps = (size_t)p->plan->step_count;
  void *memory;
  HALO_TRY(halo_try_alloc(steps, "what is known of a program's steps", &memory));
  p->asks_host = memory;
  HALO_TRY(halo_try_alloc(sizeof *p->random * steps, "the states of a program's random numbers",
                          &memory));
  p->random = memory;
  HALO_TRY(halo_try_alloc(sizeof *p->speeds * steps, "the speeds of a program's steps", &memory));
  p->speeds = memory;
  size_t units = (size_t)p->plan->units.count + 1;
  HALO_TRY(
      halo_try_alloc(sizeof *p->budgets * units, "the budgets of a program's regions", &memory));
  p->budgets = memory;
  return halo_memory_guard(program_make_profile, p);
}

static halo_status program_copy_team(halo_program *p, const halo_team *from) {
  void *memory;
  size_t devices = sizeof *from->devices * (size_t)from->count;
  HALO_TRY(halo_try_alloc(sizeof *from + devices, "the devices of a program", &memory));
  halo_team *team = memory;
  *team = *from;
  team->devices = memcpy(team + 1, from->devices, devices);
  p->site.team = team;
  return HALO_OK;
}

static void program_release_units(const halo_plan *plan, halo_built_unit *units) {
  if (units) halo_built_units_release(units, plan->units.count);
  halo_free(units);
}

/* Builds what a program needs, unless that was done. */
static halo_status program_build(halo_program *p) {
  if (halo_program_units(p)) return HALO_OK;
  pthread_mutex_lock(&p->building);
  halo_status status = HALO_OK;
  if (!halo_program_units(p)) {
    void *memory;
    status = halo_try_alloc(sizeof(halo_built_unit) * ((size_t)p->plan->units.count + 1),
                            "a program's units", &memory);
    if (status == HALO_OK) status = halo_units_build(p->device, p->plan, memory);
    if (status == HALO_OK) {
      atomic_store(&p->units, memory);
    } else {
      program_release_units(p->plan, memory);
    }
  }
  pthread_mutex_unlock(&p->building);
  return status;
}

/* ---- Sets of states ---- */

static halo_status program_prepare(halo_program *p, const halo_steps *steps, halo_run_set *set) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    const halo_step_runner *runner = halo_step_runners[step->kind];
    if (runner->prepare) HALO_TRY(runner->prepare(p, step, &set->states[step->number]));
    for (int32_t l = 0; l < step->list_count; l++)
      HALO_TRY(program_prepare(p, &step->lists[l], set));
  }
  return HALO_OK;
}

static void program_unprepare(halo_program *p, const halo_steps *steps, halo_run_set *set) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    void *state = set->states[step->number];
    if (state) halo_step_runners[step->kind]->release(state);
    for (int32_t l = 0; l < step->list_count; l++) program_unprepare(p, &step->lists[l], set);
  }
}

halo_status halo_run_set_create(halo_program *p, halo_run_set **out) {
  *out = NULL;
  HALO_TRY(program_build(p));
  size_t count = (size_t)p->plan->step_count;
  halo_run_set *set = halo_alloc(sizeof *set + sizeof *set->states * count);
  halo_status status = program_prepare(p, &p->plan->steps, set);
  if (status != HALO_OK) {
    halo_run_set_release(p, set);
    set = NULL;
  }
  *out = set;
  return status;
}

void halo_run_set_release(halo_program *p, halo_run_set *set) {
  if (!set) return;
  program_unprepare(p, &p->plan->steps, set);
  halo_free(set);
}

/* ---- Making and releasing ---- */

/* What takes less is done in the caller's thread, where the device has a queue for that. */
static const double PROGRAM_SYNCHRONOUS = 1e-4; /* seconds */
halo_status halo_program_create(halo_cl_device *device, halo_plan *plan,
                                const halo_program_site *site, halo_plan_limits *limits,
                                halo_program **out) {
  halo_program *p = halo_alloc(sizeof *p);
  atomic_init(&p->references, 1);
  p->device = device;
  halo_cl_device_retain(device);
  p->plan = plan;
  p->site = *site;
  p->site.team = NULL;
  pthread_mutex_init(&p->lock, NULL);
  pthread_mutex_init(&p->building, NULL);
  halo_status status = program_make_room(p);
  if (status == HALO_OK && site->team) status = program_copy_team(p, site->team);
  if (status == HALO_OK) {
    halo_program_seed(p, 0);
    program_survey(p, &plan->steps);
    halo_watch_survey(p);
    halo_random_survey(p);
    /* Parts that wait for each other need threads of their own, or take turns. */
    bool waits = plan->is_shared && site->team && site->team->count > 1;
    bool synchronous = halo_config_flag(HALO_CONFIG_SYNCHRONOUS);
    p->takes_turns = synchronous && waits && program_exchanges_plainly(p);
    p->synchronous = synchronous && !waits;
    p->waits_each = halo_config_flag(HALO_CONFIG_WAIT_EACH);
  }
  if (status == HALO_OK && !device->caps.is_null) {
    p->may_use_sync_queue = device->sync_queue && device->caps.is_cpu && plan->work >= 0 &&
                            plan->work <= PROGRAM_SYNCHRONOUS;
    /* The first set finds kernels that cannot be made; more are made as runs overlap. */
    p->limits = limits;
    status = halo_run_set_create(p, &p->free_sets);
    p->limits = NULL;
    if (status == HALO_OK && limits && limits->grew) status = HALO_UNIMPLEMENTED;
  }
  if (status == HALO_OK) status = program_upload_constants(p);
  if (status != HALO_OK) {
    halo_program_release(p);
    p = NULL;
  }
  *out = p;
  return status;
}

void halo_program_release(halo_program *p) {
  if (!p || atomic_fetch_sub(&p->references, 1) != 1) return;
  for (halo_run_set *set = p->free_sets, *next; set; set = next) {
    next = set->next;
    halo_run_set_release(p, set);
  }
  halo_free(p->asks_host);
  halo_free((void *)p->site.team);
  halo_free(p->random);
  halo_free(p->speeds);
  halo_free(p->budgets);
  halo_profile_deinit(&p->profile);
  halo_cl_free(p->constants);
  halo_built_unit *units = atomic_load(&p->units);
  for (int32_t u = 0; units && u < p->plan->units.count && p->ran; u++) {
    halo_cl_program_save(units[u].program);
  }
  program_release_units(p->plan, units);
  halo_plan_release(p->plan);
  halo_cl_device_release(p->device);
  pthread_mutex_destroy(&p->lock);
  pthread_mutex_destroy(&p->building);
  halo_free(p);
}

/* What XLA's CPU backend begins with. */
#define RANDOM_START 0x7012395u

void halo_program_seed(halo_program *p, uint64_t seed) {
  pthread_mutex_lock(&p->lock);
  for (int32_t i = 0; i < p->plan->step_count; i++) {
    p->random[i].state[0] = RANDOM_START;
    p->random[i].state[1] = seed;
  }
  pthread_mutex_unlock(&p->lock);
}

const halo_plan *halo_program_plan(const halo_program *p) { return p->plan; }

void halo_program_profile_host(halo_program *p, halo_host_time times[HALO_HOST_WORKS]) {
  pthread_mutex_lock(&p->lock);
  memcpy(times, p->profile.host, sizeof p->profile.host);
  pthread_mutex_unlock(&p->lock);
}

halo_status halo_program_profile(halo_program *p, const halo_step_time **rows, int *count) {
  halo_cl_device_finish(p->device);
  pthread_mutex_lock(&p->lock);
  halo_status status = halo_profile_rows(&p->profile, rows, count);
  pthread_mutex_unlock(&p->lock);
  return status;
}
