/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_npy.c: .npy and .npz files, those that NumPy wrote (tests/data/npy) and our own. */
#include "halo/npy.h"

#include "base/memory.h"
#include "shape/literal.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Helpers ---- */

static char scratch_dir[64];

static void make_scratch(void) {
  snprintf(scratch_dir, sizeof scratch_dir, "/tmp/halo-test-npy-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(scratch_dir));
}

static void remove_scratch(void) {
  /* rmdir is the check that no temporary file was left behind. */
  const char *names[] = {"a.npy", "a.npz", "damaged"};
  char path[128];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", scratch_dir, names[i]);
    unlink(path);
  }
  ck_assert_msg(rmdir(scratch_dir) == 0, "%s: %s", scratch_dir, strerror(errno));
}

static const char *scratch(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", scratch_dir, name);
  return path;
}

static const char *data_file(const char *name) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/npy/%s", HALO_TEST_DATA, name);
  return path;
}

static unsigned char *slurp(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  ck_assert_msg(f != NULL, "%s", path);
  unsigned char *data = malloc(1 << 16);
  *size = fread(data, 1, 1 << 16, f);
  fclose(f);
  return data;
}

static void spill(const char *path, const void *data, size_t size) {
  FILE *f = fopen(path, "wb");
  ck_assert_ptr_nonnull(f);
  ck_assert_uint_eq(fwrite(data, 1, size, f), size);
  fclose(f);
}

static void expect_shape(const halo_literal *literal, const char *expected) {
  char text[128];
  halo_shape_to_text(halo_literal_shape(literal), true, text, sizeof text);
  ck_assert_str_eq(text, expected);
}

static void expect_failure(halo_status got, halo_status status, const char *part) {
  ck_assert_msg(got == status, "%s, not %s: %s", halo_status_name(got), halo_status_name(status),
                halo_error_message());
  ck_assert_msg(strstr(halo_error_message(), part) != NULL, "\"%s\" lacks \"%s\"",
                halo_error_message(), part);
}

/* ---- Files that NumPy wrote ---- */

typedef struct type_case {
  const char *file, *shape;
  halo_type expected;
  double third;
  bool same_bytes; /* writing it gives the file back */
} type_case;

