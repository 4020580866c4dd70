/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_kernels.c: every file in cl_kernels/ by itself, the templates with other holes, and
 * each implementation forced on a small module, as for a CPU and as for a GPU. */
#include "client/executable.h"
#include "evaluator/evaluator.h"
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

/* Functions of complex numbers are built on those of real ones. */
static void add_needed(halo_strbuf *text, const char *name) {
  if (strcmp(name, "complex.cl") != 0) return;
  for (const halo_cl_file *file = halo_cl_files; file->name; file++) {
    if (strncmp(file->name, "math_", 5) == 0) halo_strbuf_printf(text, "%s\n", file->text);
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
                         "H_W %d; H_V %s%d; H_LOADV(p) vload%d(0, p); "
                         "H_STOREV(v, p) vstore%d(v, 0, p); ",
                         e->width, e->type, e->width, e->width, e->width);
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
  "* H_N + (c)]; "                                                                                 \
  "H_FMA(a, b, c) ((a) * (b) + (c)); H_OUT(b, r, c, v) out_[((b)*H_M + (r)) * H_N + (c)] = (v); "
  static const char *const holes[] = {PRODUCT "H_M 64; H_N 64; H_K 16; H_AKFAST 0; H_BKFAST 0",
                                      PRODUCT "H_M 65; H_N 1; H_K 17; H_AKFAST 1; H_BKFAST 0",
                                      PRODUCT "H_M 3; H_N 130; H_K 5; H_AKFAST 0; H_BKFAST 1",
                                      PRODUCT "H_M 3; H_N 130; H_K 5; H_AKFAST 1; H_BKFAST 1",
                                      PRODUCT
                                      "H_M 3; H_N 130; H_K 85; H_AKFAST 1; H_BKFAST 1; "
                                      "H_PARTS 3; H_SHARE 32"};
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

/* ---- Implementations ---- */

#define REDUCER                                                                                    \
  "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
static const char rows_text[] =
    "HloModule m\n" REDUCER
    "ENTRY e {\n  x = f32[5,300] parameter(0)\n  z = f32[] constant(1)\n"
    "  ROOT r = f32[5] reduce(x, z), dimensions={1}, to_apply=add\n}\n";
static const char columns_text[] =
    "HloModule m\n" REDUCER
    "ENTRY e {\n  x = f32[70,33] parameter(0)\n  z = f32[] constant(1)\n"
    "  ROOT r = f32[33] reduce(x, z), dimensions={0}, to_apply=add\n}\n";
static const char dot_text[] =
    "HloModule m\nENTRY e {\n  x = f32[37,20] parameter(0)\n  y = f32[20,70] parameter(1)\n"
    "  ROOT d = f32[37,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
/* Few results of many terms, with something behind them. */
static const char long_dot_text[] =
    "HloModule m\nENTRY e {\n  x = f32[20011,7] parameter(0)\n  y = f32[20011,70] parameter(1)\n"
    "  d = f32[7,70] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
    "  ROOT n = f32[7,70] negate(d)\n}\n";
static const char long_conv_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,40,41,5] parameter(0)\n  k = f32[2,40,41,6] "
    "parameter(1)\n  ROOT c = f32[3,3,5,6] convolution(x, k), window={size=40x41 pad=1_1x1_1}, "
    "dim_labels=f01b_i01o->01bf\n}\n";
/* Parts that lie side by side in memory, and what is done to the result. */
static const char complex_dot_text[] =
    "HloModule m\nENTRY e {\n  x = c64[2,37,20] parameter(0)\n  y = c64[2,20,35] parameter(1)\n"
    "  ROOT d = c64[2,37,35] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n";
static const char complex_dot_fused_text[] =
    "HloModule m\nENTRY e {\n  x = c64[20,37] parameter(0)\n  y = c64[35,20] parameter(1)\n"
    "  d = c64[37,35] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n"
    "  ROOT n = c64[37,35] negate(d)\n}\n";
static const char conv_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,9,8,20] parameter(0)\n  k = f32[3,2,20,33] parameter(1)\n"
    "  ROOT c = f32[2,9,8,33] convolution(x, k), window={size=3x2 pad=1_1x0_1}, "
    "dim_labels=b01f_01io->b01f\n}\n";
static const char holes_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,5,4,20] parameter(0)\n  k = f32[3,4,20,33] parameter(1)\n"
    "  ROOT c = f32[2,10,14,33] convolution(x, k), window={size=3x4 pad=1_2x3_4 lhs_dilate=2x3}, "
    "dim_labels=b01f_01io->b01f\n}\n";
