/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/memory.c: device memory: blocks in size classes, kept for reuse, counted and limited. */
#include "base/memory.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "opencl/event.h"
#include "opencl/private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  MEMORY_MIN = 256,
  MEMORY_FINE_BITS = 20, /* from 1 MiB on classes are finer, so that rounding wastes little */
  MEMORY_BINS = 1024,
  MEMORY_UNUSED_SECONDS = 10, /* after which cached blocks are given back, */
  MEMORY_UNUSED = 64 << 20,   /* but for so many bytes */
  MEMORY_HOLDERS = 5,         /* named in an out-of-memory message */
  MEMORY_UNRESTRICTED_SIZE_INTEL =
      1 << 23 /* CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL, which not all headers have */
};

typedef struct memory_list {
  halo_cl_block *first, *last;
} memory_list;

struct halo_cl_memory {
  pthread_mutex_t lock;
  cl_command_queue
      touches; /* for first uses of new blocks, which wait for no other command; NULL: none yet */
  memory_list live;   /* in order of allocation */
  memory_list cached; /* the longest unused first */
  memory_list parked; /* nobody's, but a copy to or from the host uses them still */
  halo_cl_block *bins[MEMORY_BINS];
  halo_cl_memory_stats stats; /* `live` includes what is being allocated */
  uint64_t serials;
};

halo_cl_memory *halo_cl_memory_create(uint64_t limit) {
  halo_cl_memory *memory = halo_alloc(sizeof *memory);
  pthread_mutex_init(&memory->lock, NULL);
  memory->stats.limit = limit;
  return memory;
}

/* ---- Size classes: 4 to a power of two, 16 from MEMORY_FINE_BITS on ---- */

static int memory_class_bits(size_t size) {
  int power = 63 - __builtin_clzll((unsigned long long)size);
  return power < MEMORY_FINE_BITS ? 2 : 4;
}

static size_t memory_round(size_t size) {
  if (size <= MEMORY_MIN) return MEMORY_MIN;
  int power = 63 - __builtin_clzll((unsigned long long)size);
  size_t step = (size_t)1 << (power - memory_class_bits(size));
  return size > SIZE_MAX - step ? size : (size + step - 1) & ~(step - 1);
}

/* The class that `capacity` lies in, whether or not it is that class's own size. */
static int memory_bin(size_t capacity) {
  int power = 63 - __builtin_clzll((unsigned long long)capacity);
  int bits = memory_class_bits(capacity);
  int part = (int)((capacity >> (power - bits)) & (((size_t)1 << bits) - 1));
  return power * 16 + part;
}

/* ---- Lists; the lock is held ---- */

static void memory_list_add(memory_list *list, halo_cl_block *block) {
  block->previous = list->last;
  block->next = NULL;
  *(list->last ? &list->last->next : &list->first) = block;
  list->last = block;
}

static void memory_list_remove(memory_list *list, halo_cl_block *block) {
  *(block->previous ? &block->previous->next : &list->first) = block->next;
  *(block->next ? &block->next->previous : &list->last) = block->previous;
  block->previous = block->next = NULL;
}

static void memory_cache_add(halo_cl_memory *memory, halo_cl_block *block) {
  halo_cl_block **bin = &memory->bins[memory_bin(block->capacity)];
  memory_list_add(&memory->cached, block);
  block->cached_at = halo_clock();
  block->bin_previous = NULL;
  block->bin_next = *bin;
  if (*bin) (*bin)->bin_previous = block;
  *bin = block;
  memory->stats.cached += block->capacity;
}

static void memory_cache_remove(halo_cl_memory *memory, halo_cl_block *block) {
  halo_cl_block **bin = &memory->bins[memory_bin(block->capacity)];
  memory_list_remove(&memory->cached, block);
  *(block->bin_previous ? &block->bin_previous->bin_next : bin) = block->bin_next;
  if (block->bin_next) block->bin_next->bin_previous = block->bin_previous;
  block->bin_previous = block->bin_next = NULL;
  memory->stats.cached -= block->capacity;
}

/* Takes the longest unused block out of the cache, into a list. */
static void memory_evict_first(halo_cl_memory *memory, halo_cl_block **out) {
  halo_cl_block *block = memory->cached.first;
  memory_cache_remove(memory, block);
  block->next = *out;
  *out = block;
}

