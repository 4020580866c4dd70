/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_templates.c: every file in cl_kernels/ by itself, and the templates with other holes. */
#include "kernel/kernel.h"
#include "kernels/template.h"
#include "opencl/opencl.h"
#include "run_test.h"
#include "suite.h"

extern const char halo_cl_conv_depthwise[], halo_cl_conv_image[], halo_cl_gemm_pack[],
    halo_cl_gemm_panels[], halo_cl_gemm_tile[], halo_cl_reduce[], halo_cl_scalar[],
    halo_cl_transpose[];

static halo_cl_device *open_device(void) {
  halo_cl_device *device;
  ck_ok(halo_cl_device_open(&(halo_cl_options){.cache_dir = ""}, &device));
  return device;
}

/* The text builds and, if one is named, has the kernel. */
static void check_builds(halo_cl_device *device, const char *text, const char *kernel,
                         const char *about) {
  halo_cl_program *program;
  ck_assert_msg(halo_cl_program_get(device, text, "-Werror", &program) == HALO_OK, "%s: %s", about,
                halo_error_message());
  cl_kernel handle = NULL;
  if (kernel) {
    ck_assert_msg(halo_cl_kernel_create(program, kernel, &handle) == HALO_OK, "%s: %s", about,
                  halo_error_message());
    clReleaseKernel(handle);
  }
  halo_cl_program_release(program);
}

/* ---- Files by themselves ---- */

static int file_count(void) {
  int count = 0;
  while (halo_cl_files[count].name) count++;
  return count;
}

/* Functions of complex numbers are built on those of real ones, and those of f16 on h_rint. */
static void add_needed(halo_strbuf *text, const char *name) {
  bool complex = strcmp(name, "complex.cl") == 0, half = strcmp(name, "half.cl") == 0;
  for (const halo_cl_file *file = halo_cl_files; file->name; file++) {
    bool needed = (complex && strncmp(file->name, "math_", 5) == 0) ||
                  (half && strcmp(file->name, "scalar.cl") == 0);
    if (needed) halo_strbuf_printf(text, "%s\n", file->text);
  }
}

START_TEST(alone) {
  halo_cl_device *device = open_device();
  const halo_cl_file *file = &halo_cl_files[_i];
  if (!strstr(file->text, "double") || device->caps.has_f64) {
    halo_strbuf text = {0};
    add_needed(&text, file->name);
    halo_strbuf_append(&text, file->defaults);
    halo_text_render(&text, file->text, strlen(file->text), HALO_FORM_KERNEL, NULL);
    check_builds(device, halo_strbuf_text(&text), file->kernel, file->name);
    halo_strbuf_deinit(&text);
  }
  halo_cl_device_release(device);
}
END_TEST

/* ---- Holes ---- */

/* Puts an instance with these holes ("H_T float; H_IN(p) in_[p]; ...") into `out`. `@` stands for a
 * semicolon in a hole. */
static void instance(halo_strbuf *out, const char *text, const char *holes) {
  char copy[4000], *rest = copy, *names[64];
  int count = 0;
  ck_assert_uint_lt(strlen(holes), sizeof copy);
  strcpy(copy, holes);
  halo_template t;
  halo_template_init(&t, text);
  for (char *hole; (hole = strsep(&rest, ";")) != NULL;) {
    hole += strspn(hole, " ");
    if (!*hole) continue;
    for (char *at; (at = strchr(hole, '@')) != NULL;) *at = ';';
    names[count] = strndup(hole, strcspn(hole, " ("));
    halo_template_define(&t, names[count++], hole);
  }
  halo_strbuf text_with_holes = {0};
  halo_template_finish(&t, &text_with_holes);
  halo_text_render(out, halo_strbuf_text(&text_with_holes), text_with_holes.length,
                   HALO_FORM_KERNEL, NULL);
  halo_strbuf_deinit(&text_with_holes);
  while (count > 0) free(names[--count]);
}