static const char depthwise_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,9,21,40] parameter(0)\n  k = f32[3,2,1,40] parameter(1)\n"
    "  ROOT c = f32[2,5,20,40] convolution(x, k), window={size=3x2 pad=1_1x0_0 stride=2x1}, "
    "dim_labels=b01f_01io->b01f, feature_group_count=40\n}\n";
static const char stream_depthwise_text[] =
    "HloModule m\nENTRY e {\n  x = f32[1,512,256,16] parameter(0)\n  k = f32[1,1,1,16] "
    "parameter(1)\n"
    "  ROOT c = f32[1,512,256,16] convolution(x, k), window={size=1x1}, "
    "dim_labels=b01f_01io->b01f, feature_group_count=16\n}\n";
static const char turn_text[] =
    "HloModule m\nENTRY e {\n  x = f32[50,130] parameter(0)\n"
    "  ROOT t = f32[130,50] transpose(x), dimensions={1,0}\n}\n";
static const char update_text[] =
    "HloModule m\nENTRY e {\n  x = f32[50,13] parameter(0)\n  u = f32[5,3] parameter(1)\n"
    "  i = s32[] constant(7)\n"
    "  ROOT t = f32[50,13] dynamic-update-slice(x, u, i, i)\n}\n";

/* Rows that a work group takes whole, several at once, or with a part of a group left over; that a
 * reshape cuts anew; and that are written past the caches. */
static const char long_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[3,2053] parameter(0)\n"
    "  ROOT t = f32[3,2053] reverse(x), dimensions={1}\n}\n";
static const char short_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[64,17] parameter(0)\n"
    "  ROOT t = f32[64,17] reverse(x), dimensions={0}\n}\n";
static const char cut_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[8,10,30] parameter(0)\n"
    "  t = f32[10,8,30] transpose(x), dimensions={1,0,2}\n"
    "  ROOT r = f32[10,240] reshape(t)\n}\n";
static const char stream_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[1024,2048] parameter(0)\n"
    "  ROOT t = f32[1024,2048] reverse(x), dimensions={0}\n}\n";

/* Rows of a short last dimension, of which the last work item has fewer: put together and written in the place of what
 * is read, with a second result; turned round as complex numbers; looked up; and cut out of one number. */
static const char put_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[333,3] parameter(0)\n  y = f32[333,1] parameter(1)\n"
    "  a = f32[333,1] slice(x), slice={[0:333], [1:2]}\n"
    "  b = f32[333,1] slice(x), slice={[0:333], [2:3]}\n  s = f32[333,1] multiply(a, y)\n"
    "  c = f32[333,3] concatenate(s, b, y), dimensions={1}\n  d = f32[333,3] add(c, x)\n"
    "  g = pred[333,3] compare(d, c), direction=GT\n"
    "  ROOT t = (f32[333,3], pred[333,3]) tuple(d, g)\n}\n";
static const char stacked_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[333,1] parameter(0)\n  y = f32[333,11] parameter(1)\n"
    "  ROOT c = f32[333,12] concatenate(y, x), dimensions={1}\n}\n";
static const char turned_rows_text[] =
    "HloModule m\nENTRY e {\n  x = c64[9,37,3] parameter(0)\n"
    "  ROOT t = c64[9,37,3] reverse(x), dimensions={1,2}\n}\n";
static const char found_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f64[20,3] parameter(0)\n  i = s32[130,1] parameter(1)\n"
    "  ROOT t = f64[130,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}\n}\n";
static const char cut_words_text[] =
    "HloModule m\nENTRY e {\n  x = f32[5,77] parameter(0)\n"
    "  ROOT t = u8[5,77,4] bitcast-convert(x)\n}\n";

/* Sums that are written past the caches: of rows from their ends, and of columns. */
#define RUNNING_SUMS(type, shape, window)                                                          \
  "HloModule m\nadd {\n  a = " type "[] parameter(0)\n  b = " type                                 \
  "[] parameter(1)\n"                                                                              \
  "  ROOT c = " type "[] add(a, b)\n}\nENTRY e {\n  x = " type "[" shape                           \
  "] parameter(0)\n"                                                                               \
  "  z = " type "[] constant(3)\n  ROOT y = " type "[" shape                                       \
  "] reduce-window(x, z), window={" window "}, to_apply=add\n}\n"