/* Takes cached blocks out, the longest unused first, until `live + cached + size` fits the limit
 * (or all of them); the caller gives them back to OpenCL without the lock. */
static halo_cl_block *memory_evict(halo_cl_memory *memory, size_t size, bool all) {
  halo_cl_block *out = NULL;
  halo_cl_memory_stats *stats = &memory->stats;
  while (memory->cached.first) {
    uint64_t held = stats->live + stats->cached;
    if (!all && held <= stats->limit && size <= stats->limit - held) break;
    memory_evict_first(memory, &out);
  }
  return out;
}

/* Likewise those that nobody wanted for so many seconds. */
static halo_cl_block *memory_evict_unused(halo_cl_memory *memory, double seconds) {
  halo_cl_block *out = NULL;
  double until = halo_clock() - seconds;
  while (memory->stats.cached > MEMORY_UNUSED && memory->cached.first->cached_at <= until) {
    memory_evict_first(memory, &out);
  }
  return out;
}

/* Forgets a copy of the block that has happened; whether there is none left. */
static bool memory_transfer_is_over(halo_cl_block *block, halo_cl_transfer kind) {
  cl_event event = atomic_load(&block->transfers[kind]);
  if (!event) return true;
  if (!halo_cl_has_happened(event)) return false;
  atomic_store(&block->transfers[kind], NULL);
  if (!halo_cl_is_forked()) halo_cl.clReleaseEvent(event);
  return true;
}

/* Puts into the cache what copies are done with; the lock is held. */
static void memory_sweep(halo_cl_memory *memory) {
  for (halo_cl_block *block = memory->parked.first, *next; block; block = next) {
    next = block->next;
    if (!memory_transfer_is_over(block, HALO_CL_TRANSFER_IN) ||
        !memory_transfer_is_over(block, HALO_CL_TRANSFER_OUT)) {
      continue;
    }
    memory_list_remove(&memory->parked, block);
    memory->stats.live -= block->capacity;
    memory_cache_add(memory, block);
  }
}

static void memory_give_back(halo_cl_block *blocks) {
  for (halo_cl_block *next; blocks; blocks = next) {
    next = blocks->next;
    if (blocks->mem && !halo_cl_is_forked()) halo_cl.clReleaseMemObject(blocks->mem);
    halo_free(blocks);
  }
}

void halo_cl_memory_release(halo_cl_memory *memory) {
  if (!memory) return;
  memory_sweep(memory);
  memory_give_back(memory_evict(memory, 0, true));
  if (memory->touches && !halo_cl_is_forked()) halo_cl.clReleaseCommandQueue(memory->touches);
  pthread_mutex_destroy(&memory->lock);
  halo_free(memory);
}

/* ---- Out of memory ---- */

typedef struct memory_holder {
  const char *what;
  uint64_t bytes, blocks;
} memory_holder;

static int memory_by_name(const void *a, const void *b) {
  return strcmp(((const memory_holder *)a)->what, ((const memory_holder *)b)->what);
}

static int memory_by_bytes(const void *a, const void *b) {
  uint64_t x = ((const memory_holder *)a)->bytes, y = ((const memory_holder *)b)->bytes;
  return x < y ? 1 : x > y ? -1 : memory_by_name(a, b);
}

