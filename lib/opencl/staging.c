/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/staging.c: copies between the host and the device, through pinned memory where that helps. */
#include "base/memory.h"
#include "opencl/event.h"
#include "opencl/private.h"

#include <pthread.h>
#include <string.h>

enum {
  STAGE_SIZE = 4 << 20,
  STAGE_SMALL = 64 << 10, /* drivers have pinned memory of their own for so little */
  STAGE_KEEP = 8,         /* pieces kept for the next copy */
  STAGE_PART = 16 << 20,  /* a thread of its own copies at least so many bytes, */
  STAGE_PARTS = 4         /* as many as keep up with 16 lanes of PCIe 5; each has two pieces */
};

/* A piece of pinned memory, mapped for as long as it lives. */
typedef struct stage {
  cl_mem mem;
  char *host;
  cl_event busy; /* the copy that uses it; NULL: none */
  struct stage *next;
} stage;

struct halo_cl_stages {
  pthread_mutex_t lock;
  stage *first;
  int count;
};

halo_cl_stages *halo_cl_stages_create(void) {
  halo_cl_stages *stages = halo_alloc(sizeof *stages);
  pthread_mutex_init(&stages->lock, NULL);
  return stages;
}

static void stage_destroy(halo_cl_device *device, stage *s) {
  if (s->host) halo_cl.clEnqueueUnmapMemObject(device->transfers, s->mem, s->host, 0, NULL, NULL);
  if (s->mem) halo_cl.clReleaseMemObject(s->mem); /* when that is done */
  halo_free(s);
}

void halo_cl_stages_release(halo_cl_device *device) {
  halo_cl_stages *stages = device->stages;
  if (!stages) return;
  for (stage *s = stages->first, *next; s; s = next) {
    next = s->next;
    stage_destroy(device, s);
  }
  pthread_mutex_destroy(&stages->lock);
  halo_free(stages);
}

static halo_status stage_take(halo_cl_device *device, stage **out) {
  halo_cl_stages *stages = device->stages;
  pthread_mutex_lock(&stages->lock);
  stage *s = stages->first;
  if (s) {
    stages->first = s->next;
    stages->count--;
  }
  pthread_mutex_unlock(&stages->lock);
  *out = s;
  if (s) return HALO_OK;
  cl_int code;
  s = halo_alloc(sizeof *s);
  s->mem = halo_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                  STAGE_SIZE, NULL, &code);
  if (code == CL_SUCCESS) {
    s->host =
        halo_cl.clEnqueueMapBuffer(device->transfers, s->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                   0, STAGE_SIZE, 0, NULL, NULL, &code);
  }
  if (code != CL_SUCCESS) {
    stage_destroy(device, s);
    return halo_cl_check(code, "pinned memory for a transfer");
  }
  *out = s;
  return HALO_OK;
}

static void stage_put(halo_cl_device *device, stage *s) {
  halo_cl_stages *stages = device->stages;
  if (!s) return;
  pthread_mutex_lock(&stages->lock);
  bool keep = stages->count < STAGE_KEEP;
  if (keep) {
    s->next = stages->first;
    stages->first = s;
    stages->count++;
  }
  pthread_mutex_unlock(&stages->lock);
  if (!keep) stage_destroy(device, s);
}

static halo_status stage_wait(stage *s) {
  cl_event busy = s->busy;
  s->busy = NULL;
  halo_status status = halo_cl_await(busy);
  if (busy) halo_cl.clReleaseEvent(busy);
  return status;
}

/* A copy in pieces: turn i works on piece i, and on reading empties piece i - 1. */
typedef struct stage_copy {
  halo_cl_block *block;
  size_t offset;    /* in the block */
  char *to;         /* reading */
  const char *from; /* writing */
  size_t size;
  cl_event after;
  stage *stages[2];
} stage_copy;

static size_t stage_length(const stage_copy *c, size_t at) {
  return c->size - at < STAGE_SIZE ? c->size - at : STAGE_SIZE;
}

