/* SPDX-License-Identifier: Apache-2.0 */
/* shape/npy.c: NumPy's .npy format: header, element types, byte and dimension order. */
#include "shape/npy.h"

#include "base/file.h"
#include "base/memory.h"
#include "os/file.h"
#include "shape/literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char npy_magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* ---- Element types ---- */

/* The types NumPy itself has. Others are ml_dtypes', saved as raw bytes ("V1", "V2"). */
typedef struct npy_dtype {
  halo_type type;
  const char *code; /* kind and size, without the byte order */
} npy_dtype;

static const npy_dtype npy_dtypes[] = {
    {HALO_PRED, "b1"}, {HALO_S8, "i1"},  {HALO_S16, "i2"}, {HALO_S32, "i4"},   {HALO_S64, "i8"},
    {HALO_U8, "u1"},   {HALO_U16, "u2"}, {HALO_U32, "u4"}, {HALO_U64, "u8"},   {HALO_F16, "f2"},
    {HALO_F32, "f4"},  {HALO_F64, "f8"}, {HALO_C64, "c8"}, {HALO_C128, "c16"},
};
enum { NPY_DTYPE_COUNT = sizeof npy_dtypes / sizeof npy_dtypes[0] };

static const char *npy_code_of(halo_type type) {
  for (int i = 0; i < NPY_DTYPE_COUNT; i++) {
    if (npy_dtypes[i].type == type) return npy_dtypes[i].code;
  }
  return NULL;
}

/* A type that only ml_dtypes has. */
static bool npy_is_custom(halo_type type) { return halo_type_is_array(type) && !npy_code_of(type); }

static halo_status npy_type_of_raw(int size, halo_type expected, halo_type *out) {
  if (npy_is_custom(expected) && halo_type_size(expected) == (size_t)size) {
    *out = expected;
    return HALO_OK;
  }
  if (size == 2) {
    *out = HALO_BF16;
    return HALO_OK;
  }
  if (expected == HALO_TYPE_INVALID) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "the elements are raw bytes ('V1', as ml_dtypes saves its 8-bit and narrower "
                     "types), so the file does not tell which type they are");
  }
  return halo_fail(HALO_INVALID_ARGUMENT,
                   "the elements are raw bytes ('V1', as ml_dtypes saves its 8-bit and narrower "
                   "types), which cannot be %s",
                   halo_type_name(expected));
}

/* The type of a descr such as "<f4"; *swap says that its bytes are in the other order. */
static halo_status npy_parse_descr(const char *descr, halo_type expected, halo_type *type,
                                   bool *swap) {
  const char *code = descr;
  char order = '|';
  if (*code && strchr("<>|=", *code)) order = *code++;
  for (int i = 0; i < NPY_DTYPE_COUNT; i++) {
    if (strcmp(code, npy_dtypes[i].code) != 0) continue;
    *type = npy_dtypes[i].type;
    /* A missing or native order ("f4", "=f4") is the writer's; take it for ours. */
    *swap = order == '>' && halo_type_size(*type) > 1;
    return HALO_OK;
  }
  *swap = false;
  if (strcmp(code, "V1") == 0) return npy_type_of_raw(1, expected, type);
  if (strcmp(code, "V2") == 0) {
    *swap = order == '>';
    return npy_type_of_raw(2, expected, type);
  }
  if (strcmp(code, "f1") == 0) { /* what ml_dtypes' float8_e5m2 calls itself */
    *type = HALO_F8E5M2;
    return HALO_OK;
  }
  const char *kind = "is not a type that HLO has";
  switch (*code) {
    case 'O': kind = "means Python objects, which are not read"; break;
    case 'U':
    case 'S': kind = "means text, which is not read"; break;
    case 'M':
    case 'm': kind = "means dates or times; save them as int64"; break;
    case 'f':
    case 'c': kind = "is a float that HLO does not have; save it as float64 or complex128"; break;
  }
  return halo_fail(HALO_INVALID_ARGUMENT, "element type '%.40s' %s", descr, kind);
}

/* ---- Header ---- */

typedef struct npy_header {
  char descr[64];
  bool fortran_order;
  int rank;
  int64_t dims[HALO_MAX_RANK];
} npy_header;

/* The header is a Python dict literal; this reads the part of that language that NumPy writes. */
typedef struct npy_scanner {
  const char *next, *end;
} npy_scanner;

static void npy_skip_space(npy_scanner *s) {
  while (s->next < s->end && isspace((unsigned char)*s->next)) s->next++;
}