static void memory_print_bytes(halo_strbuf *text, uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  double value = (double)bytes;
  for (; value >= 1024 && unit < 4; unit++) value /= 1024;
  halo_strbuf_printf(text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* Large sizes in both ways: rounded to be read, exact to be searched for. */
static void memory_print_exactly(halo_strbuf *text, size_t size) {
  memory_print_bytes(text, size);
  if (size >= 1024) halo_strbuf_printf(text, " (%zu bytes)", size);
}

/* Who holds most, summed by name; the lock is held. */
static void memory_print_holders(const halo_cl_memory *memory, halo_strbuf *text) {
  size_t count = 0, kinds = 0;
  for (halo_cl_block *b = memory->live.first; b; b = b->next) count++;
  memory_holder *holders = halo_alloc(sizeof *holders * count);
  count = 0;
  for (halo_cl_block *b = memory->live.first; b; b = b->next) {
    holders[count++] = (memory_holder){b->what, b->capacity, 1};
  }
  if (count) qsort(holders, count, sizeof *holders, memory_by_name);
  for (size_t i = 0; i < count; i++) {
    if (kinds && strcmp(holders[kinds - 1].what, holders[i].what) == 0) {
      holders[kinds - 1].bytes += holders[i].bytes;
      holders[kinds - 1].blocks++;
    } else {
      holders[kinds++] = holders[i];
    }
  }
  if (kinds) qsort(holders, kinds, sizeof *holders, memory_by_bytes);
  for (size_t i = 0; i < kinds && i < MEMORY_HOLDERS; i++) {
    halo_strbuf_printf(text, i ? ", %s " : "; held by %s ", holders[i].what);
    memory_print_bytes(text, holders[i].bytes);
    if (holders[i].blocks > 1) {
      halo_strbuf_printf(text, " in %llu blocks", (unsigned long long)holders[i].blocks);
    }
  }
  if (kinds > MEMORY_HOLDERS) {
    halo_strbuf_printf(text, " and %zu others", kinds - MEMORY_HOLDERS);
  }
  halo_free(holders);
}

/* The lock is held. `code` is what OpenCL said, or CL_SUCCESS when the limit is the reason. */
static halo_status memory_fail(const halo_cl_memory *memory, size_t size, const char *what,
                               cl_int code) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "out of device memory: %s asks for ", what);
  memory_print_exactly(&text, size);
  halo_strbuf_append(&text, "; in use are ");
  memory_print_bytes(&text, memory->stats.live);
  halo_strbuf_append(&text, " of at most ");
  memory_print_bytes(&text, memory->stats.limit);
  if (code != CL_SUCCESS) {
    halo_strbuf_printf(&text, ", and OpenCL refused more (%s)", halo_cl_code_name(code));
  }
  memory_print_holders(memory, &text);
  halo_status status = halo_fail(HALO_OUT_OF_MEMORY, "%s", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return status;
}

static halo_status memory_fail_too_large(const halo_cl_device *device, size_t size,
                                         const char *what, cl_int code) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "%s asks for ", what);
  memory_print_exactly(&text, size);
  halo_strbuf_printf(&text, " in one piece; %s gives at most ", device->caps.name);
  memory_print_bytes(&text, device->caps.max_allocation);
  if (code != CL_SUCCESS) {
    halo_strbuf_printf(&text, " and refused more (%s)", halo_cl_code_name(code));
  }
  halo_status status = halo_fail(HALO_OUT_OF_MEMORY, "%s", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return status;
}

/* ---- Allocation ---- */

/* On Oclgrind, which watches every access, a block is as large as was asked for and never used again:
 * what it is to find would else lie in the room to spare or in old contents. */
static bool memory_is_watched(const halo_cl_device *device) {
  return strcmp(device->caps.platform, "Oclgrind") == 0;
}

/* A cached block of the class that holds `size`; the lock is held. Programs that use no more than `size` are not built for blocks
 * that are large. */
static halo_cl_block *memory_reuse(const halo_cl_device *device, size_t size, size_t capacity) {
  halo_cl_memory *memory = device->memory;
  bool large = halo_cl_is_large(device, size);
  for (halo_cl_block *b = memory->bins[memory_bin(capacity)]; b; b = b->bin_next) {
    if (b->capacity < size || halo_cl_is_large(device, b->capacity) != large) continue;
    memory_cache_remove(memory, b);
    return b;
  }
  return NULL;
}

/* Puts the block among the live ones; the lock is held and its bytes are counted. */
static void memory_hand_out(halo_cl_memory *memory, halo_cl_block *block, size_t size,
                            const char *what) {
  block->size = size;
  size_t length = strnlen(what, sizeof block->what - 1);
  memcpy(block->what, what, length);
  block->what[length] = '\0';
  atomic_init(&block->references, 1);
  memory_list_add(&memory->live, block);
  halo_cl_memory_stats *stats = &memory->stats;
  uint64_t held = stats->live + stats->cached;
  if (stats->live > stats->peak) stats->peak = stats->live;
  if (held > stats->peak_held) stats->peak_held = held;
  if (size > stats->largest) stats->largest = size;
}

bool halo_cl_is_large(const halo_cl_device *device, uint64_t size) {
  const halo_caps *caps = &device->caps;
  bool intel = caps->is_gpu && !caps->is_null && strstr(caps->vendor, "Intel");
  return intel && (size > UINT32_MAX || size > caps->max_allocation);
}