typedef struct element {
  const char *type;
  int width; /* of vectors in gemm_panels.cl */
  bool f64;
} element;
static const element elements[] = {{"float", 8, false},  {"float", 4, false}, {"int", 8, false},
                                   {"uchar", 16, false}, {"ulong", 8, false}, {"double", 4, true}};
enum { ELEMENT_COUNT = sizeof elements / sizeof elements[0] };

static const char common[] =
    "H_NAME k%d; H_INT %s; H_T %s; "
    "H_PARAMS __global const %s *in_, __global const %s *rhs_, __global %s *out_; "
    "H_BLOCK block%d; H_BLOCK_PARAMS H_PARAMS; H_ARGUMENTS in_, rhs_, out_; "
    "H_ROLLED; "
    "H_SINGLE; ";

/* All instances in one program: each must leave no macro behind. */
static void check_instances(const char *text, const char *const *holes, int count) {
  halo_cl_device *device = open_device();
  const element *e = &elements[0];
  for (int i = 0; i < ELEMENT_COUNT; i++) {
    e = &elements[i];
    if (e->f64 && !device->caps.has_f64) continue;
    halo_strbuf program = {0};
    for (int k = 0; k < count; k++) {
      char whole[4000];
      int length = snprintf(whole, sizeof whole, common, k, k % 2 ? "long" : "int", e->type,
                            e->type, e->type, e->type, k);
      /* Loads and stores are named in full: PoCL is given declarations of what a text names, and says on
       * standard error how many names it did not know. */
      length += snprintf(whole + length, sizeof whole - (size_t)length,
                         "VECTOR4 %s4; H_W %d; H_V %s%d; H_LOADV(p) vload%d(0, p); "
                         "H_STOREV(v, p) vstore%d(v, 0, p); ",
                         e->type, e->width, e->type, e->width, e->width, e->width);
      snprintf(whole + length, sizeof whole - (size_t)length, "%s", holes[k]);
      instance(&program, text, whole);
    }
    char kernel[16];
    snprintf(kernel, sizeof kernel, "k%d", count - 1);
    check_builds(device, halo_strbuf_text(&program), kernel, e->type);
    halo_strbuf_deinit(&program);
  }
  halo_cl_device_release(device);
}
#define CHECK_INSTANCES(text, list) check_instances(text, list, sizeof list / sizeof list[0])