static bool npy_accept(npy_scanner *s, char c) {
  npy_skip_space(s);
  if (s->next == s->end || *s->next != c) return false;
  s->next++;
  return true;
}

static halo_status npy_damaged(const npy_scanner *s, const char *expected) {
  int left = (int)(s->end - s->next < 24 ? s->end - s->next : 24);
  char seen[32];
  for (int i = 0; i < left; i++) seen[i] = isprint((unsigned char)s->next[i]) ? s->next[i] : '?';
  seen[left] = '\0';
  return halo_fail(HALO_INVALID_ARGUMENT, "the header is damaged: expected %s at \"%s\"", expected,
                   seen);
}

/* A quoted string without escapes, cut off as an error when longer than `size`. */
static halo_status npy_scan_string(npy_scanner *s, const char *what, char *out, size_t size) {
  npy_skip_space(s);
  if (s->next == s->end || (*s->next != '\'' && *s->next != '"')) return npy_damaged(s, what);
  const char *start = s->next + 1;
  const char *stop = memchr(start, *s->next, (size_t)(s->end - start));
  if (!stop || (size_t)(stop - start) >= size) return npy_damaged(s, what);
  memcpy(out, start, (size_t)(stop - start));
  out[stop - start] = '\0';
  s->next = stop + 1;
  return HALO_OK;
}

static bool npy_accept_word(npy_scanner *s, const char *word) {
  npy_skip_space(s);
  size_t length = strlen(word);
  if ((size_t)(s->end - s->next) < length || memcmp(s->next, word, length) != 0) return false;
  s->next += length;
  return true;
}

static halo_status npy_scan_dim(npy_scanner *s, int64_t *out) {
  npy_skip_space(s);
  int64_t value = 0;
  if (s->next == s->end || !isdigit((unsigned char)*s->next)) {
    return npy_damaged(s, "a dimension of 'shape'");
  }
  for (; s->next < s->end && isdigit((unsigned char)*s->next); s->next++) {
    if (!halo_mul_i64(value, 10, &value) || __builtin_add_overflow(value, *s->next - '0', &value)) {
      return halo_fail(HALO_INVALID_ARGUMENT, "a dimension in the header does not fit 63 bits");
    }
  }
  if (s->next < s->end && *s->next == 'L') s->next++; /* Python 2's long */
  *out = value;
  return HALO_OK;
}

static halo_status npy_scan_shape(npy_scanner *s, npy_header *header) {
  if (!npy_accept(s, '(')) return npy_damaged(s, "the '(' of 'shape'");
  header->rank = 0;
  while (!npy_accept(s, ')')) {
    if (header->rank == HALO_MAX_RANK) {
      return halo_fail(HALO_INVALID_ARGUMENT, "the array has more than %d dimensions",
                       HALO_MAX_RANK);
    }
    HALO_TRY(npy_scan_dim(s, &header->dims[header->rank++]));
    if (npy_accept(s, ',')) continue;
    if (!npy_accept(s, ')')) return npy_damaged(s, "',' or ')' in 'shape'");
    break;
  }
  return HALO_OK;
}

static halo_status npy_scan_descr(npy_scanner *s, npy_header *header) {
  npy_skip_space(s);
  if (s->next < s->end && *s->next == '[') {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "a structured array (records with fields); save each field as its own array");
  }
  return npy_scan_string(s, "a type name", header->descr, sizeof header->descr);
}

static halo_status npy_scan_header(const char *text, size_t length, npy_header *header) {
  npy_scanner s = {text, text + length};
  bool have_descr = false, have_order = false, have_shape = false;
  if (!npy_accept(&s, '{')) return npy_damaged(&s, "'{'");
  while (!npy_accept(&s, '}')) {
    char key[32];
    HALO_TRY(npy_scan_string(&s, "a key", key, sizeof key));
    if (!npy_accept(&s, ':')) return npy_damaged(&s, "':'");
    if (strcmp(key, "descr") == 0 && !have_descr) {
      HALO_TRY(npy_scan_descr(&s, header));
      have_descr = true;
    } else if (strcmp(key, "fortran_order") == 0 && !have_order) {
      header->fortran_order = npy_accept_word(&s, "True");
      if (!header->fortran_order && !npy_accept_word(&s, "False")) {
        return npy_damaged(&s, "True or False");
      }
      have_order = true;
    } else if (strcmp(key, "shape") == 0 && !have_shape) {
      HALO_TRY(npy_scan_shape(&s, header));
      have_shape = true;
    } else {
      return halo_fail(HALO_INVALID_ARGUMENT, "the header is damaged: unexpected key '%s'", key);
    }
    if (npy_accept(&s, ',')) continue;
    if (!npy_accept(&s, '}')) return npy_damaged(&s, "',' or '}'");
    break;
  }
  npy_skip_space(&s);
  if (s.next != s.end) return npy_damaged(&s, "the end of the header");
  if (!have_descr || !have_order || !have_shape) {
    return halo_fail(HALO_INVALID_ARGUMENT, "the header is damaged: it has no '%s'",
                     !have_descr   ? "descr"
                     : !have_order ? "fortran_order"
                                   : "shape");
  }
  return HALO_OK;
}