static const type_case type_cases[] = {
    {"type_b1.npy", "pred[3]{0}", HALO_TYPE_INVALID, 1, true},
    {"type_i1.npy", "s8[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_i2.npy", "s16[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_i4.npy", "s32[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_i8.npy", "s64[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_u1.npy", "u8[3]{0}", HALO_TYPE_INVALID, 100, true},
    {"type_u2.npy", "u16[3]{0}", HALO_TYPE_INVALID, 100, true},
    {"type_u4.npy", "u32[3]{0}", HALO_TYPE_INVALID, 100, true},
    {"type_u8.npy", "u64[3]{0}", HALO_TYPE_INVALID, 100, true},
    {"type_f2.npy", "f16[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_f4.npy", "f32[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_f8.npy", "f64[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_c8.npy", "c64[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_c16.npy", "c128[3]{0}", HALO_TYPE_INVALID, -100, true},
    {"type_i2_big.npy", "s16[3]{0}", HALO_TYPE_INVALID, -100, false},
    {"type_i4_big.npy", "s32[3]{0}", HALO_TYPE_INVALID, -100, false},
    {"type_i8_big.npy", "s64[3]{0}", HALO_TYPE_INVALID, -100, false},
    {"type_u2_big.npy", "u16[3]{0}", HALO_TYPE_INVALID, 100, false},
    {"type_u4_big.npy", "u32[3]{0}", HALO_TYPE_INVALID, 100, false},
    {"type_u8_big.npy", "u64[3]{0}", HALO_TYPE_INVALID, 100, false},
    {"type_f2_big.npy", "f16[3]{0}", HALO_TYPE_INVALID, -100, false},
    {"type_f4_big.npy", "f32[3]{0}", HALO_TYPE_INVALID, -100, false},
    {"type_f8_big.npy", "f64[3]{0}", HALO_TYPE_INVALID, -100, false},
    {"type_c8_big.npy", "c64[3]{0}", HALO_TYPE_INVALID, -100, false},
    {"type_c16_big.npy", "c128[3]{0}", HALO_TYPE_INVALID, -100, false},
    {"ml_bfloat16.npy", "bf16[3]{0}", HALO_TYPE_INVALID, -2, true},
    {"ml_bfloat16.npy", "bf16[3]{0}", HALO_BF16, -2, true},
    {"ml_bfloat16.npy", "bf16[3]{0}", HALO_F32, -2, true},
    {"ml_float8_e5m2.npy", "f8e5m2[3]{0}", HALO_TYPE_INVALID, -2, false},
    {"ml_float8_e5m2.npy", "f8e5m2[3]{0}", HALO_F8E5M2, -2, false},
    {"ml_float8_e4m3fn.npy", "f8e4m3fn[3]{0}", HALO_F8E4M3FN, -2, true},
    {"ml_float8_e4m3b11fnuz.npy", "f8e4m3b11fnuz[3]{0}", HALO_F8E4M3B11FNUZ, -2, true},
    {"ml_float8_e5m2fnuz.npy", "f8e5m2fnuz[3]{0}", HALO_F8E5M2FNUZ, -2, true},
    {"ml_float8_e4m3fnuz.npy", "f8e4m3fnuz[3]{0}", HALO_F8E4M3FNUZ, -2, true},
    {"ml_float8_e4m3.npy", "f8e4m3[3]{0}", HALO_F8E4M3, -2, true},
    {"ml_float8_e3m4.npy", "f8e3m4[3]{0}", HALO_F8E3M4, -2, true},
    {"ml_float8_e8m0fnu.npy", "f8e8m0fnu[3]{0}", HALO_F8E8M0FNU, 2, true},
    {"ml_float4_e2m1fn.npy", "f4e2m1fn[3]{0}", HALO_F4E2M1FN, -2, true},
    {"ml_int4.npy", "s4[3]{0}", HALO_S4, -2, true},
    {"ml_uint4.npy", "u4[3]{0}", HALO_U4, 2, true},
    {"ml_int2.npy", "s2[3]{0}", HALO_S2, -2, true},
    {"ml_uint2.npy", "u2[3]{0}", HALO_U2, 2, true},
};
enum { TYPE_CASES = sizeof type_cases / sizeof *type_cases };

START_TEST(npy_reads_and_writes_types) {
  const type_case *c = &type_cases[_i];
  halo_literal *literal, *again;
  halo_status status = halo_npy_read(data_file(c->file), c->expected, &literal);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  expect_shape(literal, c->shape);
  ck_assert_double_eq(halo_literal_get_f64(literal, 0), 1);
  ck_assert_double_eq(halo_literal_get_f64(literal, 2), c->third);
  halo_type type = halo_shape_type(halo_literal_shape(literal));
  if (type == HALO_C64 || type == HALO_C128) {
    double re, im;
    halo_literal_get_c128(literal, 0, &re, &im);
    ck_assert_double_eq(im, 2);
    halo_literal_get_c128(literal, 2, &re, &im);
    ck_assert_double_eq(im, -0.5);
  }
  ck_assert_int_eq(halo_npy_write(scratch("a.npy"), literal), HALO_OK);
  ck_assert_int_eq(halo_npy_read(scratch("a.npy"), type, &again), HALO_OK);
  ck_assert(halo_literal_same_bits(literal, again));
  if (c->same_bytes) {
    size_t size, again_size;
    unsigned char *theirs = slurp(data_file(c->file), &size);
    unsigned char *ours = slurp(scratch("a.npy"), &again_size);
    ck_assert_uint_eq(size, again_size);
    ck_assert_mem_eq(theirs, ours, size);
    free(theirs);
    free(ours);
  }
  halo_literal_release(literal);
  halo_literal_release(again);
}
END_TEST

