/* SPDX-License-Identifier: Apache-2.0 */
/* exec/collective_memory.c: a device's memory as the host sees it during a collective. */
#include "exec/collective.h"

#include "base/memory.h"

#include <string.h>

/* ---- Memory that the host shares ---- */

/* The last map's event stands for all before it. */
static halo_status memory_map(halo_run *run, collective_span *span, cl_event *event) {
  /* A part may be written only: what is not must stay as it is. */
  cl_map_flags flags = span->written ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ;
  if (*event) halo_cl.clReleaseEvent(*event);
  *event = NULL;
  run->ahead++;
  void *mapped;
  halo_status status = halo_cl_map(run->queue, span->at.mem, flags, (size_t)span->at.offset,
                                   span->size, false, event, &mapped);
  span->data = mapped;
  span->mapped = status == HALO_OK;
  return halo_fail_in(status, "mapping what goes to other devices");
}

/* Whether all of it can be used as it is, once the commands before it are over. */
static bool memory_is_direct(const collective_part *part) {
  for (int i = 0; i < part->span_count; i++) {
    const collective_span *span = &part->spans[i];
    if (span->at.mem && span->size > 0 && !span->at.host) return false;
  }
  return true;
}

static halo_status memory_use(collective_part *part, bool idle) {
  cl_event event = NULL;
  for (int i = 0; i < part->span_count; i++) part->spans[i].data = part->spans[i].at.host;
  if (idle) return HALO_OK;
  HALO_TRY(halo_cl_check(halo_cl.clEnqueueMarkerWithWaitList(part->run->queue, 0, NULL, &event),
                         "clEnqueueMarkerWithWaitList"));
  halo_status status = halo_cl_await(event);
  halo_cl.clReleaseEvent(event);
  return status;
}

static halo_status memory_map_all(collective_part *part) {
  cl_event event = NULL;
  halo_status status = HALO_OK;
  for (int i = 0; i < part->span_count && status == HALO_OK; i++) {
    collective_span *span = &part->spans[i];
    if (span->at.mem && span->size > 0) status = memory_map(part->run, span, &event);
  }
  /* Whatever failed: what was mapped before is unmapped only when that has happened. */
  halo_status waited = halo_cl_await(event);
  if (event) halo_cl.clReleaseEvent(event);
  return status == HALO_OK ? waited : status;
}

/* ---- Memory that it does not ---- */

static halo_status memory_take_image(collective_part *part, collective_span *span, bool streamed) {
  halo_run *run = part->run;
  void *memory;
  if (!span->at.mem || span->size == 0) return HALO_OK;
  HALO_TRY(halo_try_alloc(span->size, "what goes to other devices", &memory));
  span->data = memory;
  if (streamed) {
    span->stream = halo_cl_stream_open(run->program->device, run->queue, span->at.mem,
                                       (size_t)span->at.offset, span->data, span->size);
    return HALO_OK;
  }
  bool kept = part->collective->kind == HALO_COLLECTIVE_RAGGED;
  if (span->written && !kept) return HALO_OK;
  return halo_cl_check(
      halo_cl.clEnqueueReadBuffer(run->queue, span->at.mem, CL_TRUE, (size_t)span->at.offset,
                                  span->size, span->data, 0, NULL, NULL),
      "reading what goes to other devices");
}

/* ---- Spans ---- */

halo_status collective_open(collective_part *part, const halo_step *step, bool streamed,
                            bool idle) {
  halo_run *run = part->run;
  bool shared = run->program->device->caps.shares_host_memory;
  part->opened = true;
  part->span_count = step->arg_count;
  part->there = 0;
  for (int i = 0; i < part->span_count; i++) {
    const halo_plan_arg *arg = &step->args[i];
    part->spans[i] =
        (collective_span){.at = halo_run_resolve(run, arg->buffer),
                          .size = (size_t)run->program->plan->buffers.data[arg->buffer].size,
                          .written = arg->written};
  }
  if (shared && memory_is_direct(part)) return memory_use(part, idle);
  if (shared) return memory_map_all(part);
  for (int i = 0; i < part->span_count; i++) {
    HALO_TRY(memory_take_image(part, &part->spans[i], streamed));
  }
  return HALO_OK;
}