START_TEST(reduce_holes) {
#define REDUCE                                                                                     \
  "H_POINTERS; H_IN(o, r, c) in_[((o)*H_N + (r)) * H_INNER + (c)]; H_OP(a, b) ((a) < (b) ? (b) : " \
  "(a)); H_OUT(p, v) out_[p] = (v); "                                                              \
  "H_SIDE struct { H_T m0[H_ROOM]@ }; H_GET(l, j) (l).m0[j]; H_SET(l, j, v) (l).m0[j] = (v); "     \
  "H_INTO(l, v) (l) = (v)@; "                                                                      \
  "H_ROOM H_LANES; "
  static const char *const holes[] = {
      REDUCE
      "H_N 100; H_INNER 1; H_OUTER 7; H_CHUNK 100; H_CHUNKS 1; H_LANES 1; H_LOCAL 1; "
      "H_COLUMNS 0; H_ORDERED 0; H_BESIDE 1",
      REDUCE
      "H_N 1000; H_INNER 1; H_OUTER 7; H_CHUNK 128; H_CHUNKS 8; H_LANES 32; H_LOCAL 1; "
      "H_COLUMNS 0; H_ORDERED 0; H_BESIDE 1",
      REDUCE
      "H_N 1000; H_INNER 1; H_OUTER 7; H_CHUNK 1000; H_CHUNKS 1; H_LANES 1; H_LOCAL 64; "
      "H_COLUMNS 0; H_ORDERED 0; H_BESIDE 1",
      REDUCE
      "H_N 1000; H_INNER 1; H_OUTER 7; H_CHUNK 500; H_CHUNKS 2; H_LANES 8; H_LOCAL 16; "
      "H_COLUMNS 0; H_ORDERED 0; H_BESIDE 4",
      REDUCE
      "H_N 100; H_INNER 9; H_OUTER 2; H_CHUNK 100; H_CHUNKS 1; H_LANES 1; H_LOCAL 1; "
      "H_STREAMS 1; H_COLUMNS 1; H_ORDERED 0; H_BESIDE 1",
      REDUCE
      "H_N 1000; H_INNER 1; H_OUTER 7; H_CHUNK 500; H_CHUNKS 2; H_LANES 1; H_LOCAL 16; "
      "H_COLUMNS 0; H_ORDERED 1; H_BESIDE 1",
      REDUCE
      "H_N 1000; H_INNER 1; H_OUTER 7; H_CHUNK 500; H_CHUNKS 2; H_LANES 8; H_LOCAL 1; "
      "H_COLUMNS 0; H_ORDERED 1; H_BESIDE 1",
      REDUCE
      "H_N 100; H_INNER 9; H_OUTER 2; H_CHUNK 30; H_CHUNKS 4; H_LANES 4; H_LOCAL 1; "
      "H_STREAMS 8; H_COLUMNS 1; H_ORDERED 0; H_BESIDE 1",
      REDUCE
      "H_N 100; H_INNER 64; H_OUTER 2; H_CHUNK 30; H_CHUNKS 4; H_LANES 32; H_LOCAL 1; "
      "H_STREAMS 4; H_COLUMNS 1; H_ORDERED 0; H_BESIDE 1",
#define LINES                                                                                      \
  "H_SPAN 4; H_LINE struct { float4 m0@ }; H_LINE_NONE(l) (l).m0 = (float4)(0.0f)@; "              \
  "H_LINE_ADD(l, o, r, c) { const float x0 = H_IN(o, r, c), x1 = H_IN(o, r + 1, c)@ (l).m0 += "    \
  "(float4)(x0, x1, x0, x1)@ }; H_LINE_LAST(l, o, r, c, skip) if (skip < 4) "                      \
  "(l).m0.w += H_IN(o, r + 3, c)@; H_LINE_JOIN(l, m) (l).m0 += (m).m0@; "                          \
  "H_LINE_TOTAL(l, v) v = (l).m0.x + (l).m0.y@; H_LINE_GET(l, s, j) "                              \
  "(l).m0 = (float4)((s).m0[j])@; H_LINE_SET(l, s, j) (s).m0[j] = (l).m0.x@; H_NONE 0.0f; "
      REDUCE LINES
      "H_N 100; H_INNER 1; H_OUTER 8; H_CHUNK 50; H_CHUNKS 2; H_LANES 8; H_LOCAL 1; H_ROWS 4; "
      "H_COLUMNS 0; H_ORDERED 0; H_BESIDE 1",
      REDUCE LINES
      "H_N 100; H_INNER 64; H_OUTER 2; H_CHUNK 30; H_CHUNKS 4; H_LANES 32; H_LOCAL 1; "
      "H_STREAMS 4; H_COPIES 2; H_COLUMNS 1; H_ORDERED 0; H_BESIDE 1",
      REDUCE LINES
      "H_N 100; H_INNER 8; H_OUTER 2; H_CHUNK 30; H_CHUNKS 4; H_LANES 8; H_LOCAL 1; "
      "H_STREAMS 4; H_COLUMNS 1; H_NARROW 1; H_ORDERED 0; H_BESIDE 1"};
  CHECK_INSTANCES(halo_cl_reduce, holes);
}
END_TEST