START_TEST(npy_reads_orders_and_shapes) {
  const char *files[] = {"order_c.npy", "order_fortran.npy", "order_fortran_big.npy"};
  halo_literal *literal;
  for (int f = 0; f < 3; f++) {
    ck_assert_int_eq(halo_npy_read(data_file(files[f]), HALO_TYPE_INVALID, &literal), HALO_OK);
    expect_shape(literal, "s16[2,3,4]{2,1,0}");
    for (int i = 0; i < 24; i++) {
      int expected = 100 * (i / 12) + 10 * (i / 4 % 3) + i % 4;
      ck_assert_int_eq(halo_literal_get_i64(literal, i), expected);
    }
    halo_literal_release(literal);
  }
  ck_assert_int_eq(halo_npy_read(data_file("shape_scalar.npy"), HALO_F32, &literal), HALO_OK);
  expect_shape(literal, "f32[]");
  ck_assert_double_eq(halo_literal_get_f64(literal, 0), 2.5);
  halo_literal_release(literal);
  ck_assert_int_eq(halo_npy_read(data_file("shape_empty.npy"), HALO_F32, &literal), HALO_OK);
  expect_shape(literal, "f32[2,0,3]{2,1,0}");
  halo_literal_release(literal);
  const char *versions[] = {"version_2.npy", "version_3.npy"};
  for (int v = 0; v < 2; v++) {
    ck_assert_int_eq(halo_npy_read(data_file(versions[v]), HALO_TYPE_INVALID, &literal), HALO_OK);
    expect_shape(literal, "s16[3,4]{1,0}");
    ck_assert_int_eq(halo_literal_get_i64(literal, 11), 23);
    halo_literal_release(literal);
  }
}
END_TEST

typedef struct refusal {
  const char *file;
  halo_type expected;
  halo_status status;
  const char *message;
} refusal;

static const refusal refusals[] = {
    {"bad_text.npy", HALO_F32, HALO_INVALID_ARGUMENT,
     "bad_text.npy: element type '<U2' means text"},
    {"bad_records.npy", HALO_F32, HALO_INVALID_ARGUMENT, "a structured array"},
    {"bad_objects.npy", HALO_F32, HALO_INVALID_ARGUMENT, "Python objects"},
    {"bad_dates.npy", HALO_F32, HALO_INVALID_ARGUMENT, "save them as int64"},
    {"bad_longdouble.npy", HALO_F32, HALO_INVALID_ARGUMENT, "save it as float64"},
    {"ml_int4.npy", HALO_TYPE_INVALID, HALO_INVALID_ARGUMENT, "does not tell which type"},
    {"ml_int4.npy", HALO_F32, HALO_INVALID_ARGUMENT, "cannot be f32"},
    {"stored.npz", HALO_F32, HALO_INVALID_ARGUMENT, "zip archive"},
    {"make.py", HALO_F32, HALO_INVALID_ARGUMENT, "not a .npy file"},
    {"missing.npy", HALO_F32, HALO_NOT_FOUND, "missing.npy: No such file"},
    {".", HALO_F32, HALO_IO_ERROR, "it is a directory"},
};

START_TEST(npy_refuses) {
  const refusal *r = &refusals[_i];
  halo_literal *literal = (halo_literal *)1;
  expect_failure(halo_npy_read(data_file(r->file), r->expected, &literal), r->status, r->message);
  ck_assert_ptr_null(literal);
}
END_TEST

/* ---- Damaged files ---- */

typedef struct header_case {
  const char *header, *message; /* NULL: is read */
} header_case;