static halo_status memory_close(collective_part *part, collective_span *span, bool good) {
  halo_run *run = part->run;
  halo_status status = HALO_OK;
  if (span->mapped) {
    run->ahead++;
    status = halo_fail_in(halo_cl_unmap(run->queue, span->at.mem, span->data, NULL),
                          "storing what came from other devices");
  } else if (span->data && span->data != span->at.host) {
    if (span->stream) {
      status = halo_cl_stream_close(span->stream);
    } else if (span->written && good) {
      run->ahead++; /* what it returns for is that the image is free again */
      cl_int code =
          halo_cl.clEnqueueWriteBuffer(run->queue, span->at.mem, CL_TRUE, (size_t)span->at.offset,
                                       span->size, span->data, 0, NULL, NULL);
      status = halo_cl_check(code, "storing what came from other devices");
    }
    halo_free(span->data);
  }
  *span = (collective_span){0};
  return status;
}

halo_status collective_close(collective_part *part, bool good) {
  halo_status status = HALO_OK;
  for (int i = 0; i < part->span_count; i++) {
    halo_status closed = memory_close(part, &part->spans[i], good);
    if (status == HALO_OK) status = closed;
  }
  part->opened = false;
  return status;
}

/* ---- While messages are on their way ---- */

halo_status collective_ready(void *user, int send, bool *ready) {
  collective_part *part = user;
  collective_span *span = &part->spans[0];
  const halo_message *message = &part->sends.data[send];
  /* What came in an earlier round is in the result's image. */
  *ready = part->pieces.sends.data[send].space != HALO_SPACE_SENT;
  if (*ready) return HALO_OK;
  size_t end = (size_t)((const char *)message->data - span->data) + message->bytes;
  if (end > part->there) HALO_TRY(halo_cl_stream_read(span->stream, &part->there));
  *ready = end <= part->there;
  return HALO_OK;
}

halo_status collective_came(void *user, int receive) {
  collective_part *part = user;
  collective_span *span = &part->spans[1];
  const halo_message *message = &part->receives.data[receive];
  return halo_cl_stream_write(span->stream, (size_t)((char *)message->data - span->data),
                              message->bytes);
}

/* ---- Within the device ---- */

char *collective_at(collective_part *part, halo_space space, size_t at) {
  switch (space) {
    case HALO_SPACE_SENT: return part->spans[0].data + at;
    case HALO_SPACE_RESULT: return (part->rows ? part->scratch : part->spans[1].data) + at;
    case HALO_SPACE_SCRATCH: return part->scratch + part->rows + at;
  }
  return NULL;
}

halo_status collective_copy(collective_part *part, halo_copy_time time) {
  for (int32_t i = 0; i < part->pieces.copies.count; i++) {
    const halo_piece_copy *copy = &part->pieces.copies.data[i];
    if (copy->time != time || copy->bytes == 0) continue;
    if (!part->spans[1].stream) {
      memcpy(collective_at(part, copy->to_space, copy->to),
             collective_at(part, copy->from_space, copy->from), copy->bytes);
      continue;
    }
    /* Streams have one round, whose copies go from what is sent to the result. */
    const halo_place_at *from = &part->spans[0].at, *to = &part->spans[1].at;
    part->run->ahead++;
    HALO_TRY(halo_cl_check(
        halo_cl.clEnqueueCopyBuffer(part->run->queue, from->mem, to->mem,
                                    (size_t)from->offset + copy->from,
                                    (size_t)to->offset + copy->to, copy->bytes, 0, NULL, NULL),
        "copying what stays on a device"));
  }
  return HALO_OK;
}

halo_status collective_clear(collective_part *part) {
  collective_span *span = &part->spans[1];
  memset(span->data, 0, span->size);
  return span->stream ? halo_cl_stream_write(span->stream, 0, span->size) : HALO_OK;
}