START_TEST(image_holes) {
#define IMAGE                                                                                      \
  "H_POINTERS; H_IN(line, x, i) ((x) < 2 ? 0 : in_[((line)*H_X + (x)-2) * H_I + (i)]); "           \
  "H_OUT(p, v) out_[p] = (v); "
  static const char *const holes[] = {IMAGE "H_LINES 64; H_X 5; H_I 3",
                                      IMAGE "H_LINES 1; H_X 2; H_I 1"};
  CHECK_INSTANCES(halo_cl_conv_image, holes);
}
END_TEST

START_TEST(depthwise_holes) {
#define DEPTHWISE                                                                                  \
  "H_POINTERS __global const H_T *PX = in_, *PK = rhs_@; "                                         \
  "H_LINE(line, k) ((line) + (k) < 1 ? -1 : ((line) + (k)-1) * H_SIZE * H_C); "                    \
  "H_TAP(k, x) ((k)*H_KX + (x)) * H_C; H_STEP H_C; H_FETCH(p) (void)(p); "                         \
  "H_OUTV(c, line, x, v) H_STOREV(v, out_ + ((line)*H_X + (x)) * H_C + (c)); "
  static const char *const holes[] = {
      DEPTHWISE
      "H_LINES 9; H_X 20; H_XB 8; H_C 40; H_KLINES 3; H_KX 3; H_SIZE 20; H_STRIDE 1; "
      "H_PAD 1; H_DILATION 1",
      DEPTHWISE
      "H_LINES 9; H_X 5; H_XB 4; H_C 16; H_KLINES 1; H_KX 2; H_SIZE 20; H_STRIDE 3; "
      "H_PAD 0; H_DILATION 2"};
  CHECK_INSTANCES(halo_cl_conv_depthwise, holes);
}
END_TEST

START_TEST(pack_holes) {
#define PACK                                                                                       \
  "H_POINTERS; H_IN(b, l, k) in_[((b)*H_K + (k)) * H_LINES + (l)]; H_OUT(p, v) out_[p] = (v); "
  static const char *const holes[] = {
      PACK "H_LINES 64; H_K 64; H_BATCH 1; H_P 16; H_KBLOCK 16; H_KFAST 0",
      PACK "H_LINES 65; H_K 7; H_BATCH 3; H_P 16; H_KBLOCK 16; H_KFAST 0",
      PACK "H_LINES 5; H_K 33; H_BATCH 1; H_P 6; H_KBLOCK 16; H_KFAST 1",
      PACK "H_LINES 5; H_K 33; H_BATCH 1; H_P 1; H_KBLOCK 20; H_KFAST 1"};
  CHECK_INSTANCES(halo_cl_gemm_pack, holes);
}
END_TEST

START_TEST(panels_holes) {
#define PANELS                                                                                     \
  "H_POINTERS; H_BLOCK_POINTERS __global const H_T *PA = in_, *PB = rhs_@; "                       \
  "H_MAD(x, y, c) ((x) * (y) + (c)); H_TARGET ; H_BIASED 0; "                                      \
  "H_OUT(b, r, c, v) out_[((b)*H_M + (r)) * H_N + (c)] = (v); "                                    \
  "H_OUTV(b, r, c, v) H_STOREV(v, out_ + ((b)*H_M + (r)) * H_N + (c)); "                           \
  "H_ROW(b, p, i) ((b)*H_M + ((p)*H_MR + (i) < H_M ? (p)*H_MR + (i) : H_M - 1)) * H_K; "           \
  "H_BBATCH (H_NPANELS * H_K * H_NV * H_W); H_BPANEL (H_K * H_NV * H_W); "                         \
  "H_MPANELS ((H_M + H_MR - 1) / H_MR); "                                                          \
  "H_NPANELS ((H_N + H_NV * H_W - 1) / (H_NV * H_W)); H_FIRST 0; "
#define LINE "H_LOOPS for (H_INT k = 0@ k < H_K@ ++k); H_KA k; H_KB k * H_NV * H_W; "
#define NEST                                                                                       \
  "H_LOOPS for (H_INT k = part@ k < part + 1@ ++k) for (H_INT j = 0@ j < 2@ ++j); H_KA k; "        \
  "H_KB k * H_NV * H_W; "
  static const char *const holes[] = {
      PANELS "H_M 12; H_N 64; H_K 33; H_BATCH 1; H_MR 6; H_NV 2; " LINE
             "H_PARTS 1; H_TURNS 1; H_RIM 0; H_VECTORS 1; H_SPLIT 0",
      PANELS
      "H_M 13; H_N 67; H_K 3; H_BATCH 2; H_MR 6; H_NV 4; " NEST
      "H_PARTS 3; H_TURNS 2; H_RIM 1; H_VECTORS 0; H_SPLIT 1; H_R int; "
      "H_VALUE(b, r, c, v) (int)(v); H_PUT(b, r, c, v) out_[((b)*H_M + (r)) * H_N + (c)] = (v)",
      PANELS "H_M 1; H_N 3; H_K 100; H_BATCH 1; H_MR 1; H_NV 1; " LINE
             "H_PARTS 1; H_TURNS 1; H_RIM 1; H_VECTORS 1; H_SPLIT 0"};
  CHECK_INSTANCES(halo_cl_gemm_panels, holes);
}
END_TEST