static const char stream_row_sums_text[] =
    RUNNING_SUMS("f32", "65536,32", "size=1x32 pad=0_0x0_31");
static const char stream_wide_sums_text[] =
    RUNNING_SUMS("f64", "32768,32", "size=1x32 pad=0_0x31_0");
/* Neighbours under one window each, likewise. */
static const char stream_pool_text[] =
    "HloModule m\nmost {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] maximum(a, b)\n}\n"
    "ENTRY e {\n  x = f32[256,130,128] parameter(0)\n  z = f32[] constant(-inf)\n"
    "  ROOT y = f32[128,129,128] reduce-window(x, z), window={size=2x2x1 stride=2x1x1}, "
    "to_apply=most\n}\n";
static const char stream_column_sums_text[] =
    RUNNING_SUMS("f32", "32,65536", "size=32x1 pad=31_0x0_0");
/* Fewer rows than a line has elements. */
static const char stream_few_sums_text[] = RUNNING_SUMS("f32", "7,300032", "size=7x1 pad=0_6x0_0");

/* Dimensions that are reduced on both sides of one that is kept, many of them and of a few. */
#define SUMS_AROUND(shape)                                                                         \
  "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"                       \
  "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[" shape                                     \
  "] parameter(0)\n"                                                                               \
  "  z = f32[] constant(3)\n  ROOT y = f32[7] reduce(x, z), dimensions={0,2}, to_apply=add\n}\n"
static const char sums_around_text[] = SUMS_AROUND("50,7,1000");
static const char sums_before_text[] = SUMS_AROUND("5000,7,2");

/* A few vectors by a matrix, from the left and from the right, where the matrix has what is added up in
 * rows and in columns: sums of products. */
static const char thin_rows_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,130,3] parameter(0)\n  y = f32[2,150,130] parameter(1)\n"
    "  ROOT c = f32[2,3,150] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={1}, rhs_contracting_dims={2}\n}\n";
static const char thin_right_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,150,130] parameter(0)\n  y = f32[3,130,2] parameter(1)\n"
    "  ROOT c = f32[2,150,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={2}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n";
static const char thin_columns_text[] =
    "HloModule m\nENTRY e {\n  x = f32[2,4096] parameter(0)\n  y = f32[4096,1025] parameter(1)\n"
    "  ROOT c = f32[2,1025] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";

/* Complex ones: panels of rows of the first operand need not be packed, and so the sums are of columns alone. */
static const char thin_complex_rows_text[] =
    "HloModule m\nENTRY e {\n  x = c64[300,200] parameter(0)\n  y = c64[200,4] parameter(1)\n"
    "  ROOT c = c64[300,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
static const char thin_complex_columns_text[] =
    "HloModule m\nENTRY e {\n  x = c64[4,200] parameter(0)\n  y = c64[200,300] parameter(1)\n"
    "  ROOT c = c64[4,300] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";

/* Many small matrices are no sums. */
static const char small_batch_text[] =
    "HloModule m\nENTRY e {\n  x = f32[4000,3,3] parameter(0)\n  y = f32[4000,3,3] parameter(1)\n"
    "  ROOT c = f32[4000,3,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n";

/* Panels of what lies along the terms: whole squares of 16 x 16, and what is left over of lines and of terms. */
static const char turned_panels_text[] =
    "HloModule m\nENTRY e {\n  x = f32[3,70,53] parameter(0)\n  y = f32[3,83,53] parameter(1)\n"
    "  ROOT c = f32[3,70,83] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n}\n";