/* Each with four bytes of data. */
static const header_case header_cases[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", NULL},
    {"{\"shape\":(1L,),\"fortran_order\":True,\"descr\":\"f4\"}", NULL},
    {" { 'descr' : '|u1' , 'fortran_order' : False , 'shape' : ( 2 , 2 ) } ", NULL},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", NULL},
    {"", "expected '{'"},
    {"{", "expected a key"},
    {"{}", "no 'descr'"},
    {"{'descr': '<f4', 'fortran_order': False}", "no 'shape'"},
    {"{'descr': '<f4', 'shape': (1,)}", "no 'fortran_order'"},
    {"{'descr': '<f4", "expected a type name"},
    {"{'descr': <f4", "expected a type name"},
    {"{'descr' '<f4'", "expected ':'"},
    {"{'descr': '<f4' 'shape': (1,)}", "expected ',' or '}'"},
    {"{'descr': '<f4', 'descr': '<f4'}", "unexpected key 'descr'"},
    {"{'colour': 'red'}", "unexpected key 'colour'"},
    {"{'fortran_order': Maybe}", "True or False"},
    {"{'shape': 1}", "the '(' of 'shape'"},
    {"{'shape': (-1,)}", "a dimension"},
    {"{'shape': (1 2)}", "',' or ')'"},
    {"{'shape': (1.5,)}", "',' or ')'"},
    {"{'shape': (99999999999999999999,)}", "does not fit 63 bits"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "the end of the header"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "the data is cut off"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", "the data is cut off"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4)}", "63 bits"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", "more than one array"},
    {"{'descr': '', 'fortran_order': False, 'shape': (4,)}", "not a type that HLO has"},
    {"{'descr': '<f3', 'fortran_order': False, 'shape': (4,)}", "'<f3'"},
    {"{'descr': '<V3', 'fortran_order': False, 'shape': (4,)}", "'<V3'"},
    {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
     "more than 64 dimensions"},
};

START_TEST(npy_checks_header) {
  const header_case *c = &header_cases[_i];
  char file[1024] = "\x93NUMPY\1";
  size_t length = strlen(c->header);
  file[8] = (char)(length & 255);
  file[9] = (char)(length >> 8);
  memcpy(file + 10, c->header, length);
  memcpy(file + 10 + length, "\0\0\x80\x3f", 4);
  spill(scratch("damaged"), file, 10 + length + 4);
  halo_literal *literal;
  halo_status status = halo_npy_read(scratch("damaged"), HALO_TYPE_INVALID, &literal);
  if (c->message) {
    expect_failure(status, HALO_INVALID_ARGUMENT, c->message);
    ck_assert_ptr_nonnull(strstr(halo_error_message(), "damaged: "));
    ck_assert_ptr_null(literal);
  } else {
    ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
    ck_assert_int_eq(halo_shape_byte_size(halo_literal_shape(literal)), 4);
    halo_literal_release(literal);
  }
}
END_TEST

/* Cut at every length, a .npy file is refused. */
START_TEST(npy_refuses_cut_files) {
  size_t size;
  unsigned char *data = slurp(data_file("order_fortran.npy"), &size);
  for (size_t length = 0; length < size; length++) {
    spill(scratch("damaged"), data, length);
    halo_literal *literal;
    expect_failure(halo_npy_read(scratch("damaged"), HALO_TYPE_INVALID, &literal),
                   HALO_INVALID_ARGUMENT, "damaged: ");
  }
  data[6] = 9;
  spill(scratch("damaged"), data, size);
  halo_literal *literal;
  expect_failure(halo_npy_read(scratch("damaged"), HALO_TYPE_INVALID, &literal),
                 HALO_INVALID_ARGUMENT, "version 9.0");
  free(data);
}
END_TEST

/* Reads every member; false when anything is refused. */
static bool read_all(const char *path) {
  halo_npz *npz;
  if (halo_npz_open(path, &npz) != HALO_OK) return false;
  bool ok = true;
  for (int i = 0; i < halo_npz_count(npz); i++) {
    halo_literal *literal;
    if (halo_npz_read(npz, i, HALO_TYPE_INVALID, &literal) == HALO_OK) {
      halo_literal_release(literal);
    } else {
      ck_assert_ptr_null(literal);
      ok = false;
    }
  }
  ok = ok && halo_npz_count(npz) == 3;
  halo_npz_close(npz);
  return ok;
}

/* Every cut is refused; every changed byte is refused or harmless, and never crashes or leaks. */
START_TEST(npz_survives_damage) {
  size_t size;
  unsigned char *data = slurp(data_file("deflated.npz"), &size);
  spill(scratch("damaged"), data, size);
  ck_assert(read_all(scratch("damaged")));
  for (size_t length = 0; length < size; length++) {
    spill(scratch("damaged"), data, length);
    ck_assert_msg(!read_all(scratch("damaged")), "cut to %zu", length);
  }
  int refused = 0;
  for (size_t i = 0; i < size; i++) {
    data[i] ^= 0xff;
    spill(scratch("damaged"), data, size);
    refused += !read_all(scratch("damaged"));
    data[i] ^= 0xff;
  }
  /* Dates, version numbers, and local headers' copies of the directory are not looked at. */
  ck_assert_msg(refused > (int)size / 2, "%d of %zu", refused, size);
  free(data);
}
END_TEST

/* ---- Archives ---- */

START_TEST(npz_reads) {
  const char *files[] = {"stored.npz", "deflated.npz"};
  for (int f = 0; f < 2; f++) {
    halo_npz *npz;
    halo_literal *literal;
    ck_assert_msg(halo_npz_open(data_file(files[f]), &npz) == HALO_OK, "%s", halo_error_message());
    ck_assert_int_eq(halo_npz_count(npz), 3);
    ck_assert_str_eq(halo_npz_name(npz, 0), "grid");
    ck_assert_str_eq(halo_npz_name(npz, 1), "half");
    ck_assert_str_eq(halo_npz_name(npz, 2), "long");
    ck_assert_int_eq(halo_npz_read(npz, 2, HALO_TYPE_INVALID, &literal), HALO_OK);
    expect_shape(literal, "s32[3000]{0}");
    for (int i = 0; i < 3000; i++) ck_assert_int_eq(halo_literal_get_i64(literal, i), i % 7);
    halo_literal_release(literal);
    ck_assert_int_eq(halo_npz_read(npz, 1, HALO_BF16, &literal), HALO_OK);
    expect_shape(literal, "bf16[3]{0}");
    ck_assert_double_eq(halo_literal_get_f64(literal, 2), 2);
    halo_literal_release(literal);
    expect_failure(halo_npz_read(npz, 3, HALO_F32, &literal), HALO_INVALID_ARGUMENT, "3 arrays");
    expect_failure(halo_npz_read(npz, -1, HALO_F32, &literal), HALO_INVALID_ARGUMENT, "number -1");
    halo_npz_close(npz);
  }
}
END_TEST

/* The shape is known without the elements, damaged or not. */
START_TEST(npz_tells_shapes) {
  halo_npz *npz;
  halo_shape *shape;
  size_t size;
  unsigned char *data = slurp(data_file("stored.npz"), &size);
  data[1000] ^= 1; /* in the middle of "long" */
  spill(scratch("damaged"), data, size);
  free(data);
  ck_assert_int_eq(halo_npz_open(scratch("damaged"), &npz), HALO_OK);
  ck_assert_msg(halo_npz_shape(npz, 2, HALO_S32, &shape) == HALO_OK, "%s", halo_error_message());
  ck_assert_int_eq(halo_shape_rank(shape), 1);
  ck_assert_int_eq(halo_shape_dim(shape, 0), 3000);
  ck_assert_int_eq(halo_shape_type(shape), HALO_S32);
  halo_shape_release(shape);
  expect_failure(halo_npz_shape(npz, 3, HALO_S32, &shape), HALO_INVALID_ARGUMENT, "3 arrays");
  ck_assert_ptr_null(shape);
  halo_npz_close(npz);
}
END_TEST

static void expect_two_scalars(const char *path) {
  halo_npz *npz;
  ck_assert_msg(halo_npz_open(path, &npz) == HALO_OK, "%s", halo_error_message());
  ck_assert_int_eq(halo_npz_count(npz), 2); /* notes.txt is no array */
  ck_assert_str_eq(halo_npz_name(npz, 1), "second");
  for (int i = 0; i < 2; i++) {
    halo_literal *literal;
    halo_status status = halo_npz_read(npz, i, HALO_F32, &literal);
    ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
    ck_assert_double_eq(halo_literal_get_f64(literal, 0), 2.5);
    halo_literal_release(literal);
  }
  halo_npz_close(npz);
}

START_TEST(npz_reads_zip64) {
  expect_two_scalars(data_file("zip64.npz"));
  /* The same with the end record saying nothing, so that only the zip64 one does. */
  size_t size;
  unsigned char *data = slurp(data_file("zip64.npz"), &size);
  memset(data + size - 14, 0xff, 12);
  spill(scratch("damaged"), data, size);
  expect_two_scalars(scratch("damaged"));
  /* And with the zip64 end record pointed to past the end. */
  memset(data + size - 22 - 12, 0xff, 8);
  spill(scratch("damaged"), data, size);
  halo_npz *npz;
  expect_failure(halo_npz_open(scratch("damaged"), &npz), HALO_INVALID_ARGUMENT, "zip64 locator");
  free(data);
}
END_TEST

START_TEST(npz_says_what_is_wrong) {
  halo_npz *npz;
  halo_literal *literal;
  expect_failure(halo_npz_open(data_file("missing.npz"), &npz), HALO_NOT_FOUND, "No such file");
  expect_failure(halo_npz_open(data_file("type_f4.npy"), &npz), HALO_INVALID_ARGUMENT,
                 "type_f4.npy: not a .npz file: it is a single .npy");
  expect_failure(halo_npz_open(data_file("."), &npz), HALO_IO_ERROR, "directory");
  ck_assert_ptr_null(npz);

  size_t size;
  unsigned char *data = slurp(data_file("stored.npz"), &size);
  data[1000] ^= 1; /* in the middle of "long" */
  spill(scratch("damaged"), data, size);
  ck_assert_int_eq(halo_npz_open(scratch("damaged"), &npz), HALO_OK);
  expect_failure(halo_npz_read(npz, 2, HALO_S32, &literal), HALO_INVALID_ARGUMENT,
                 "damaged, array 'long': damaged: its checksum is");
  halo_npz_close(npz);
  free(data);

  data = slurp(data_file("deflated.npz"), &size);
  unsigned char *entry = memmem(data, size, "PK\1\2", 4);
  struct {
    int at, bytes;
    uint64_t value;
    const char *message;
  } changes[] = {
      {8, 2, 1, "encrypted"},
      {10, 2, 12, "zip method 12"},
      {20, 4, 0x7fffffff, "does not fit"},
      {24, 4, 0x7fffffff, "cannot come from"},
      {20, 4, 100, "the compressed data ends too early"},
      {42, 4, 0x7fffffff, "outside the file"},
      {42, 4, 1, "no member where"},
  };
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    unsigned char old[4];
    memcpy(old, entry + changes[i].at, 4);
    memcpy(entry + changes[i].at, &changes[i].value, (size_t)changes[i].bytes);
    spill(scratch("damaged"), data, size);
    memcpy(entry + changes[i].at, old, 4);
    ck_assert_int_eq(halo_npz_open(scratch("damaged"), &npz), HALO_OK);
    expect_failure(halo_npz_read(npz, 0, HALO_S16, &literal), HALO_INVALID_ARGUMENT,
                   changes[i].message);
    halo_npz_close(npz);
  }
  free(data);
}
END_TEST