static halo_status stage_write_pieces(stage_copy *c) {
  cl_command_queue queue = c->block->device->transfers;
  int turn = 0;
  for (size_t at = 0; at < c->size; at += STAGE_SIZE, turn ^= 1) {
    stage *s = c->stages[turn];
    size_t length = stage_length(c, at);
    HALO_TRY(stage_wait(s));
    memcpy(s->host, c->from + at, length);
    bool wait = at == 0 && c->after;
    HALO_TRY(halo_cl_check(
        halo_cl.clEnqueueWriteBuffer(queue, c->block->mem, CL_FALSE, c->offset + at, length,
                                     s->host, wait, wait ? &c->after : NULL, &s->busy),
        "clEnqueueWriteBuffer"));
    halo_cl.clFlush(queue);
  }
  HALO_TRY(stage_wait(c->stages[0]));
  return stage_wait(c->stages[1]);
}

static halo_status stage_read_pieces(stage_copy *c) {
  cl_command_queue queue = c->block->device->transfers;
  int turn = 0;
  size_t emptied = 0;
  for (size_t at = 0; emptied < c->size; at += STAGE_SIZE, turn ^= 1) {
    stage *s = c->stages[turn], *before = c->stages[turn ^ 1];
    if (at < c->size) {
      bool wait = at == 0 && c->after;
      HALO_TRY(
          halo_cl_check(halo_cl.clEnqueueReadBuffer(queue, c->block->mem, CL_FALSE, c->offset + at,
                                                    stage_length(c, at), s->host, wait,
                                                    wait ? &c->after : NULL, &s->busy),
                        "clEnqueueReadBuffer"));
      halo_cl.clFlush(queue);
    }
    if (at == 0) continue;
    size_t length = stage_length(c, emptied);
    HALO_TRY(stage_wait(before));
    memcpy(c->to + emptied, before->host, length);
    emptied += length;
  }
  return HALO_OK;
}

static halo_status stage_run(stage_copy *c) {
  halo_cl_device *device = c->block->device;
  halo_status status = stage_take(device, &c->stages[0]);
  if (status == HALO_OK) status = stage_take(device, &c->stages[1]);
  if (status == HALO_OK) status = c->to ? stage_read_pieces(c) : stage_write_pieces(c);
  for (int i = 0; i < 2; i++) {
    /* After a failure a copy may still be on its way. */
    if (c->stages[i] && c->stages[i]->busy) (void)stage_wait(c->stages[i]);
    stage_put(device, c->stages[i]);
  }
  return status;
}

/* A part of a copy, which a thread does. */
typedef struct stage_part {
  stage_copy copy;
  pthread_t thread;
  halo_status status;
  char *message; /* of a failure */
} stage_part;

static void *stage_run_part(void *data) {
  stage_part *part = data;
  part->status = stage_run(&part->copy);
  part->message = part->status == HALO_OK ? NULL : halo_error_save();
  return NULL;
}

/* One thread copies 10 to 15 GB/s between the host's memory and pinned pieces: less than fast buses. */
static halo_status stage_run_parts(const stage_copy *whole) {
  stage_part parts[STAGE_PARTS];
  size_t count = whole->size / STAGE_PART, started = 1;
  if (count < 1) count = 1;
  if (count > STAGE_PARTS) count = STAGE_PARTS;
  size_t each = whole->size / count / STAGE_SIZE * STAGE_SIZE;
  for (size_t i = 0; i < count; i++) {
    size_t at = i * each;
    parts[i].copy = *whole;
    parts[i].copy.offset = whole->offset + at;
    if (whole->to) parts[i].copy.to = whole->to + at;
    if (whole->from) parts[i].copy.from = whole->from + at;
    parts[i].copy.size = i + 1 < count ? each : whole->size - at;
  }
  while (started < count &&
         pthread_create(&parts[started].thread, NULL, stage_run_part, &parts[started]) == 0) {
    started++;
  }
  stage_run_part(&parts[0]);
  for (size_t i = started; i < count; i++) stage_run_part(&parts[i]);
  halo_status status = HALO_OK;
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && i < started) pthread_join(parts[i].thread, NULL);
    if (parts[i].status == HALO_OK) continue;
    if (status == HALO_OK) {
      status = parts[i].status;
      halo_error_restore(parts[i].message);
    } else {
      halo_free(parts[i].message);
    }
  }
  return status;
}

static bool stage_helps(const halo_cl_block *block, size_t size) {
  return !block->device->caps.shares_host_memory && size > STAGE_SMALL;
}