static const struct {
  const char *name, *text;
} forced[] = {{"loop:turn", turn_text},
              {"loop:generic", turn_text},
              {"loop:rows", long_rows_text},
              {"loop:generic", long_rows_text},
              {"loop:short", short_rows_text},
              {"loop:spans", cut_rows_text},
              {"loop:short", put_rows_text},
              {"loop:spans", put_rows_text},
              {"loop:short", stacked_rows_text},
              {"loop:line", turned_rows_text},
              {"loop:short", turned_rows_text},
              {"loop:short", found_rows_text},
              {"loop:rows", found_rows_text},
              {"loop:short", cut_words_text},
              {"loop:generic", cut_words_text},
              {"loop:rows", stream_rows_text},
              {"loop:stream", stream_rows_text},
              {"window:lanes", stream_pool_text},
              {"window:scan", stream_row_sums_text},
              {"window:scan", stream_wide_sums_text},
              {"window:scan", stream_column_sums_text},
              {"window:scan", stream_few_sums_text},
              {"reduce:row", rows_text},
              {"reduce:row", sums_around_text},
              {"reduce:column", sums_before_text},
              {"reduce:row", thin_rows_text},
              {"reduce:row", thin_right_text},
              {"reduce:column", thin_columns_text},
              {"dot:panels", small_batch_text},
              {"dot:loop", small_batch_text},
              {"dot:panels", turned_panels_text},
              {"reduce:loop", rows_text},
              {"reduce:column", columns_text},
              {"reduce:loop", columns_text},
              {"dot:panels", dot_text},
              {"dot:tile", dot_text},
              {"dot:tile", long_dot_text},
              {"conv:tile", long_conv_text},
              {"dot:clblast", dot_text},
              {"dot:loop", dot_text},
              {"dot:panels", complex_dot_text},
              {"dot:tile", complex_dot_text},
              {"dot:panels", complex_dot_fused_text},
              {"dot:tile", complex_dot_fused_text},
              {"conv:panels", conv_text},
              {"conv:tile", conv_text},
              {"conv:loop", conv_text},
              {"conv:panels", holes_text},
              {"conv:tile", holes_text},
              {"conv:loop", holes_text},
              {"conv:depthwise", depthwise_text},
              {"conv:depthwise", stream_depthwise_text},
              {"update:window", update_text},
              {"update:loop", update_text},
              {"reduce:column", thin_complex_columns_text},
              {"dot:panels", thin_complex_rows_text}};
enum {
  FORCED_COUNT = sizeof forced / sizeof forced[0],
  FORCED_ANYWHERE = FORCED_COUNT - 2 /* the last ones are chosen for CPUs alone */
};

/* Small whole numbers, so that sums are exact in any order. */
static halo_literal *numbers(const halo_shape *shape, int seed) {
  halo_literal *literal;
  ck_ok(halo_literal_create(shape, &literal));
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    double value = (double)((i * 7 + seed) % 11 - 5), imaginary = (double)((i * 5 + seed) % 9 - 4);
    if (halo_type_is_complex(shape->type)) {
      halo_literal_set_c128(literal, i, value, imaginary);
    } else {
      halo_literal_set_f64(literal, i, value);
    }
  }
  return literal;
}

static void check_forced(const char *name, const char *text) {
  halo_client *client = run_client(NULL);
  halo_module *module = run_parse(text);
  halo_executable *e;
  const halo_compile_options options = {.kernels = name};
  halo_status status = halo_client_compile(client, module, &options, &e);
  if (status != HALO_OK && strstr(halo_error_message(), "cannot be used on the device")) {
    ck_assert_int_eq(status, HALO_INVALID_ARGUMENT); /* a library is missing, or it is for CPUs */
    halo_module_release(module);
    halo_client_release(client);
    return;
  }
  ck_ok(status);
  const char *explain = halo_executable_report(e, HALO_REPORT_EXPLAIN);
  char chosen[64], refused[64];
  snprintf(chosen, sizeof chosen, "-> %s\n", name);
  snprintf(refused, sizeof refused, "    %-10s no: ", strchr(name, ':') + 1);
  ck_assert_msg(strstr(explain, chosen) || strstr(explain, refused), "%s:\n%s", name, explain);
  halo_literal *arguments[2], *expected, *got;
  int count = halo_module_parameter_count(module);
  for (int i = 0; i < count; i++) arguments[i] = numbers(halo_module_parameter_shape(module, i), i);
  ck_ok(halo_evaluate(module->entry, arguments, count, &expected));
  ck_ok(halo_executable_run(e, arguments, count, &got));
  for (int64_t i = 0; i < halo_shape_element_count(halo_literal_shape(got)); i++) {
    double is[2], should[2];
    halo_literal_get_c128(got, i, &is[0], &is[1]);
    halo_literal_get_c128(expected, i, &should[0], &should[1]);
    ck_assert_msg(is[0] == should[0] && is[1] == should[1],
                  "%s: element %lld is %g, %g, not %g, %g", name, (long long)i, is[0], is[1],
                  should[0], should[1]);
  }
  for (int i = 0; i < count; i++) halo_literal_release(arguments[i]);
  halo_literal_release(expected);
  halo_literal_release(got);
  halo_executable_release(e);
  halo_module_release(module);
  halo_client_release(client);
}

