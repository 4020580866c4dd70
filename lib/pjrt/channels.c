/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/channels.c: what a running program and the host send each other: callbacks of the caller as channels of
 * the library. */
#include "halo/custom_call.h"
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* The functions of one channel; NULL: it goes the other way only. */
typedef struct channels_pair {
  const PJRT_SendCallbackInfo *send;
  const PJRT_RecvCallbackInfo *receive;
} channels_pair;

struct pjrt_channels {
  int count;
  halo_channel *list;
  channels_pair *pairs;
  PJRT_SendCallbackInfo *sends; /* copies: the caller's live for the call only */
  PJRT_RecvCallbackInfo *receives;
};

/* ---- From the program ---- */

static PJRT_Error *channels_error(PJRT_Error_Code code, const char *message, size_t size) {
  return pjrt_error(code, "%.*s", (int)size, message);
}

static void channels_free_chunk(void *data, void *argument) {
  (void)argument;
  free(data);
}

/* The error of a callback is the run's. */
static halo_status channels_fail(PJRT_Error *error) {
  PJRT_Error_GetCode_Args code = {.error = error};
  PJRT_Error_Message_Args message = {.error = error};
  (void)pjrt_Error_GetCode(&code);
  pjrt_Error_Message(&message);
  halo_status status = halo_custom_call_fail(pjrt_status_of(code.code), message.message);
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
  return status;
}

static halo_status channels_on_send(void *user, int64_t id, halo_literal *data) {
  static PJRT_CallbackError make_error = channels_error;
  const PJRT_SendCallbackInfo *info = ((const channels_pair *)user)->send;
  const halo_shape *shape = halo_literal_shape(data);
  halo_type type = halo_shape_type(shape);
  size_t size = (size_t)halo_shape_byte_size(shape);
  (void)id;
  PJRT_Chunk chunk = {.data = malloc(size + 1), .size = size, .deleter = channels_free_chunk};
  if (!chunk.data)
    return halo_custom_call_fail(HALO_OUT_OF_MEMORY, "no memory for what a program sends");
  if (size) memcpy(chunk.data, halo_literal_data(data), size);
  if (pjrt_type_differs(type)) pjrt_type_narrow(type, chunk.data, size);
  PJRT_Error *error = info->send_callback(&chunk, &make_error, size, true, info->user_arg);
  return error ? channels_fail(error) : HALO_OK;
}

/* ---- To the program ---- */

/* What the caller fills. It and the program hold a reference each. */
struct PJRT_CopyToDeviceStream {
  atomic_int references;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  char *data;
  size_t size, filled;
  bool given_up;
};

static void stream_release(PJRT_CopyToDeviceStream *stream) {
  if (atomic_fetch_sub(&stream->references, 1) != 1) return;
  pthread_cond_destroy(&stream->changed);
  pthread_mutex_destroy(&stream->lock);
  free(stream->data);
  free(stream);
}

/* NULL: there is not that much memory. */
static PJRT_CopyToDeviceStream *stream_create(size_t size) {
  char *data = malloc(size + 1);
  if (!data) return NULL;
  PJRT_CopyToDeviceStream *stream = pjrt_alloc(sizeof *stream);
  atomic_init(&stream->references, 2);
  pthread_mutex_init(&stream->lock, NULL);
  pthread_cond_init(&stream->changed, NULL);
  stream->size = size;
  stream->data = data;
  return stream;
}

static bool stream_wait(PJRT_CopyToDeviceStream *stream) {
  pthread_mutex_lock(&stream->lock);
  while (stream->filled < stream->size && !stream->given_up) {
    pthread_cond_wait(&stream->changed, &stream->lock);
  }
  bool full = stream->filled == stream->size;
  pthread_mutex_unlock(&stream->lock);
  return full;
}

static halo_status channels_on_recv(void *user, int64_t id, const halo_shape *shape,
                                    halo_literal **out) {
  const PJRT_RecvCallbackInfo *info = ((const channels_pair *)user)->receive;
  halo_type type = halo_shape_type(shape);
  size_t size = (size_t)halo_shape_byte_size(shape);
  halo_status status = halo_literal_create(shape, out);
  (void)id;
  if (status != HALO_OK) return status;
  PJRT_CopyToDeviceStream *stream = stream_create(size);
  if (!stream) {
    halo_literal_release(*out);
    *out = NULL;
    return halo_custom_call_fail(HALO_OUT_OF_MEMORY, "no memory for what a program receives");
  }
  info->recv_callback(stream, info->user_arg);
  if (stream_wait(stream)) {
    if (size) memcpy(halo_literal_data(*out), stream->data, size);
    pjrt_type_widen(type, halo_literal_data(*out), size);
  } else {
    halo_literal_release(*out);
    *out = NULL;
    status = halo_custom_call_fail(HALO_ABORTED,
                                   "the host gave no value to a program that waits for one");
  }
  stream_release(stream);
  return status;
}