START_TEST(npz_round_trip) {
  int64_t dims[] = {2, 3};
  float values[] = {1, -0.0f, INFINITY, 4, 5, 6};
  signed char narrow[5000];
  int64_t narrow_dims[] = {5000};
  for (int i = 0; i < 5000; i++) narrow[i] = (signed char)(i % 16 - 8);
  halo_literal *literals[3], *again;
  ck_assert_int_eq(halo_literal_create_array(HALO_F32, 2, dims, values, &literals[0]), HALO_OK);
  ck_assert_int_eq(halo_literal_create_array(HALO_S4, 1, narrow_dims, narrow, &literals[1]),
                   HALO_OK);
  ck_assert_int_eq(halo_literal_create_array(HALO_F64, 0, NULL, &(double){-1.5}, &literals[2]),
                   HALO_OK);
  const char *names[] = {"weights", "a/narrow one", "\xc3\xa9tat"};
  const halo_literal *constant[] = {literals[0], literals[1], literals[2]};
  ck_assert_int_eq(halo_npz_write(scratch("a.npz"), 3, names, constant), HALO_OK);
  halo_npz *npz;
  ck_assert_int_eq(halo_npz_open(scratch("a.npz"), &npz), HALO_OK);
  ck_assert_int_eq(halo_npz_count(npz), 3);
  for (int i = 0; i < 3; i++) {
    ck_assert_str_eq(halo_npz_name(npz, i), names[i]);
    halo_type type = halo_shape_type(halo_literal_shape(literals[i]));
    ck_assert_int_eq(halo_npz_read(npz, i, type, &again), HALO_OK);
    ck_assert(halo_literal_same_bits(literals[i], again));
    halo_literal_release(again);
  }
  halo_npz_close(npz);

  ck_assert_int_eq(halo_npz_write(scratch("a.npz"), 0, NULL, NULL), HALO_OK);
  ck_assert_int_eq(halo_npz_open(scratch("a.npz"), &npz), HALO_OK);
  ck_assert_int_eq(halo_npz_count(npz), 0);
  halo_npz_close(npz);
  for (int i = 0; i < 3; i++) halo_literal_release(literals[i]);
}
END_TEST

