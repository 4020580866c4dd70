/* SPDX-License-Identifier: Apache-2.0 */
/* exec/profile.c: time per step from device events, and what the host does meanwhile. */
#include "exec/profile.h"

#include "base/memory.h"

/* Events are read out in batches, so that long runs do not pile them up. */
enum { PROFILE_MAX_PENDING = 4096 };

static void profile_collect(halo_profile *profile, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    profile->row_of_step[step->number] = -1;
    if (halo_step_is_command(step)) {
      profile->row_of_step[step->number] = profile->rows.count;
      halo_vec_push(&profile->rows, (halo_step_time){.step = step});
    }
    for (int32_t l = 0; l < step->list_count; l++) profile_collect(profile, &step->lists[l]);
  }
}

void halo_profile_init(halo_profile *profile, const halo_plan *plan) {
  *profile = (halo_profile){0};
  profile->row_of_step = halo_alloc(sizeof(int32_t) * ((size_t)plan->step_count + 1));
  profile_collect(profile, &plan->steps);
}

void halo_profile_deinit(halo_profile *profile) {
  for (int32_t i = 0; i < profile->pending.count; i++) {
    halo_cl.clReleaseEvent(profile->pending.data[i].event);
  }
  halo_vec_deinit(&profile->pending);
  halo_vec_deinit(&profile->rows);
  halo_free(profile->row_of_step);
}

static halo_status profile_read(halo_profile *profile) {
  halo_status status = HALO_OK;
  for (int32_t i = 0; i < profile->pending.count; i++) {
    halo_profile_event *pending = &profile->pending.data[i];
    halo_step_time *row = &profile->rows.data[profile->row_of_step[pending->step]];
    cl_ulong start = 0, end = 0;
    cl_int code = halo_cl.clWaitForEvents(1, &pending->event);
    if (code == CL_SUCCESS) {
      code = halo_cl.clGetEventProfilingInfo(pending->event, CL_PROFILING_COMMAND_START,
                                             sizeof start, &start, NULL);
    }
    if (code == CL_SUCCESS) {
      code = halo_cl.clGetEventProfilingInfo(pending->event, CL_PROFILING_COMMAND_END, sizeof end,
                                             &end, NULL);
    }
    if (code != CL_SUCCESS) status = halo_cl_check(code, "clGetEventProfilingInfo");
    row->runs++;
    row->seconds += (double)(end - start) * 1e-9;
    halo_cl.clReleaseEvent(pending->event);
  }
  profile->pending.count = 0;
  return status;
}

void halo_profile_add(halo_profile *profile, int32_t step, cl_event event) {
  halo_vec_push(&profile->pending, (halo_profile_event){step, event});
  /* A failure here shows again when rows are asked for, as a run with no time. */
  if (profile->pending.count >= PROFILE_MAX_PENDING) (void)profile_read(profile);
}

void halo_profile_add_host(halo_profile *profile, const halo_host_time *times) {
  for (int work = 0; work < HALO_HOST_WORKS; work++) {
    profile->host[work].count += times[work].count;
    profile->host[work].seconds += times[work].seconds;
  }
}

halo_status halo_profile_rows(halo_profile *profile, const halo_step_time **rows, int *count) {
  HALO_TRY(profile_read(profile));
  *rows = profile->rows.data;
  *count = profile->rows.count;
  return HALO_OK;
}