PJRT_Error *pjrt_CopyToDeviceStream_Destroy(PJRT_CopyToDeviceStream_Destroy_Args *args) {
  PJRT_CopyToDeviceStream *stream = args->stream;
  if (!stream) return NULL;
  pthread_mutex_lock(&stream->lock);
  stream->given_up = true;
  pthread_cond_broadcast(&stream->changed);
  pthread_mutex_unlock(&stream->lock);
  stream_release(stream);
  return NULL;
}

PJRT_Error *pjrt_CopyToDeviceStream_AddChunk(PJRT_CopyToDeviceStream_AddChunk_Args *args) {
  PJRT_CopyToDeviceStream *stream = args->stream;
  PJRT_Chunk *chunk = args->chunk;
  if (!chunk) return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the chunk is NULL");
  pthread_mutex_lock(&stream->lock);
  bool fits = chunk->size <= stream->size - stream->filled;
  if (fits) {
    if (chunk->size) memcpy(stream->data + stream->filled, chunk->data, chunk->size);
    stream->filled += chunk->size;
    pthread_cond_broadcast(&stream->changed);
  }
  pthread_mutex_unlock(&stream->lock);
  if (chunk->deleter) chunk->deleter(chunk->data, chunk->deleter_arg);
  args->transfer_complete = pjrt_event_past();
  if (fits) return NULL;
  return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "more bytes than the program waits for");
}

PJRT_Error *pjrt_CopyToDeviceStream_TotalBytes(PJRT_CopyToDeviceStream_TotalBytes_Args *args) {
  args->total_bytes = (int64_t)args->stream->size;
  return NULL;
}

PJRT_Error *pjrt_CopyToDeviceStream_GranuleSize(PJRT_CopyToDeviceStream_GranuleSize_Args *args) {
  args->granule_size_in_bytes = 1;
  return NULL;
}

PJRT_Error *pjrt_CopyToDeviceStream_CurrentBytes(PJRT_CopyToDeviceStream_CurrentBytes_Args *args) {
  pthread_mutex_lock(&args->stream->lock);
  args->current_bytes = (int64_t)args->stream->filled;
  pthread_mutex_unlock(&args->stream->lock);
  return NULL;
}

/* ---- The channels of a run ---- */

static void channels_add(pjrt_channels *channels, int64_t id, channels_pair pair) {
  int i = 0;
  while (i < channels->count && channels->list[i].id != id) i++;
  if (i == channels->count) channels->count++;
  if (pair.send) channels->pairs[i].send = pair.send;
  if (pair.receive) channels->pairs[i].receive = pair.receive;
  channels->list[i] =
      (halo_channel){.id = id,
                     .on_send = channels->pairs[i].send ? channels_on_send : NULL,
                     .on_recv = channels->pairs[i].receive ? channels_on_recv : NULL,
                     .user = &channels->pairs[i]};
}

pjrt_channels *pjrt_channels_create(const PJRT_ExecuteOptions *options, size_t device) {
  size_t sends = options->num_send_ops, receives = options->num_recv_ops;
  pjrt_channels *channels = pjrt_alloc(sizeof *channels);
  channels->list = pjrt_alloc(sizeof *channels->list * (sends + receives));
  channels->pairs = pjrt_alloc(sizeof *channels->pairs * (sends + receives));
  channels->sends = pjrt_alloc(sizeof *channels->sends * sends);
  channels->receives = pjrt_alloc(sizeof *channels->receives * receives);
  for (size_t i = 0; i < sends; i++) {
    channels->sends[i] = options->send_callbacks[device][i];
    channels_add(channels, channels->sends[i].channel_id,
                 (channels_pair){.send = &channels->sends[i]});
  }
  for (size_t i = 0; i < receives; i++) {
    channels->receives[i] = options->recv_callbacks[device][i];
    channels_add(channels, channels->receives[i].channel_id,
                 (channels_pair){.receive = &channels->receives[i]});
  }
  return channels;
}

const halo_channel *pjrt_channels_list(const pjrt_channels *channels, int *count) {
  *count = channels->count;
  return channels->list;
}

void pjrt_channels_release(pjrt_channels *channels) {
  if (!channels) return;
  free(channels->list);
  free(channels->pairs);
  free(channels->sends);
  free(channels->receives);
  free(channels);
}
