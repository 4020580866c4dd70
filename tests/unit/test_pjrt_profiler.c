/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pjrt_profiler.c: what a framework's profiler is told: which programs ran, on which device, when. */
#include "pjrt_test.h"

#include <time.h>

/* ---- XSpace messages ---- */

typedef struct message {
  const uint8_t *at, *end;
} message;

static uint64_t number(message *in) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    ck_assert(in->at < in->end);
    uint8_t byte = *in->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

/* The next field: its number, and its value or, in `inner`, its bytes; 0 at the end. */
static uint64_t field(message *in, uint64_t *value, message *inner) {
  if (in->at == in->end) return 0;
  uint64_t key = number(in), size = number(in);
  *value = size;
  if ((key & 7) == 2) {
    ck_assert_uint_le(size, (uint64_t)(in->end - in->at));
    *inner = (message){in->at, in->at + size};
    in->at += size;
  }
  return key >> 3;
}

static bool is_text(message text, const char *expected) {
  size_t size = (size_t)(text.end - text.at);
  return size == strlen(expected) && memcmp(text.at, expected, size) == 0;
}

/* What the rows of a space say of one program, and how many rows there are. */
typedef struct summary {
  int planes, runs, others, steps;
  uint64_t last_end; /* ps since the row's begin */
  uint64_t busy;     /* ps of all steps */
} summary;

/* A row of programs, or of their kernels. */
static void sum_line(message line, uint64_t wanted, summary *out) {
  uint64_t value, number_;
  message inner;
  bool of_steps = false;
  out->last_end = 0;
  while ((number_ = field(&line, &value, &inner))) {
    if (number_ == 2) {
      of_steps = is_text(inner, "XLA Ops");
      ck_assert(of_steps || is_text(inner, "XLA Modules"));
    }
    if (number_ != 4) continue;
    uint64_t id = 0, offset = 0, duration = 0, part;
    message none;
    while ((part = field(&inner, &value, &none))) {
      *(part == 1 ? &id : part == 2 ? &offset : &duration) = value;
    }
    ck_assert_uint_ge(offset, out->last_end);
    out->last_end = offset + duration;
    if (of_steps) {
      out->steps++;
      out->busy += duration;
      ck_assert_uint_ne(id, wanted);
    } else {
      *(id == wanted ? &out->runs : &out->others) += 1;
    }
  }
}

/* The number of the program of that name, which stands behind the lines. */
static uint64_t name_id(message plane, const char *name) {
  uint64_t value, part, id = 0;
  message entry, inner, text;
  while ((part = field(&plane, &value, &entry))) {
    if (part != 4) continue;
    uint64_t key = 0;
    while ((part = field(&entry, &value, &inner))) {
      if (part == 1) key = value;
      while (part == 2 && (part = field(&inner, &value, &text))) {
        if (part == 2 && is_text(text, name)) id = key;
        part = 2;
      }
    }
  }
  return id;
}

static const char product_text[] =
    "HloModule product\n"
    "ENTRY main {\n  flat = f32[16384] parameter(0)\n  x = f32[128,128] reshape(flat)\n"
    "  p = f32[128,128] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  t = f32[128,128] tanh(p)\n  ROOT r = f32[16384] reshape(t)\n}\n";
static float ones[128 * 128];

static summary sum_up(message space, const char *name) {
  summary out = {0};
  uint64_t value, part;
  message plane, inner;
  while ((part = field(&space, &value, &plane))) {
    ck_assert_uint_eq(part, 1);
    out.planes++;
    uint64_t wanted = name_id(plane, name);
    while ((part = field(&plane, &value, &inner))) {
      if (part == 2) ck_assert(memcmp(inner.at, "/device:CUSTOM:HALO:", 20) == 0);
      if (part == 3) sum_line(inner, wanted, &out);
    }
  }
  return out;
}

/* ---- The profiler ---- */

static const PLUGIN_Profiler_Api *profiler_api(void) {
  const PJRT_Profiler_Extension *extension = pjrt_extension(PJRT_Extension_Type_Profiler);
  return extension->profiler_api;
}

static PLUGIN_Profiler *create(const PLUGIN_Profiler_Api *p) {
  PLUGIN_Profiler_Create_Args args = {.struct_size = sizeof args, .options = ""};
  ck_assert_ptr_null(p->create(&args));
  return args.profiler;
}

static message collect(const PLUGIN_Profiler_Api *p, PLUGIN_Profiler *profiler) {
  PLUGIN_Profiler_CollectData_Args args = {.struct_size = sizeof args, .profiler = profiler};
  ck_assert_ptr_null(p->collect_data(&args));
  message own = {args.buffer, args.buffer + args.buffer_size_in_bytes};
  args.buffer = malloc(args.buffer_size_in_bytes + 1);
  ck_assert_ptr_null(p->collect_data(&args));
  if (own.at != own.end) ck_assert_mem_eq(args.buffer, own.at, args.buffer_size_in_bytes);
  free(args.buffer);
  return own;
}

static void run_once(PJRT_Client *client, PJRT_LoadedExecutable *add) {
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), four, 4), *both[] = {x, x};
  PJRT_Buffer *sum = pjrt_run(add, both, 2);
  float out[4];
  pjrt_get(sum, out, sizeof out);
  pjrt_drop(sum);
  pjrt_drop(x);
}

