/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/ffi_context.c: what the caller of a program leaves for its handlers, by type. */
#include "pjrt/ffi.h"

#include <stdlib.h>

typedef struct context_row {
  int64_t type;
  void *data;
  struct context_row *next;
} context_row;

/* The caller and each run hold a reference. */
struct PJRT_ExecuteContext {
  atomic_int references;
  pthread_mutex_t lock;
  context_row *rows;
};

void pjrt_context_retain(PJRT_ExecuteContext *context) {
  atomic_fetch_add(&context->references, 1);
}

void pjrt_context_release(PJRT_ExecuteContext *context) {
  if (!context || atomic_fetch_sub(&context->references, 1) != 1) return;
  while (context->rows) {
    context_row *row = context->rows;
    context->rows = row->next;
    free(row);
  }
  pthread_mutex_destroy(&context->lock);
  free(context);
}

static context_row *context_row_of(const PJRT_ExecuteContext *context, int64_t type) {
  context_row *row = context->rows;
  while (row && row->type != type) row = row->next;
  return row;
}

PJRT_Error *ffi_context_add(PJRT_ExecuteContext *context, int64_t type, void *data) {
  if (!context) return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "there is no context");
  pthread_mutex_lock(&context->lock);
  bool known = context_row_of(context, type) != NULL;
  if (!known) {
    context_row *row = pjrt_alloc(sizeof *row);
    *row = (context_row){type, data, context->rows};
    context->rows = row;
  }
  pthread_mutex_unlock(&context->lock);
  if (!known) return NULL;
  return pjrt_error(PJRT_Error_Code_ALREADY_EXISTS,
                    "User data with type id %lld already exists in execution context",
                    (long long)type);
}

bool ffi_context_find(PJRT_ExecuteContext *context, int64_t type, void **out) {
  pthread_mutex_lock(&context->lock);
  const context_row *row = context_row_of(context, type);
  if (row) *out = row->data;
  pthread_mutex_unlock(&context->lock);
  return row != NULL;
}

/* ---- The interface ---- */

PJRT_Error *pjrt_ExecuteContext_Create(PJRT_ExecuteContext_Create_Args *args) {
  PJRT_ExecuteContext *context = pjrt_alloc(sizeof *context);
  atomic_init(&context->references, 1);
  pthread_mutex_init(&context->lock, NULL);
  args->context = context;
  return NULL;
}

PJRT_Error *pjrt_ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args *args) {
  pjrt_context_release(args->context);
  return NULL;
}