/* Reads magic, version and header; *offset receives where the data starts. */
static halo_status npy_read_header(const halo_npy_source *source, npy_header *header,
                                   uint64_t *offset) {
  unsigned char start[12];
  if (source->size == 0) return halo_fail(HALO_INVALID_ARGUMENT, "the file is empty");
  if (source->size < 10) {
    return halo_fail(HALO_INVALID_ARGUMENT, "not a .npy file: it has only %llu bytes",
                     (unsigned long long)source->size);
  }
  HALO_TRY(source->read(source->context, start, 10));
  if (memcmp(start, npy_magic, sizeof npy_magic) != 0) {
    bool zip = start[0] == 'P' && start[1] == 'K';
    return halo_fail(HALO_INVALID_ARGUMENT, "not a .npy file%s",
                     zip ? ": it is a zip archive (.npz)" : " (it does not start with \\x93NUMPY)");
  }
  if (start[6] < 1 || start[6] > 3) {
    return halo_fail(HALO_INVALID_ARGUMENT, "format version %d.%d is not known (1.0 to 3.0 are)",
                     start[6], start[7]);
  }
  size_t length = (size_t)start[8] | (size_t)start[9] << 8;
  *offset = 10;
  if (start[6] > 1) {
    if (source->size < 12) return halo_fail(HALO_INVALID_ARGUMENT, "the header is cut off");
    HALO_TRY(source->read(source->context, start + 10, 2));
    length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    *offset = 12;
  }
  if (length > source->size - *offset) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "the header is cut off: it should have %zu bytes, and %llu follow", length,
                     (unsigned long long)(source->size - *offset));
  }
  *offset += length;
  void *text;
  HALO_TRY(halo_try_alloc(length, "a .npy header", &text));
  halo_status status = source->read(source->context, text, length);
  if (status == HALO_OK) status = npy_scan_header(text, length, header);
  halo_free(text);
  return status;
}

/* ---- Data ---- */

/* Reverses the bytes of each of `count` parts. */
static void npy_swap(unsigned char *data, int64_t count, size_t size) {
  for (int64_t i = 0; i < count; i++, data += size) {
    for (size_t j = 0; j < size / 2; j++) {
      unsigned char byte = data[j];
      data[j] = data[size - 1 - j];
      data[size - 1 - j] = byte;
    }
  }
}

/* Copies column-major `from` to row-major `to`. */
static void npy_from_fortran(const npy_header *header, size_t size, const char *from, char *to,
                             int64_t count) {
  int64_t index[HALO_MAX_RANK] = {0}, stride[HALO_MAX_RANK], position = 0, step = 1;
  for (int d = 0; d < header->rank; d++) {
    stride[d] = step;
    step *= header->dims[d];
  }
  for (int64_t i = 0; i < count; i++) {
    memcpy(to + (size_t)i * size, from + (size_t)position * size, size);
    for (int d = header->rank - 1; d >= 0; d--) {
      position += stride[d];
      if (++index[d] < header->dims[d]) break;
      position -= stride[d] * header->dims[d];
      index[d] = 0;
    }
  }
}

/* Brings a byte that holds a narrower element into the form literals have. ml_dtypes leaves the upper
 * bits of an int4 zero where a literal has the sign. */
static void npy_normalise(halo_type type, unsigned char *data, int64_t count) {
  int unused = 8 - halo_type_bits(type);
  if (type == HALO_PRED) {
    for (int64_t i = 0; i < count; i++) data[i] = data[i] != 0;
  } else if (unused > 0 && halo_type_is_sint(type)) {
    for (int64_t i = 0; i < count; i++) {
      data[i] = (unsigned char)((signed char)(unsigned char)(data[i] << unused) >> unused);
    }
  } else if (unused > 0) {
    for (int64_t i = 0; i < count; i++) data[i] &= 0xff >> unused;
  }
}