const char *halo_cl_large_options(const halo_cl_device *device, uint64_t size) {
  return halo_cl_is_large(device, size) ? "-cl-intel-greater-than-4GB-buffer-required" : NULL;
}

static cl_int memory_touches_open(halo_cl_device *device) {
  halo_cl_memory *memory = device->memory;
  cl_int code = CL_SUCCESS;
  pthread_mutex_lock(&memory->lock);
  if (!memory->touches) {
    memory->touches = halo_cl.clCreateCommandQueue(device->context, device->id, 0, &code);
  }
  pthread_mutex_unlock(&memory->lock);
  return code;
}

/* Drivers of GPUs take memory when a block is first used, and say in the state of that command that there is none: a shortage
 * that is not asked for here would be wrong results of some program later. */
static cl_int memory_touch(halo_cl_device *device, cl_mem mem, size_t capacity) {
  enum { LEAST = 1 << 20 }; /* bytes; smaller blocks come out of larger ones of the driver's */
  static const unsigned char zero = 0;
  if (!device->caps.is_gpu || device->caps.shares_host_memory || capacity < LEAST) {
    return CL_SUCCESS;
  }
  cl_event done = NULL;
  cl_int state = CL_COMPLETE, code = memory_touches_open(device);
  if (code != CL_SUCCESS) return code;
  code = halo_cl.clEnqueueWriteBuffer(device->memory->touches, mem, CL_FALSE, 0, 1, &zero, 0, NULL,
                                      &done);
  if (code != CL_SUCCESS) return code;
  code = halo_cl.clWaitForEvents(1, &done);
  cl_int asked =
      halo_cl.clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  halo_cl.clReleaseEvent(done);
  return state < CL_COMPLETE ? state : code != CL_SUCCESS ? code : asked;
}

static cl_int memory_create(halo_cl_device *device, halo_cl_block *block) {
  enum {
    DIRECT_MOST = 256 << 10
  }; /* bytes; to map more takes little beside what is done with it */
  if (device->caps.is_null) return CL_SUCCESS;
  if (device->direct && block->capacity <= DIRECT_MOST) {
    block->mem = halo_cl_direct_create(device, block->capacity, &block->host);
    if (block->mem) return CL_SUCCESS;
  }
  /* Where the host shares the memory, ask for a place it can map without a copy. */
  cl_mem_flags place = device->caps.shares_host_memory ? CL_MEM_ALLOC_HOST_PTR : 0;
  if (halo_cl_is_large(device, block->capacity)) place |= MEMORY_UNRESTRICTED_SIZE_INTEL;
  cl_int code;
  cl_mem mem = halo_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | place, block->capacity,
                                      NULL, &code);
  if (code == CL_SUCCESS) {
    code = memory_touch(device, mem, block->capacity);
    if (code != CL_SUCCESS) halo_cl.clReleaseMemObject(mem);
  }
  if (code == CL_SUCCESS) block->mem = mem;
  return code;
}

/* Whether waiting for copies may help against a lack of memory. */
static bool memory_wait_for_parked(halo_cl_device *device) {
  pthread_mutex_lock(&device->memory->lock);
  bool any = device->memory->parked.first != NULL;
  pthread_mutex_unlock(&device->memory->lock);
  return any && halo_cl.clFinish(device->transfers) == CL_SUCCESS;
}

/* OpenCL gives memory back only when queued commands are done with it, hence the wait. */
static cl_int memory_create_after_trim(halo_cl_device *device, halo_cl_block *block) {
  halo_cl_memory_trim(device);
  halo_cl.clFinish(device->queue);
  return memory_create(device, block);
}

/* Serves a request from the cache (*block is then not NULL), or counts `*capacity` bytes as live
 * for a new block and gives back what the cache must give up for it. */