/* A write that is done, not only one whose memory is free again, which is all that a blocking write promises: what
 * is queued elsewhere does not wait for it. Intel's runtime for CPUs returns earlier. */
static cl_int staging_write(cl_command_queue queue, cl_mem mem, const void *data, size_t size,
                            cl_event after) {
  cl_event done = NULL;
  cl_int code = halo_cl.clEnqueueWriteBuffer(queue, mem, CL_FALSE, 0, size, data, after ? 1 : 0,
                                             after ? &after : NULL, &done);
  if (code != CL_SUCCESS) return code;
  code = halo_cl.clWaitForEvents(1, &done);
  halo_cl.clReleaseEvent(done);
  return code;
}

/* More takes longer to copy than threads take to wake. */
enum { STAGE_SYNCHRONOUS = 64 << 10 };

bool halo_cl_copy_sync(halo_cl_block *block, void *to, const void *from, size_t size,
                       cl_event after, halo_status *status) {
  halo_cl_device *device = block->device;
  if (!device->sync_queue || size > STAGE_SYNCHRONOUS || !halo_cl_has_happened(after) ||
      !halo_cl_take_sync_queue(device)) {
    return false;
  }
  cl_int code = to ? halo_cl.clEnqueueReadBuffer(device->sync_queue, block->mem, CL_TRUE, 0, size,
                                                 to, 0, NULL, NULL)
                   : staging_write(device->sync_queue, block->mem, from, size, NULL);
  halo_cl_give_sync_queue(device);
  *status = halo_cl_check(code, to ? "clEnqueueReadBuffer" : "clEnqueueWriteBuffer");
  return true;
}

halo_status halo_cl_write(halo_cl_block *block, const void *data, size_t size, cl_event after) {
  halo_cl_device *device = block->device;
  halo_status status;
  if (halo_cl_copy_sync(block, NULL, data, size, after, &status)) return status;
  if (stage_helps(block, size)) {
    stage_copy copy = {.block = block, .from = data, .size = size, .after = after};
    return stage_run_parts(&copy);
  }
  cl_int code = staging_write(device->transfers, block->mem, data, size, after);
  if (halo_cl_check(code, "clEnqueueWriteBuffer") == HALO_OUT_OF_MEMORY) {
    /* Memory may only be taken at the first use: now. */
    halo_cl_memory_trim(device);
    halo_cl.clFinish(device->queue);
    code = staging_write(device->transfers, block->mem, data, size, after);
  }
  return halo_cl_check(code, "clEnqueueWriteBuffer");
}

halo_status halo_cl_read(halo_cl_block *block, void *data, size_t size, cl_event after) {
  halo_status status;
  if (halo_cl_copy_sync(block, data, NULL, size, after, &status)) return status;
  if (stage_helps(block, size)) {
    stage_copy copy = {.block = block, .to = data, .size = size, .after = after};
    return stage_run_parts(&copy);
  }
  return halo_cl_check(
      halo_cl.clEnqueueReadBuffer(block->device->transfers, block->mem, CL_TRUE, 0, size, data,
                                  after ? 1 : 0, after ? &after : NULL, NULL),
      "clEnqueueReadBuffer");
}

/* ---- Words ---- */

halo_status halo_cl_word_create(halo_cl_device *device, halo_cl_word *out) {
  cl_int code;
  memset(out, 0, sizeof *out);
  out->device = device;
  out->data = out->own;
  if (device->caps.shares_host_memory || device->caps.is_null) return HALO_OK;
  out->mem = halo_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                    sizeof out->own, NULL, &code);
  HALO_TRY(halo_cl_check(code, "clCreateBuffer of a pinned word"));
  void *mapped =
      halo_cl.clEnqueueMapBuffer(device->transfers, out->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                 0, sizeof out->own, 0, NULL, NULL, &code);
  HALO_TRY(halo_cl_check(code, "mapping a pinned word"));
  out->data = mapped;
  return HALO_OK;
}

void halo_cl_word_release(halo_cl_word *word) {
  if (!word->mem || halo_cl_is_forked()) return;
  if (word->data != word->own) {
    halo_cl.clEnqueueUnmapMemObject(word->device->transfers, word->mem, word->data, 0, NULL, NULL);
  }
  halo_cl.clReleaseMemObject(word->mem); /* when that is done */
  word->mem = NULL;
}