START_TEST(tile_product_holes) {
#define PRODUCT                                                                                    \
  "H_POINTERS; H_A(b, r, k) in_[((b)*H_M + (r)) * H_K + (k)]; H_B(b, k, c) rhs_[((b)*H_K + (k)) "  \
  "* H_N + (c)]; H_AV(b, r, k) ((H_WIDE_T)H_A(b, r, k)); H_BV(b, k, c) ((H_WIDE_T)H_B(b, k, c)); " \
  "H_FMA(a, b, c) ((a) * (b) + (c)); H_OUT(b, r, c, v) out_[((b)*H_M + (r)) * H_N + (c)] = (v); "  \
  "H_OUTV(b, r, c, v) H_OUT(b, r, c, (v).s0); H_WIDTH 4; H_WIDE_T VECTOR4; H_BAND 8; "
#define SCALARS PRODUCT "H_AW 1; H_BW 1; H_OUTW 1; "
#define VECTORS PRODUCT "H_AW 4; H_BW 4; H_OUTW 4; "
#define WHOLE "H_PARTS 1; H_SHARE 1; "
#define SMALL "H_TM 32; H_TN 64; H_TK 8; H_RM 4; H_RN 4; "
#define LARGE "H_TM 64; H_TN 64; H_TK 8; H_RM 8; H_RN 8; "
  static const char *const holes[] = {
      SCALARS SMALL WHOLE "H_M 65; H_N 1; H_K 17; H_AFAST 1; H_BFAST 0",
      VECTORS LARGE WHOLE "H_M 64; H_N 128; H_K 8; H_AFAST 1; H_BFAST 1",
      VECTORS SMALL WHOLE "H_M 3; H_N 132; H_K 5; H_AFAST 0; H_BFAST 0",
      SCALARS SMALL "H_PARTS 3; H_SHARE 32; H_M 3; H_N 130; H_K 85; H_AFAST 0; H_BFAST 1"};
  CHECK_INSTANCES(halo_cl_gemm_tile, holes);
}
END_TEST

START_TEST(turn_holes) {
#define TILE                                                                                       \
  "H_POINTERS; H_IN(b, p, o) in_[((b)*H_O + (o)) * H_P + (p)]; H_OUT(b, p, o, v) out_[((b)*H_P + " \
  "(p)) * H_O + "                                                                                  \
  "(o)] = (v); H_ROWS 8; "
  static const char *const holes[] = {TILE "H_P 64; H_O 64; H_BATCH 2; H_TILE 32; H_MODE 0",
                                      TILE "H_P 65; H_O 33; H_BATCH 1; H_TILE 32; H_MODE 0",
                                      TILE "H_P 65; H_O 33; H_BATCH 1; H_TILE 32; H_MODE 1",
                                      TILE "H_P 64; H_O 32; H_BATCH 3; H_TILE 16; H_MODE 1"};
  CHECK_INSTANCES(halo_cl_transpose, holes);
}
END_TEST