static halo_status memory_reserve(halo_cl_device *device, size_t size, const char *what,
                                  size_t *capacity, halo_cl_block **block) {
  halo_cl_memory *memory = device->memory;
  halo_cl_memory_stats *stats = &memory->stats;
  /* NVIDIA's driver states a quarter of its memory and gives more, and Intel's does when asked: drivers are tried. */
  bool too_large = device->caps.is_null && size > device->caps.max_allocation;
  halo_status status = HALO_OK;
  halo_cl_block *evicted = NULL;
  size_t least = size ? size : 1;
  bool watched = memory_is_watched(device);
  *capacity = memory_round(size);
  bool becomes_large = halo_cl_is_large(device, *capacity) && !halo_cl_is_large(device, size);
  if (*capacity > device->caps.max_allocation || watched || becomes_large) *capacity = least;
  pthread_mutex_lock(&memory->lock);
  memory_sweep(memory);
  stats->allocations++;
  *block = too_large || watched ? NULL : memory_reuse(device, size, *capacity);
  if (*block) {
    stats->reused++;
    stats->live += (*block)->capacity;
    memory_hand_out(memory, *block, size, what);
  } else if (!too_large) {
    evicted = memory_evict(memory, *capacity, false);
    uint64_t room = stats->limit > stats->live ? stats->limit - stats->live : 0;
    /* Near the limit rounding up must not be the reason to fail. */
    if (*capacity > room && least <= room) *capacity = least;
    if (*capacity > room) status = memory_fail(memory, size, what, CL_SUCCESS);
    if (status == HALO_OK) stats->live += *capacity;
  }
  pthread_mutex_unlock(&memory->lock);
  memory_give_back(evicted);
  return too_large ? memory_fail_too_large(device, size, what, CL_SUCCESS) : status;
}

halo_status halo_cl_alloc(halo_cl_device *device, size_t size, const char *what,
                          halo_cl_block **out) {
  halo_cl_memory *memory = device->memory;
  size_t capacity;
  halo_cl_block *block;
  *out = NULL;
  HALO_TRY(halo_cl_process_check());
  halo_status status = memory_reserve(device, size, what, &capacity, &block);
  if (status == HALO_OUT_OF_MEMORY && memory_wait_for_parked(device)) {
    status = memory_reserve(device, size, what, &capacity, &block);
  }
  HALO_TRY(status);
  if (!block) {
    block = halo_alloc(sizeof *block);
    block->device = device;
    block->capacity = capacity;
    cl_int code = memory_create(device, block);
    if (code != CL_SUCCESS) code = memory_create_after_trim(device, block);
    pthread_mutex_lock(&memory->lock);
    if (code == CL_SUCCESS) {
      block->serial = ++memory->serials;
      memory_hand_out(memory, block, size, what);
    } else {
      memory->stats.live -= capacity;
      status = size > device->caps.max_allocation ? memory_fail_too_large(device, size, what, code)
                                                  : memory_fail(memory, size, what, code);
    }
    pthread_mutex_unlock(&memory->lock);
    if (status != HALO_OK) {
      halo_free(block);
      return status;
    }
  }
  halo_cl_device_retain(device);
  *out = block;
  return HALO_OK;
}

/* ---- Memory of the host ---- */

/* Smaller arrays are copied sooner than a memory object is made of them; and where CPU compilers, and libraries, expect
 * vectors to begin. */
enum { LEND_LEAST = 64 << 10, LEND_ALIGNMENT = 64 };

bool halo_cl_can_lend(const halo_cl_device *device, const void *data, size_t size) {
  return device->caps.is_cpu && device->caps.shares_host_memory && !device->caps.is_null &&
         !memory_is_watched(device) && size >= LEND_LEAST && size <= device->caps.max_allocation &&
         (uintptr_t)data % LEND_ALIGNMENT == 0;
}

/* OpenCL calls this when the last command that reads the memory is over, from a thread of its own. */
static void CL_CALLBACK memory_returned(cl_mem mem, void *done) {
  (void)mem;
  halo_cl_event_set_done(done);
  halo_cl_event_release(done);
}