/* ---- Streams ---- */

/* A piece that is on its way. */
typedef struct stream_piece {
  stage *stage;
  size_t at, length; /* in the image */
} stream_piece;

enum { STREAM_PIECES = 3 };

struct halo_cl_stream {
  halo_cl_device *device;
  cl_command_queue queue;
  cl_mem mem;
  size_t offset, size;
  char *image;
  size_t asked, there;                /* of a reading one: bytes asked for, and that have come */
  stream_piece pieces[STREAM_PIECES]; /* the oldest first */
  int count;
};

halo_cl_stream *halo_cl_stream_open(halo_cl_device *device, cl_command_queue queue, cl_mem mem,
                                    size_t offset, void *image, size_t size) {
  halo_cl_stream *s = halo_alloc(sizeof *s);
  *s = (halo_cl_stream){
      .device = device, .queue = queue, .mem = mem, .offset = offset, .size = size, .image = image};
  return s;
}

/* Room for a piece, its last one; NULL where there is none. */
static halo_status stream_add(halo_cl_stream *s, size_t at, size_t length, stream_piece **out) {
  stream_piece *piece = &s->pieces[s->count];
  *piece = (stream_piece){.at = at, .length = length};
  HALO_TRY(stage_take(s->device, &piece->stage));
  s->count++;
  *out = piece;
  return HALO_OK;
}

/* Waits for the oldest piece and takes it away. */
static halo_status stream_drop(halo_cl_stream *s) {
  halo_status status = stage_wait(s->pieces[0].stage);
  stage_put(s->device, s->pieces[0].stage);
  s->count--;
  memmove(s->pieces, s->pieces + 1, sizeof *s->pieces * (size_t)s->count);
  return status;
}

halo_status halo_cl_stream_read(halo_cl_stream *s, size_t *there) {
  while (s->count > 0 && halo_cl_has_happened(s->pieces[0].stage->busy)) {
    stream_piece piece = s->pieces[0];
    HALO_TRY(stage_wait(piece.stage));
    memcpy(s->image + piece.at, piece.stage->host, piece.length);
    s->there = piece.at + piece.length;
    HALO_TRY(stream_drop(s));
  }
  while (s->count < STREAM_PIECES && s->asked < s->size) {
    stream_piece *piece;
    size_t left = s->size - s->asked, length = left < STAGE_SIZE ? left : STAGE_SIZE;
    HALO_TRY(stream_add(s, s->asked, length, &piece));
    s->asked += length;
    HALO_TRY(halo_cl_check(
        halo_cl.clEnqueueReadBuffer(s->queue, s->mem, CL_FALSE, s->offset + piece->at, length,
                                    piece->stage->host, 0, NULL, &piece->stage->busy),
        "clEnqueueReadBuffer"));
    HALO_TRY(halo_cl_check(halo_cl.clFlush(s->queue), "clFlush"));
  }
  *there = s->there;
  return HALO_OK;
}

halo_status halo_cl_stream_write(halo_cl_stream *s, size_t at, size_t length) {
  for (size_t done = 0; done < length;) {
    stream_piece *piece;
    size_t left = length - done, some = left < STAGE_SIZE ? left : STAGE_SIZE;
    if (s->count == STREAM_PIECES) HALO_TRY(stream_drop(s));
    HALO_TRY(stream_add(s, at + done, some, &piece));
    memcpy(piece->stage->host, s->image + piece->at, some);
    HALO_TRY(halo_cl_check(
        halo_cl.clEnqueueWriteBuffer(s->queue, s->mem, CL_FALSE, s->offset + piece->at, some,
                                     piece->stage->host, 0, NULL, &piece->stage->busy),
        "clEnqueueWriteBuffer"));
    HALO_TRY(halo_cl_check(halo_cl.clFlush(s->queue), "clFlush"));
    done += some;
  }
  return HALO_OK;
}

halo_status halo_cl_stream_close(halo_cl_stream *s) {
  halo_status status = HALO_OK;
  if (!s) return HALO_OK;
  while (s->count > 0) {
    halo_status dropped = stream_drop(s);
    if (status == HALO_OK) status = dropped;
  }
  halo_free(s);
  return status;
}