/* A condition at the beginning of a kernel holds for the work items that it names, whatever kernel stands before it. */
START_TEST(conditions_after_loops) {
  enum { ITEMS = 64, BOUND = 20 };
  static const char text[] =
      "__kernel void first(__global int *to, const int n) {\n"
      "  const int i = (int)get_global_id(0), rounds = n - i < 16 ? n - i : 16;\n"
      "  for (int k = 0; k < rounds; ++k) to[i * 16 + k] = k;\n"
      "}\n"
      "__kernel void global_id(__global int *to, const int n) {\n"
      "  const int i = (int)get_global_id(0);\n"
      "  if (i >= n) return;\n"
      "  to[i] = 1;\n"
      "}\n"
      "__kernel void local_id(__global int *to, const int n) {\n"
      "  if ((int)get_local_id(0) < n) to[get_global_id(0)] = 1;\n"
      "}\n"
      "__kernel void one(__global int *to, const int n) {\n"
      "  if (get_global_id(0) == n) to[n] = 1;\n"
      "}\n";
  static const char *const names[] = {"global_id", "local_id", "one"};
  halo_cl_device *device = open_device();
  halo_cl_program *program;
  ck_ok(halo_cl_program_get(device, text, NULL, &program));
  for (int k = 0; k < 3; k++) {
    int values[ITEMS] = {0}, bound = BOUND;
    size_t items = ITEMS;
    cl_int code;
    cl_kernel kernel;
    ck_ok(halo_cl_kernel_create(program, names[k], &kernel));
    cl_mem to = halo_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       sizeof values, values, &code);
    ck_ok(halo_cl_check(code, "clCreateBuffer"));
    ck_ok(halo_cl_check(halo_cl.clSetKernelArg(kernel, 0, sizeof to, &to), "clSetKernelArg"));
    ck_ok(halo_cl_check(halo_cl.clSetKernelArg(kernel, 1, sizeof bound, &bound), "clSetKernelArg"));
    code = halo_cl.clEnqueueNDRangeKernel(device->queue, kernel, 1, NULL, &items, &items, 0, NULL,
                                          NULL);
    ck_ok(halo_cl_check(code, "clEnqueueNDRangeKernel"));
    code = halo_cl.clEnqueueReadBuffer(device->queue, to, CL_TRUE, 0, sizeof values, values, 0,
                                       NULL, NULL);
    ck_ok(halo_cl_check(code, "clEnqueueReadBuffer"));
    for (int i = 0; i < ITEMS; i++) {
      int expected = k == 2 ? i == BOUND : i < BOUND;
      ck_assert_msg(values[i] == expected, "%s: item %d gives %d", names[k], i, values[i]);
    }
    halo_cl.clReleaseMemObject(to);
    halo_cl.clReleaseKernel(kernel);
  }
  halo_cl_program_release(program);
  halo_cl_device_release(device);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("templates");
  TCase *texts = tcase_create("texts");
  tcase_add_loop_test(texts, alone, 0, file_count());
  tcase_add_test(texts, reduce_holes);
  tcase_add_test(texts, depthwise_holes);
  tcase_add_test(texts, image_holes);
  tcase_add_test(texts, pack_holes);
  tcase_add_test(texts, panels_holes);
  tcase_add_test(texts, tile_product_holes);
  tcase_add_test(texts, turn_holes);
  tcase_add_test(texts, conditions_after_loops);
  tcase_set_timeout(texts, 120);
  suite_add_tcase(suite, texts);
  return suite_run(suite);
}