halo_status halo_cl_lend(halo_cl_device *device, const void *data, size_t size, halo_cl_event *done,
                         halo_cl_block **out) {
  cl_int code;
  *out = NULL;
  HALO_TRY(halo_cl_process_check());
  cl_mem mem = halo_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                      size, (void *)data, &code);
  HALO_TRY(halo_cl_check(code, "clCreateBuffer of the host's memory"));
  halo_cl_event_retain(done);
  code = halo_cl.clSetMemObjectDestructorCallback(mem, memory_returned, done);
  if (code != CL_SUCCESS) {
    halo_cl_event_release(done);
    halo_cl.clReleaseMemObject(mem);
    return halo_cl_check(code, "clSetMemObjectDestructorCallback");
  }
  halo_cl_block *block = halo_alloc(sizeof *block);
  block->device = device;
  block->mem = mem;
  block->size = block->capacity = size;
  block->lent = true;
  atomic_init(&block->references, 1);
  pthread_mutex_lock(&device->memory->lock);
  block->serial = ++device->memory->serials;
  pthread_mutex_unlock(&device->memory->lock);
  halo_cl_device_retain(device);
  *out = block;
  return HALO_OK;
}

/* Commands that were queued keep the memory until they are over. */
static void memory_return(halo_cl_block *block) {
  halo_cl_device *device = block->device;
  for (int kind = 0; kind < 2; kind++) {
    cl_event event = atomic_load(&block->transfers[kind]);
    if (event && !halo_cl_is_forked()) halo_cl.clReleaseEvent(event);
  }
  if (!halo_cl_is_forked()) halo_cl.clReleaseMemObject(block->mem);
  halo_free(block);
  halo_cl_device_release(device);
}

void halo_cl_block_retain(halo_cl_block *block) { atomic_fetch_add(&block->references, 1); }

void halo_cl_free(halo_cl_block *block) {
  if (!block || atomic_fetch_sub(&block->references, 1) != 1) return;
  if (block->lent) {
    memory_return(block);
    return;
  }
  halo_cl_device *device = block->device;
  halo_cl_memory *memory = device->memory;
  block->ticket = halo_cl_timeline_last(device);
  pthread_mutex_lock(&memory->lock);
  memory_list_remove(&memory->live, block);
  memory_list_add(&memory->parked, block);
  memory_sweep(memory);
  halo_cl_block *unused = memory_evict_unused(memory, MEMORY_UNUSED_SECONDS);
  pthread_mutex_unlock(&memory->lock);
  memory_give_back(unused);
  halo_cl_device_release(device);
}

void halo_cl_block_set_transfer(halo_cl_block *block, halo_cl_transfer kind, cl_event event) {
  halo_cl.clRetainEvent(event);
  pthread_mutex_lock(&block->device->memory->lock);
  cl_event before = atomic_exchange(&block->transfers[kind], event);
  pthread_mutex_unlock(&block->device->memory->lock);
  if (before) halo_cl.clReleaseEvent(before); /* came earlier on the same queue */
}

cl_event halo_cl_block_transfer(halo_cl_block *block, halo_cl_transfer kind) {
  if (!atomic_load(&block->transfers[kind])) return NULL;
  pthread_mutex_lock(&block->device->memory->lock);
  cl_event event =
      memory_transfer_is_over(block, kind) ? NULL : atomic_load(&block->transfers[kind]);
  if (event) halo_cl.clRetainEvent(event);
  pthread_mutex_unlock(&block->device->memory->lock);
  return event;
}

void halo_cl_memory_get_stats(halo_cl_device *device, halo_cl_memory_stats *out) {
  pthread_mutex_lock(&device->memory->lock);
  memory_sweep(device->memory);
  *out = device->memory->stats;
  pthread_mutex_unlock(&device->memory->lock);
}

void halo_cl_memory_reset_stats(halo_cl_device *device) {
  halo_cl_memory_stats *stats = &device->memory->stats;
  pthread_mutex_lock(&device->memory->lock);
  memory_sweep(device->memory);
  stats->peak = stats->live;
  stats->peak_held = stats->live + stats->cached;
  stats->largest = stats->allocations = stats->reused = 0;
  pthread_mutex_unlock(&device->memory->lock);
}

void halo_cl_memory_trim_unused(halo_cl_device *device, double seconds) {
  pthread_mutex_lock(&device->memory->lock);
  halo_cl_block *blocks = memory_evict_unused(device->memory, seconds);
  pthread_mutex_unlock(&device->memory->lock);
  memory_give_back(blocks);
}

void halo_cl_memory_trim(halo_cl_device *device) {
  pthread_mutex_lock(&device->memory->lock);
  halo_cl_block *blocks = memory_evict(device->memory, 0, true);
  pthread_mutex_unlock(&device->memory->lock);
  memory_give_back(blocks);
}