/* The event of a run may come a moment after its results. */
static summary await_runs(const PLUGIN_Profiler_Api *p, PLUGIN_Profiler *profiler, int runs) {
  summary out = {0};
  for (int tries = 0; tries < 1000; tries++) {
    out = sum_up(collect(p, profiler), "add");
    if (out.runs == runs) break;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  return out;
}

START_TEST(runs_are_recorded) {
  const PLUGIN_Profiler_Api *p = profiler_api();
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *add = pjrt_compile(client, add_text);
  PLUGIN_Profiler_Args args = {.struct_size = sizeof args, .profiler = create(p)};
  run_once(client, add);
  ck_assert_ptr_null(p->start(&args));
  for (int i = 0; i < 3; i++) run_once(client, add);
  ck_assert_ptr_null(p->stop(&args));
  run_once(client, add);
  summary seen = await_runs(p, args.profiler, 3);
  ck_assert_int_eq(seen.planes, 1);
  ck_assert_int_eq(seen.runs, 3);
  ck_assert_int_eq(seen.others, 0);
  ck_assert_uint_gt(seen.last_end, 0);
  /* What is recorded outlives what ran. */
  pjrt_drop_loaded(add);
  pjrt_close(client);
  ck_assert_int_eq(sum_up(collect(p, args.profiler), "add").runs, 3);
  ck_assert_ptr_null(p->destroy(&args));
}
END_TEST

/* Five equal products take the times that the device measured, not those between callbacks. */
START_TEST(kernels_have_their_own_times) {
  const PLUGIN_Profiler_Api *p = profiler_api();
  PJRT_Client *client = pjrt_client(NULL);
  PJRT_LoadedExecutable *product = pjrt_compile(client, product_text);
  PLUGIN_Profiler_Args args = {.struct_size = sizeof args, .profiler = create(p)};
  PJRT_Buffer *x = pjrt_put_floats(pjrt_memory(client, 0), ones, 128 * 128);
  float *out = malloc(sizeof ones);
  for (int i = 0; i < 6; i++) {
    PJRT_Buffer *next = pjrt_run(product, &x, 1);
    pjrt_get(next, out, sizeof ones);
    pjrt_drop(x);
    x = next;
    if (i == 0) ck_assert_ptr_null(p->start(&args));
  }
  ck_assert_ptr_null(p->stop(&args));
  summary seen = sum_up(collect(p, args.profiler), "product");
  ck_assert_int_eq(seen.runs, 5);
  /* A product packs one of its operands first on some devices. */
  ck_assert_int_ge(seen.steps, 5);
  ck_assert_int_eq(seen.steps % 5, 0);
  ck_assert_uint_gt(seen.busy, 0);
  /* The last line is that of kernels, whose last one ends within what all took. */
  ck_assert_uint_le(seen.busy, seen.last_end);
  pjrt_drop(x);
  free(out);
  pjrt_drop_loaded(product);
  pjrt_close(client);
  ck_assert_ptr_null(p->destroy(&args));
}
END_TEST

START_TEST(nothing_ran) {
  const PLUGIN_Profiler_Api *p = profiler_api();
  PLUGIN_Profiler_Args args = {.struct_size = sizeof args, .profiler = create(p)};
  ck_assert_ptr_null(p->start(&args));
  ck_assert_ptr_null(p->stop(&args));
  message none = collect(p, args.profiler);
  ck_assert(none.at == none.end);
  ck_assert_ptr_null(p->destroy(&args));
}
END_TEST

START_TEST(one_at_a_time) {
  const PLUGIN_Profiler_Api *p = profiler_api();
  PLUGIN_Profiler_Args first = {.struct_size = sizeof first, .profiler = create(p)};
  PLUGIN_Profiler_Args second = {.struct_size = sizeof second, .profiler = create(p)};
  ck_assert_ptr_null(p->start(&first));
  PLUGIN_Profiler_Error_Args error = {.struct_size = sizeof error, .error = p->start(&second)};
  ck_assert_ptr_nonnull(error.error);
  PLUGIN_Profiler_Error_Message_Args text = {.struct_size = sizeof text, .error = error.error};
  p->error_message(&text);
  ck_assert_ptr_nonnull(strstr(text.message, "records already"));
  PLUGIN_Profiler_Error_GetCode_Args code = {.struct_size = sizeof code, .error = error.error};
  ck_assert_ptr_null(p->error_get_code(&code));
  ck_assert_int_eq(code.code, PJRT_Error_Code_FAILED_PRECONDITION);
  p->error_destroy(&error);
  /* That of the second stops nothing; the first's end makes room. */
  ck_assert_ptr_null(p->stop(&second));
  ck_assert_ptr_nonnull(error.error = p->start(&second));
  p->error_destroy(&error);
  ck_assert_ptr_null(p->destroy(&first));
  ck_assert_ptr_null(p->start(&second));
  ck_assert_ptr_null(p->destroy(&second));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pjrt_profiler");
  TCase *tcase = tcase_create("profiler");
  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, runs_are_recorded);
  tcase_add_test(tcase, kernels_have_their_own_times);
  tcase_add_test(tcase, nothing_ran);
  tcase_add_test(tcase, one_at_a_time);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