START_TEST(forced_here) { check_forced(forced[_i].name, forced[_i].text); }
END_TEST

START_TEST(forced_as_gpu) {
  setenv("HALO_TREAT_AS", "gpu", 1);
  check_forced(forced[_i].name, forced[_i].text);
}
END_TEST

/* "1,1,...,last": as many dimensions as there may be. */
static const char *most_dims(char *out, const char *last) {
  for (int d = 1; d < HALO_MAX_RANK; d++) strcpy(out + 2 * (d - 1), "1,");
  strcpy(out + 2 * (HALO_MAX_RANK - 1), last);
  return out;
}

/* What else is done with a dimension more stays as it is where there can be none. */
START_TEST(most_dimensions) {
  char in[256], out[256], window[256], lists[512] = "", text[4096];
  for (int d = 0; d < HALO_MAX_RANK - 1; d++)
    sprintf(lists + strlen(lists), "%s%d", d ? "," : "", d);
  most_dims(in, "5");
  most_dims(out, "1");
  out[strlen(out) - 2] = '\0';
  int last = HALO_MAX_RANK - 1;
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = f32[%s] parameter(0)\n  y = f32[%s] parameter(1)\n"
           "  ROOT c = f32[%s] dot(x, y), lhs_batch_dims={%s}, rhs_batch_dims={%s}, "
           "lhs_contracting_dims={%d}, rhs_contracting_dims={%d}\n}\n",
           in, in, out, lists, lists, last, last);
  check_forced("dot:loop", text);
  most_dims(in, "400");
  most_dims(out, "301");
  most_dims(window, "100");
  for (char *w = window; *w; w++) *w = *w == ',' ? 'x' : *w;
  snprintf(text, sizeof text,
           "HloModule m\nmost {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
           "  ROOT c = f32[] maximum(a, b)\n}\n"
           "ENTRY e {\n  x = f32[%s] parameter(0)\n  z = f32[] constant(-inf)\n"
           "  ROOT y = f32[%s] reduce-window(x, z), window={size=%s}, to_apply=most\n}\n",
           in, out, window);
  check_forced("window:loop", text);
}
END_TEST