/* ---- Writing that fails ---- */

START_TEST(npy_write_failures) {
  halo_literal *literal, *tuple;
  ck_assert_int_eq(halo_npy_read(data_file("order_c.npy"), HALO_S16, &literal), HALO_OK);
  ck_assert_int_eq(halo_literal_create_tuple(1, &literal, &tuple), HALO_OK);
  expect_failure(halo_npy_write(scratch("a.npy"), tuple), HALO_INVALID_ARGUMENT, "a tuple is not");
  expect_failure(halo_npy_write(scratch("a.npy"), NULL), HALO_INVALID_ARGUMENT, "NULL");
  expect_failure(halo_npy_write(scratch("no/such/folder.npy"), literal), HALO_NOT_FOUND,
                 "no/such/folder.npy");
  expect_failure(halo_npy_write(scratch_dir, literal), HALO_IO_ERROR, "directory");
  expect_failure(halo_npy_write("/dev/full", literal), HALO_IO_ERROR, "No space left");
  const halo_literal *constant[] = {literal};
  const char *name = "x", *none = "";
  expect_failure(halo_npz_write("/dev/full", 1, &name, constant), HALO_IO_ERROR, "No space left");
  expect_failure(halo_npz_write(scratch("a.npz"), 1, &none, constant), HALO_INVALID_ARGUMENT,
                 "no name");
  const halo_literal *tuples[] = {tuple};
  expect_failure(halo_npz_write(scratch("a.npz"), 1, &name, tuples), HALO_INVALID_ARGUMENT,
                 "array 'x': a tuple is not an array");
  ck_assert_int_ne(access(scratch("a.npz"), F_OK), 0);
  halo_literal_release(literal);
  halo_literal_release(tuple);
}
END_TEST