static halo_status npy_read_data(const halo_npy_source *source, const npy_header *header, bool swap,
                                 halo_literal *literal) {
  halo_type type = literal->shape->type;
  int64_t count = halo_shape_element_count(literal->shape);
  size_t bytes = (size_t)halo_shape_byte_size(literal->shape);
  bool transpose = header->fortran_order && header->rank > 1 && count > 1;
  void *data = literal->data;
  if (transpose) HALO_TRY(halo_try_alloc(bytes, "a column-major array", &data));
  halo_status status = source->read(source->context, data, bytes);
  if (status == HALO_OK) {
    if (transpose) {
      npy_from_fortran(header, halo_type_size(type), data, literal->data, count);
    }
    halo_type part = halo_type_real_part(type);
    if (swap) npy_swap(literal->data, part == type ? count : 2 * count, halo_type_size(part));
    npy_normalise(type, literal->data, count);
  }
  if (transpose) halo_free(data);
  return status;
}

/* The shape that a header tells of; as many bytes follow it. */
static halo_status npy_read_shape(const halo_npy_source *source, halo_type expected,
                                  npy_header *header, bool *swap, halo_shape **out) {
  uint64_t offset = 0;
  halo_type type;
  *out = NULL;
  HALO_TRY(npy_read_header(source, header, &offset));
  HALO_TRY(npy_parse_descr(header->descr, expected, &type, swap));
  halo_shape *shape;
  HALO_TRY(halo_shape_create_array(type, header->rank, header->dims, &shape));
  uint64_t need = (uint64_t)halo_shape_byte_size(shape), have = source->size - offset;
  if (need != have) {
    char text[128];
    halo_shape_to_text(shape, false, text, sizeof text);
    halo_shape_release(shape);
    return halo_fail(HALO_INVALID_ARGUMENT, "%s: %s needs %llu bytes, and %llu follow the header",
                     have < need ? "the data is cut off" : "there is more than one array", text,
                     (unsigned long long)need, (unsigned long long)have);
  }
  *out = shape;
  return HALO_OK;
}

halo_status halo_npy_decode_shape(const halo_npy_source *source, halo_type expected,
                                  halo_shape **out) {
  npy_header header = {0};
  bool swap;
  return npy_read_shape(source, expected, &header, &swap, out);
}

halo_status halo_npy_decode(const halo_npy_source *source, halo_type expected, halo_literal **out) {
  *out = NULL;
  npy_header header = {0};
  bool swap;
  halo_shape *shape;
  HALO_TRY(npy_read_shape(source, expected, &header, &swap, &shape));
  halo_literal *literal = NULL;
  halo_status status = halo_literal_create(shape, &literal);
  halo_shape_release(shape);
  if (status == HALO_OK) status = npy_read_data(source, &header, swap, literal);
  if (status != HALO_OK) {
    halo_literal_release(literal);
    return status;
  }
  *out = literal;
  return HALO_OK;
}

/* ---- Writing ---- */

halo_status halo_npy_check_writable(const halo_literal *literal) {
  if (!literal) return halo_fail(HALO_INVALID_ARGUMENT, "the literal is NULL");
  if (!halo_shape_is_array(literal->shape)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "a %s is not an array; write its elements one by one",
                     halo_type_name(literal->shape->type));
  }
  return HALO_OK;
}

/* The bytes before the data. HALO_MAX_RANK dimensions of 21 digits take less. */
typedef struct npy_head {
  char bytes[64 * (HALO_MAX_RANK / 2 + 4)];
  size_t length;
} npy_head;