/* A large right side is packed in stretches of columns, of which the last is shorter. */
START_TEST(large_products) {
  static const struct {
    const char *text;
    int64_t most; /* bytes */
  } products[] = {
      {"ENTRY e { x = f32[20,2048] parameter(0) y = f32[2048,1100] parameter(1) "
       "ROOT d = f32[20,1100] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
       6000000},
      {"ENTRY e { x = f32[20,2048] parameter(0) y = f32[1100,2048] parameter(1) "
       "ROOT d = f32[20,1100] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
       6000000},
      {"ENTRY e { x = f32[2048,20] parameter(0) y = f32[1100,2048] parameter(1) "
       "z = f32[1100,2048] multiply(y, y) "
       "d = f32[20,1100] dot(x, z), lhs_contracting_dims={0}, rhs_contracting_dims={1} "
       "ROOT a = f32[20,1100] abs(d) }",
       15000000}};
  halo_client *client = run_client(NULL);
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    check_forced("dot:panels", products[i].text);
    halo_executable *e;
    ck_ok(run_try_compile(client, products[i].text,
                          &(halo_compile_options){.kernels = "dot:panels"}, &e));
    const halo_plan *plan = halo_executable_plan(e);
    if (halo_executable_home(e)->cl->caps.compute_units <= 8) {
      ck_assert_int_le(plan->arenas.data[0].size, products[i].most);
    }
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* Both sides are packed by kernels of their own, in one program with the product: the second of these begins with a condition on
 * the work item, and the first has a loop whose rounds depend on it (opencl/program.c says what a compiler made of that). */
static const struct packed_type {
  const char *name, *result;
} packed_types[] = {
    {"f16", "f16"}, {"bf16", "bf16"}, {"f32", "f32"}, {"s8", "s32"}, {"f64", "f64"}};
enum { PACKED_COUNT = sizeof packed_types / sizeof packed_types[0] };

START_TEST(packed_products) {
  static const int depths[] = {1000, 1024};
  const struct packed_type *type = &packed_types[_i];
  halo_cl_device *device = open_device();
  bool has = device->caps.has_f64 || strcmp(type->name, "f64") != 0;
  halo_cl_device_release(device);
  if (!has) {
    run_skip("packed_products of f64", "the device has no f64");
    return;
  }
  for (int i = 0; i < 2; i++) {
    char text[400];
    snprintf(text, sizeof text,
             "ENTRY e { x = %s[64,%d] parameter(0) y = %s[%d,64] parameter(1) ROOT d = %s[64,64] "
             "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
             type->name, depths[i], type->name, depths[i], type->result);
    check_forced("dot:panels", text);
  }
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

START_TEST(unknown_names) {
  static const char *const bad[] = {
      "dot:best", "dot", "-loop:", "dott:loop", "dot:loop,what", "dot:"};
  halo_client *client = run_client(NULL);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    halo_executable *e = (void *)&client;
    ck_fails(run_try_compile(client, dot_text, &(halo_compile_options){.kernels = bad[i]}, &e),
             HALO_INVALID_ARGUMENT,
             "the list of kernels (--kernels, HALO_KERNELS): there is no implementation");
    ck_assert_ptr_null(e);
  }
  halo_executable *e;
  /* Also where there is no kernel to choose. */
  ck_fails(run_try_compile(client, "HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n",
                           &(halo_compile_options){.kernels = "junk"}, &e),
           HALO_INVALID_ARGUMENT, "no implementation \"junk\"; families are ");
  ck_fails(
      run_try_compile(
          client, dot_text,
          &(halo_compile_options){.kernels = "-dot:loop,-dot:tile,-dot:panels,-dot:clblast"}, &e),
      HALO_INVALID_ARGUMENT, "(--kernels, HALO_KERNELS) leaves no implementation of dot");
  /* The variable says what the option would; the option wins. */
  setenv("HALO_KERNELS", "dot:best", 1);
  ck_fails(run_try_compile(client, dot_text, NULL, &e), HALO_INVALID_ARGUMENT,
           "\"dot:best\"; there are dot:");
  ck_ok(run_try_compile(client, dot_text, &(halo_compile_options){.kernels = ",dot:loop,,"}, &e));
  ck_assert_ptr_nonnull(strstr(halo_executable_report(e, HALO_REPORT_EXPLAIN), "-> dot:loop"));
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Preferring what never runs on the device is an error; excluding it is not. */
START_TEST(useless_names) {
  const char *const cases[][2] = {
      {"dot:tile",
       "\"dot:tile\" cannot be used on the device small-groups: work groups of 16 x 16 do"},
      {"dot:loop,dot:clblast",
       "\"dot:clblast\" cannot be used on the device small-groups: CLBlast"},
      {"dot:panels",
       "\"dot:panels\" cannot be used on the device small-groups: the device is not a"},
      {"loop:turn",
       "\"loop:turn\" cannot be used on the device small-groups: work groups of 32 x 8"}};
  halo_client *client = run_client("null:" HALO_TEST_DATA "/devices/small-groups.caps");
  halo_executable *e;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_fails(run_try_compile(client, dot_text, &(halo_compile_options){.kernels = cases[i][0]}, &e),
             HALO_INVALID_ARGUMENT, cases[i][1]);
  }
  ck_ok(run_try_compile(client, dot_text,
                        &(halo_compile_options){.kernels = "-dot:panels,-dot:clblast,dot:loop"},
                        &e));
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("kernels");
  TCase *texts = tcase_create("texts"), *choices = tcase_create("implementations");
  tcase_add_loop_test(texts, alone, 0, file_count());
  tcase_add_test(texts, reduce_holes);
  tcase_add_test(texts, depthwise_holes);
  tcase_add_test(texts, image_holes);
  tcase_add_test(texts, pack_holes);
  tcase_add_test(texts, panels_holes);
  tcase_add_test(texts, tile_product_holes);
  tcase_add_test(texts, turn_holes);
  tcase_add_test(texts, conditions_after_loops);
  tcase_add_loop_test(choices, forced_here, 0, FORCED_COUNT);
  tcase_add_loop_test(choices, forced_as_gpu, 0, FORCED_ANYWHERE);
  tcase_add_test(choices, most_dimensions);
  tcase_add_test(choices, large_products);
  tcase_add_loop_test(choices, packed_products, 0, PACKED_COUNT);
  tcase_add_test(choices, unknown_names);
  tcase_add_test(choices, useless_names);
  tcase_set_timeout(texts, 120);
  tcase_set_timeout(choices, 120);
  suite_add_tcase(suite, texts);
  suite_add_tcase(suite, choices);
  return suite_run(suite);
}