/* A write replaces a file as a whole, through symbolic links, and keeps the umask's rights. */
START_TEST(npy_write_replaces) {
  halo_literal *literal, *again;
  ck_assert_int_eq(halo_npy_read(data_file("order_c.npy"), HALO_S16, &literal), HALO_OK);
  spill(scratch("a.npy"), "old", 3);
  char link_path[128];
  snprintf(link_path, sizeof link_path, "%s", scratch("a.npz"));
  ck_assert_int_eq(symlink("a.npy", link_path), 0);
  ck_assert_int_eq(halo_npy_write(link_path, literal), HALO_OK);
  struct stat info;
  ck_assert_int_eq(lstat(link_path, &info), 0);
  ck_assert(S_ISLNK(info.st_mode));
  ck_assert_int_eq(halo_npy_read(scratch("a.npy"), HALO_S16, &again), HALO_OK);
  ck_assert(halo_literal_same_bits(literal, again));
  mode_t mask = umask(0);
  umask(mask);
  ck_assert_int_eq(stat(scratch("a.npy"), &info), 0);
  ck_assert_int_eq(info.st_mode & 0777, 0666 & ~mask);
  halo_literal_release(literal);
  halo_literal_release(again);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("npy");
  tcase_add_checked_fixture(tests, make_scratch, remove_scratch);
  tcase_add_loop_test(tests, npy_reads_and_writes_types, 0, TYPE_CASES);
  tcase_add_test(tests, npy_reads_orders_and_shapes);
  tcase_add_loop_test(tests, npy_refuses, 0, sizeof refusals / sizeof *refusals);
  tcase_add_loop_test(tests, npy_checks_header, 0, sizeof header_cases / sizeof *header_cases);
  tcase_add_test(tests, npy_refuses_cut_files);
  tcase_add_test(tests, npz_survives_damage);
  tcase_add_test(tests, npz_reads);
  tcase_add_test(tests, npz_tells_shapes);
  tcase_add_test(tests, npz_reads_zip64);
  tcase_add_test(tests, npz_says_what_is_wrong);
  tcase_add_test(tests, npz_round_trip);
  tcase_add_test(tests, npy_write_failures);
  tcase_add_test(tests, npy_write_replaces);
  tcase_set_timeout(tests, 60);
  Suite *suite = suite_create("npy");
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