static void npy_put(npy_head *header, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void npy_put(npy_head *header, const char *format, ...) {
  va_list args;
  va_start(args, format);
  header->length += (size_t)vsnprintf(header->bytes + header->length,
                                      sizeof header->bytes - header->length, format, args);
  va_end(args);
}

enum { NPY_PREFIX = 10 }; /* bytes of magic, version and length */

/* As NumPy itself writes it: room for the first dimension to grow to 21 digits, then spaces up to a
 * multiple of 64. */
static void npy_fill_head(const halo_literal *literal, npy_head *header) {
  const halo_shape *shape = literal->shape;
  const char *code = npy_code_of(shape->type);
  size_t size = halo_type_size(shape->type);
  char raw[8];
  snprintf(raw, sizeof raw, "V%d", (int)size);
  header->length = NPY_PREFIX;
  npy_put(header, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
          code && size == 1 ? '|' : '<', code ? code : raw);
  for (int i = 0; i < shape->rank; i++) {
    npy_put(header, "%s%lld", i ? ", " : "", (long long)shape->dims[i]);
  }
  npy_put(header, "%s", shape->rank == 1 ? ",), }" : "), }");
  if (shape->rank > 0) {
    int digits = snprintf(NULL, 0, "%lld", (long long)shape->dims[0]);
    npy_put(header, "%*s", digits < 21 ? 21 - digits : 0, "");
  }
  npy_put(header, "%*s\n", (int)(63 - header->length % 64), "");
  /* Version 1.0 holds 65535 bytes. */
  size_t text = header->length - NPY_PREFIX;
  memcpy(header->bytes, npy_magic, sizeof npy_magic);
  memcpy(header->bytes + sizeof npy_magic, "\1\0", 2);
  header->bytes[NPY_PREFIX - 2] = (char)(text & 255);
  header->bytes[NPY_PREFIX - 1] = (char)(text >> 8);
}

uint64_t halo_npy_encoded_size(const halo_literal *literal) {
  npy_head header;
  npy_fill_head(literal, &header);
  return header.length + (uint64_t)halo_shape_byte_size(literal->shape);
}

halo_status halo_npy_encode(const halo_literal *literal, halo_npy_sink sink, void *context) {
  npy_head header;
  npy_fill_head(literal, &header);
  HALO_TRY(sink(context, header.bytes, header.length));
  size_t size = (size_t)halo_shape_byte_size(literal->shape);
  int bits = halo_type_bits(literal->shape->type);
  if (bits >= 8 || literal->shape->type == HALO_PRED) return sink(context, literal->data, size);
  /* Narrow integers lose their sign extension, as ml_dtypes has them. */
  const unsigned char *data = literal->data;
  unsigned char block[4096];
  for (size_t at = 0; at < size; at += sizeof block) {
    size_t length = size - at < sizeof block ? size - at : sizeof block;
    for (size_t i = 0; i < length; i++) block[i] = data[at + i] & ((1 << bits) - 1);
    HALO_TRY(sink(context, block, length));
  }
  return HALO_OK;
}

/* ---- Files ---- */

typedef struct npy_file {
  int fd;
} npy_file;

static halo_status npy_file_read(void *context, void *data, size_t size) {
  npy_file *file = context;
  char *next = data;
  const size_t most = (size_t)1 << 30;
  while (size > 0) {
    ssize_t got = read(file->fd, next, size < most ? size : most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return halo_fail(HALO_IO_ERROR, "cannot be read: %s", strerror(errno));
    if (got == 0) return halo_fail(HALO_IO_ERROR, "became shorter while it was read");
    next += got;
    size -= (size_t)got;
  }
  return HALO_OK;
}

halo_status halo_npy_read(const char *path, halo_type expected, halo_literal **out) {
  if (!path || !out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_npy_read: NULL argument");
  *out = NULL;
  /* Not blocking: a pipe is refused below instead of waited for. */
  npy_file file = {halo_os_open(path, HALO_OS_READ)};
  if (file.fd < 0) return halo_fail_errno(errno, "read", path);
  halo_os_file_info info;
  halo_status status = HALO_OK;
  if (!halo_os_find_open_file(file.fd, &info)) {
    status = halo_fail_errno(errno, "read", path);
  } else if (info.kind != HALO_OS_FILE) {
    status =
        halo_fail(HALO_IO_ERROR, "cannot read %s: %s", path,
                  info.kind == HALO_OS_FOLDER ? "it is a directory" : "it is not a regular file");
  } else {
    halo_npy_source source = {npy_file_read, &file, info.size};
    status = halo_fail_in(halo_npy_decode(&source, expected, out), "%s", path);
  }
  close(file.fd);
  return status;
}

static halo_status npy_file_sink(void *context, const void *data, size_t size) {
  return halo_outfile_write(context, data, size);
}

halo_status halo_npy_write(const char *path, const halo_literal *literal) {
  if (!path) return halo_fail(HALO_INVALID_ARGUMENT, "halo_npy_write: path is NULL");
  HALO_TRY(halo_fail_in(halo_npy_check_writable(literal), "%s", path));
  halo_outfile *file;
  HALO_TRY(halo_outfile_create(path, &file));
  halo_status status = halo_npy_encode(literal, npy_file_sink, file);
  if (status == HALO_OK) return halo_outfile_commit(file);
  halo_outfile_discard(file);
  return status;
}
