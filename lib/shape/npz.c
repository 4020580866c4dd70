/* SPDX-License-Identifier: Apache-2.0 */
/* shape/npz.c: NumPy's .npz archives: zip files of .npy members. */
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "os/file.h"
#include "shape/npy.h"
#include "shape/shape.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
  ZIP_LOCAL = 0x04034b50, /* signatures */
  ZIP_CENTRAL = 0x02014b50,
  ZIP_END = 0x06054b50,
  ZIP64_END = 0x06064b50,
  ZIP64_LOCATOR = 0x07064b50,
  ZIP_LOCAL_SIZE = 30, /* fixed parts of the records */
  ZIP_CENTRAL_SIZE = 46,
  ZIP_END_SIZE = 22,
  ZIP64_END_SIZE = 56,
  ZIP64_LOCATOR_SIZE = 20,
  ZIP64_EXTRA = 1,
  ZIP_STORED = 0,
  ZIP_DEFLATED = 8
};
/* What a 32-bit (16-bit) field holds when the value is in a zip64 record. */
#define ZIP_IN_64 UINT32_MAX
#define ZIP_COUNT_IN_64 UINT16_MAX

typedef struct npz_member {
  char *name; /* without ".npy" */
  int method;
  bool encrypted;
  uint32_t crc;
  uint64_t packed, size, offset;
} npz_member;

struct halo_npz {
  int fd;
  char *path;
  uint64_t file_size, directory; /* where the central directory starts */
  HALO_VEC(npz_member) members;
};

/* Little-endian fields at any alignment. */
static uint64_t zip_get(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
  return value;
}

/* ---- Opening ---- */

static halo_status npz_pread(int fd, void *data, size_t size, uint64_t offset) {
  char *next = data;
  const size_t most = (size_t)1 << 30;
  while (size > 0) {
    int64_t got = halo_os_read_at(fd, next, size < most ? size : most, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return halo_fail(HALO_IO_ERROR, "cannot be read: %s", strerror(errno));
    if (got == 0) return halo_fail(HALO_IO_ERROR, "became shorter while it was read");
    next += got;
    offset += (uint64_t)got;
    size -= (size_t)got;
  }
  return HALO_OK;
}

typedef struct npz_directory {
  uint64_t offset, size, count;
} npz_directory;

/* Follows the zip64 records that stand before the end record at `end`. */
static halo_status npz_find_directory64(const halo_npz *npz, uint64_t end, npz_directory *out) {
  unsigned char locator[ZIP64_LOCATOR_SIZE], record[ZIP64_END_SIZE];
  if (end < ZIP64_LOCATOR_SIZE + ZIP64_END_SIZE) {
    return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: no zip64 record");
  }
  uint64_t limit = end - ZIP64_LOCATOR_SIZE;
  HALO_TRY(npz_pread(npz->fd, locator, sizeof locator, limit));
  uint64_t at = zip_get(locator + 8, 8);
  if (zip_get(locator, 4) != ZIP64_LOCATOR || at > limit - ZIP64_END_SIZE) {
    return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: bad zip64 locator");
  }
  HALO_TRY(npz_pread(npz->fd, record, sizeof record, at));
  if (zip_get(record, 4) != ZIP64_END) {
    return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: bad zip64 end record");
  }
  *out = (npz_directory){.count = zip_get(record + 32, 8),
                         .size = zip_get(record + 40, 8),
                         .offset = zip_get(record + 48, 8)};
  return HALO_OK;
}

/* Finds the end record, which a comment of up to 65535 bytes may follow. */
static halo_status npz_find_directory(const halo_npz *npz, npz_directory *out) {
  unsigned char tail[ZIP_END_SIZE + UINT16_MAX];
  size_t size = npz->file_size < sizeof tail ? (size_t)npz->file_size : sizeof tail;
  if (size < ZIP_END_SIZE) return halo_fail(HALO_INVALID_ARGUMENT, "not a .npz file (too short)");
  uint64_t start = npz->file_size - size;
  HALO_TRY(npz_pread(npz->fd, tail, size, start));
  size_t at = size - ZIP_END_SIZE;
  while (zip_get(tail + at, 4) != ZIP_END ||
         zip_get(tail + at + 20, 2) > size - at - ZIP_END_SIZE) {
    if (at-- == 0) {
      return halo_fail(
          HALO_INVALID_ARGUMENT,
          size >= 6 && memcmp(tail, "\x93NUMPY", 6) == 0 && start == 0
              ? "not a .npz file: it is a single .npy array"
              : "not a .npz file, or one that is cut off (no zip directory at its end)");
    }
  }
  const unsigned char *end = tail + at;
  *out = (npz_directory){
      .count = zip_get(end + 10, 2), .size = zip_get(end + 12, 4), .offset = zip_get(end + 16, 4)};
  if (zip_get(end + 4, 2) != 0 && zip_get(end + 4, 2) != ZIP_COUNT_IN_64) {
    return halo_fail(HALO_INVALID_ARGUMENT, "a part of a split zip archive");
  }
  if (out->count == ZIP_COUNT_IN_64 || out->size == ZIP_IN_64 || out->offset == ZIP_IN_64) {
    HALO_TRY(npz_find_directory64(npz, start + at, out));
  }
  if (out->offset > start + at || out->size > start + at - out->offset ||
      out->count > out->size / ZIP_CENTRAL_SIZE) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "damaged zip archive: its directory does not fit into the file");
  }
  return HALO_OK;
}

/* Replaces the fields that said "see zip64" by those of the extra record, in the order the format
 * gives them. */
static halo_status npz_apply_zip64(const unsigned char *extra, size_t length, npz_member *member) {
  uint64_t *fields[] = {&member->size, &member->packed, &member->offset};
  bool wanted =
      member->size == ZIP_IN_64 || member->packed == ZIP_IN_64 || member->offset == ZIP_IN_64;
  while (wanted && length >= 4) {
    size_t size = zip_get(extra + 2, 2);
    if (size > length - 4) break;
    if (zip_get(extra, 2) == ZIP64_EXTRA) {
      const unsigned char *at = extra + 4;
      for (int i = 0; i < 3; i++) {
        if (*fields[i] != ZIP_IN_64) continue;
        if (at + 8 > extra + 4 + size) {
          return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: short zip64 field");
        }
        *fields[i] = zip_get(at, 8);
        at += 8;
      }
      return HALO_OK;
    }
    extra += 4 + size;
    length -= 4 + size;
  }
  return HALO_OK;
}

/* Reads one directory entry at `at`, of which `left` bytes exist; *used receives its length. */
static halo_status npz_add_member(halo_npz *npz, const unsigned char *at, size_t left,
                                  size_t *used) {
  if (left < ZIP_CENTRAL_SIZE || zip_get(at, 4) != ZIP_CENTRAL) {
    return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: bad directory entry");
  }
  size_t name_length = zip_get(at + 28, 2), extra = zip_get(at + 30, 2);
  *used = ZIP_CENTRAL_SIZE + name_length + extra + zip_get(at + 32, 2);
  if (*used > left) {
    return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: its directory is cut off");
  }
  const char *name = (const char *)at + ZIP_CENTRAL_SIZE;
  if (name_length < 4 || memcmp(name + name_length - 4, ".npy", 4) != 0) return HALO_OK;
  if (memchr(name, '\0', name_length)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: a member's name has a NUL");
  }
  npz_member member = {.encrypted = zip_get(at + 8, 2) & 1,
                       .method = (int)zip_get(at + 10, 2),
                       .crc = (uint32_t)zip_get(at + 16, 4),
                       .packed = zip_get(at + 20, 4),
                       .size = zip_get(at + 24, 4),
                       .offset = zip_get(at + 42, 4)};
  HALO_TRY(npz_apply_zip64(at + ZIP_CENTRAL_SIZE + name_length, extra, &member));
  member.name = halo_alloc(name_length - 4 + 1);
  memcpy(member.name, name, name_length - 4);
  halo_vec_push(&npz->members, member);
  return HALO_OK;
}

static halo_status npz_read_directory(halo_npz *npz) {
  npz_directory directory;
  HALO_TRY(npz_find_directory(npz, &directory));
  npz->directory = directory.offset;
  void *data;
  HALO_TRY(halo_try_alloc((size_t)directory.size, "a zip directory", &data));
  halo_status status = npz_pread(npz->fd, data, (size_t)directory.size, directory.offset);
  size_t at = 0, used = 0;
  for (uint64_t i = 0; i < directory.count && status == HALO_OK; i++, at += used) {
    status = npz_add_member(npz, (unsigned char *)data + at, (size_t)directory.size - at, &used);
  }
  halo_free(data);
  return status;
}

halo_status halo_npz_open(const char *path, halo_npz **out) {
  if (!path || !out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_npz_open: NULL argument");
  *out = NULL;
  /* Not blocking: a pipe is refused below instead of waited for. */
  int fd = halo_os_open(path, HALO_OS_READ);
  if (fd < 0) return halo_fail_errno(errno, "read", path);
  halo_npz *npz = halo_alloc(sizeof *npz);
  npz->fd = fd;
  npz->path = halo_strdup(path);
  halo_os_file_info info;
  halo_status status;
  if (!halo_os_find_open_file(fd, &info)) {
    status = halo_fail_errno(errno, "read", path);
  } else if (info.kind != HALO_OS_FILE) {
    status =
        halo_fail(HALO_IO_ERROR, "cannot read %s: %s", path,
                  info.kind == HALO_OS_FOLDER ? "it is a directory" : "it is not a regular file");
  } else {
    npz->file_size = info.size;
    status = halo_fail_in(npz_read_directory(npz), "%s", path);
  }
  if (status != HALO_OK) {
    halo_npz_close(npz);
    return status;
  }
  *out = npz;
  return HALO_OK;
}

void halo_npz_close(halo_npz *npz) {
  if (!npz) return;
  for (int i = 0; i < npz->members.count; i++) halo_free(npz->members.data[i].name);
  halo_vec_deinit(&npz->members);
  close(npz->fd);
  halo_free(npz->path);
  halo_free(npz);
}

int halo_npz_count(const halo_npz *npz) { return npz->members.count; }

const char *halo_npz_name(const halo_npz *npz, int index) { return npz->members.data[index].name; }

/* ---- Reading a member ---- */

typedef struct npz_reader {
  int fd;
  uint64_t next, left; /* packed bytes: where, and how many */
  uint32_t crc;        /* of what was read so far */
  bool deflated;
  z_stream z;
  unsigned char *block; /* packed input */
} npz_reader;
enum { NPZ_BLOCK = 1 << 16 };

static halo_status npz_refill(npz_reader *reader) {
  size_t size = reader->left < NPZ_BLOCK ? (size_t)reader->left : NPZ_BLOCK;
  HALO_TRY(npz_pread(reader->fd, reader->block, size, reader->next));
  reader->next += size;
  reader->left -= size;
  reader->z.next_in = reader->block;
  reader->z.avail_in = (uInt)size;
  return HALO_OK;
}

static halo_status npz_inflate(npz_reader *reader, unsigned char *out, size_t size) {
  while (size > 0) {
    uInt part = size < NPZ_BLOCK ? (uInt)size : NPZ_BLOCK;
    reader->z.next_out = out;
    reader->z.avail_out = part;
    while (reader->z.avail_out > 0) {
      if (reader->z.avail_in == 0 && reader->left > 0) HALO_TRY(npz_refill(reader));
      int result = inflate(&reader->z, Z_NO_FLUSH);
      if (result == Z_STREAM_END && reader->z.avail_out == 0) break;
      if (result == Z_STREAM_END || result == Z_BUF_ERROR) {
        return halo_fail(HALO_INVALID_ARGUMENT, "the compressed data ends too early");
      }
      if (result != Z_OK) {
        return halo_fail(HALO_INVALID_ARGUMENT, "the compressed data is damaged%s%s",
                         reader->z.msg ? ": " : "", reader->z.msg ? reader->z.msg : "");
      }
    }
    out += part;
    size -= part;
  }
  return HALO_OK;
}

static halo_status npz_reader_read(void *context, void *data, size_t size) {
  npz_reader *reader = context;
  if (reader->deflated) {
    HALO_TRY(npz_inflate(reader, data, size));
  } else {
    /* A stored member's packed size is its size, so the source's own limit holds here too. */
    HALO_TRY(npz_pread(reader->fd, data, size, reader->next));
    reader->next += size;
  }
  reader->crc = (uint32_t)crc32_z(reader->crc, data, size);
  return HALO_OK;
}

/* Finds the member's data behind its local header and checks the sizes against the file. */
static halo_status npz_locate(const halo_npz *npz, const npz_member *member, uint64_t *data) {
  if (member->encrypted) return halo_fail(HALO_INVALID_ARGUMENT, "the member is encrypted");
  if (member->method != ZIP_STORED && member->method != ZIP_DEFLATED) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "compressed with zip method %d; only stored and deflated are read",
                     member->method);
  }
  unsigned char local[ZIP_LOCAL_SIZE];
  if (npz->directory < sizeof local || member->offset > npz->directory - sizeof local) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "damaged zip archive: the member lies outside the file");
  }
  HALO_TRY(npz_pread(npz->fd, local, sizeof local, member->offset));
  if (zip_get(local, 4) != ZIP_LOCAL) {
    return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: no member where one should be");
  }
  *data = member->offset + sizeof local + zip_get(local + 26, 2) + zip_get(local + 28, 2);
  if (*data > npz->directory || member->packed > npz->directory - *data) {
    return halo_fail(HALO_INVALID_ARGUMENT, "damaged zip archive: the member does not fit into it");
  }
  /* Deflate cannot do better than 1032 to 1, so a larger claim is false; no memory for it. */
  if (member->method == ZIP_STORED ? member->packed != member->size
                                   : member->size / 1032 > member->packed) {
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "damaged zip archive: %llu bytes cannot come from %llu in the file",
                     (unsigned long long)member->size, (unsigned long long)member->packed);
  }
  return HALO_OK;
}

/* Reads a member's array, or, where `shape` is not NULL, no more than what tells its shape. */
static halo_status npz_read_member(const halo_npz *npz, const npz_member *member,
                                   halo_type expected, halo_literal **out, halo_shape **shape) {
  npz_reader reader = {.fd = npz->fd,
                       .left = member->packed,
                       .deflated = member->method == ZIP_DEFLATED,
                       .crc = (uint32_t)crc32(0, NULL, 0)};
  HALO_TRY(npz_locate(npz, member, &reader.next));
  if (reader.deflated) {
    if (inflateInit2(&reader.z, -MAX_WBITS) != Z_OK) {
      return halo_fail(HALO_OUT_OF_MEMORY, "zlib could not start");
    }
    reader.block = halo_alloc(NPZ_BLOCK);
  }
  halo_npy_source source = {npz_reader_read, &reader, member->size};
  halo_status status = shape ? halo_npy_decode_shape(&source, expected, shape)
                             : halo_npy_decode(&source, expected, out);
  if (reader.deflated) {
    inflateEnd(&reader.z);
    halo_free(reader.block);
  }
  if (status == HALO_OK && !shape && reader.crc != member->crc) {
    halo_literal_release(*out);
    *out = NULL;
    status = halo_fail(HALO_INVALID_ARGUMENT, "damaged: its checksum is %08x and should be %08x",
                       reader.crc, member->crc);
  }
  return status;
}

static halo_status npz_read_number(halo_npz *npz, int index, halo_type expected, halo_literal **out,
                                   halo_shape **shape) {
  if (index < 0 || index >= npz->members.count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s has %d array%s; there is no number %d", npz->path,
                     npz->members.count, halo_plural(npz->members.count), index);
  }
  const npz_member *member = &npz->members.data[index];
  halo_status status = npz_read_member(npz, member, expected, out, shape);
  return halo_fail_in(status, "%s, array '%s'", npz->path, member->name);
}

halo_status halo_npz_read(halo_npz *npz, int index, halo_type expected, halo_literal **out) {
  if (!npz || !out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_npz_read: NULL argument");
  *out = NULL;
  return npz_read_number(npz, index, expected, out, NULL);
}

halo_status halo_npz_shape(halo_npz *npz, int index, halo_type expected, halo_shape **out) {
  if (!npz || !out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_npz_shape: NULL argument");
  *out = NULL;
  return npz_read_number(npz, index, expected, NULL, out);
}

/* ---- Writing ---- */

static void zip_put(halo_strbuf *out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) halo_strbuf_char(out, (char)(value >> 8 * i & 255));
}

static halo_status npz_crc_sink(void *context, const void *data, size_t size) {
  uint32_t *crc = context;
  *crc = (uint32_t)crc32_z(*crc, data, size);
  return HALO_OK;
}

static halo_status npz_file_sink(void *context, const void *data, size_t size) {
  return halo_outfile_write(context, data, size);
}

static uint64_t zip_small(uint64_t value) { return value < ZIP_IN_64 ? value : ZIP_IN_64; }

/* The fields that a local header and a directory entry share, from "version needed" on. */
static void npz_put_common(halo_strbuf *out, const npz_member *member, size_t extra) {
  bool big = extra > 0;
  zip_put(out, big ? 45 : 20, 2);
  zip_put(out, 0x0800, 2); /* the name is UTF-8 */
  zip_put(out, ZIP_STORED, 2);
  zip_put(out, 0, 2);
  zip_put(out, 0x0021, 2); /* 1 January 1980: the same arrays always give the same file */
  zip_put(out, member->crc, 4);
  zip_put(out, zip_small(member->size), 4);
  zip_put(out, zip_small(member->size), 4);
  zip_put(out, strlen(member->name) + 4, 2);
  zip_put(out, extra, 2);
}

/* Headers are made on memory of their own before they are written. */
typedef struct npz_header {
  const npz_member *members;
  int count;
  uint64_t offset; /* of the directory */
  halo_strbuf out;
} npz_header;

static halo_status npz_make_local(void *user) {
  npz_header *header = user;
  const npz_member *member = header->members;
  halo_strbuf out = {0};
  size_t extra = member->size >= ZIP_IN_64 ? 20 : 0;
  zip_put(&out, ZIP_LOCAL, 4);
  npz_put_common(&out, member, extra);
  halo_strbuf_printf(&out, "%s.npy", member->name);
  if (extra > 0) {
    zip_put(&out, ZIP64_EXTRA, 2);
    zip_put(&out, 16, 2);
    zip_put(&out, member->size, 8);
    zip_put(&out, member->size, 8);
  }
  header->out = out;
  return HALO_OK;
}

static halo_status npz_write_member(halo_outfile *file, const halo_literal *literal,
                                    npz_member *member, uint64_t *offset) {
  member->offset = *offset;
  member->size = halo_npy_encoded_size(literal);
  member->crc = (uint32_t)crc32(0, NULL, 0);
  HALO_TRY(halo_npy_encode(literal, npz_crc_sink, &member->crc));
  npz_header header = {.members = member};
  HALO_TRY(halo_memory_guard(npz_make_local, &header));
  halo_status status = halo_outfile_write(file, header.out.data, header.out.length);
  *offset += header.out.length + member->size;
  halo_strbuf_deinit(&header.out);
  return status == HALO_OK ? halo_npy_encode(literal, npz_file_sink, file) : status;
}

static void npz_put_entry(halo_strbuf *out, const npz_member *member) {
  uint64_t fields[3];
  int count = 0;
  if (member->size >= ZIP_IN_64) {
    fields[count++] = member->size;
    fields[count++] = member->size;
  }
  if (member->offset >= ZIP_IN_64) fields[count++] = member->offset;
  size_t extra = count > 0 ? 4 + 8 * (size_t)count : 0;
  zip_put(out, ZIP_CENTRAL, 4);
  zip_put(out, 45, 2); /* made by: version 4.5 */
  npz_put_common(out, member, extra);
  zip_put(out, 0, 6); /* comment, disk, internal attributes */
  zip_put(out, 0, 4); /* external attributes */
  zip_put(out, zip_small(member->offset), 4);
  halo_strbuf_printf(out, "%s.npy", member->name);
  if (count > 0) {
    zip_put(out, ZIP64_EXTRA, 2);
    zip_put(out, 8 * (uint64_t)count, 2);
    for (int i = 0; i < count; i++) zip_put(out, fields[i], 8);
  }
}

/* The directory of all members and the end records. */
static halo_status npz_make_directory(void *user) {
  npz_header *header = user;
  int count = header->count;
  uint64_t offset = header->offset;
  halo_strbuf out = {0};
  for (int i = 0; i < count; i++) npz_put_entry(&out, &header->members[i]);
  uint64_t size = out.length;
  if (offset >= ZIP_IN_64 || count >= ZIP_COUNT_IN_64) {
    zip_put(&out, ZIP64_END, 4);
    zip_put(&out, ZIP64_END_SIZE - 12, 8);
    zip_put(&out, 45, 2);
    zip_put(&out, 45, 2);
    zip_put(&out, 0, 8);
    zip_put(&out, (uint64_t)count, 8);
    zip_put(&out, (uint64_t)count, 8);
    zip_put(&out, size, 8);
    zip_put(&out, offset, 8);
    zip_put(&out, ZIP64_LOCATOR, 4);
    zip_put(&out, 0, 4);
    zip_put(&out, offset + size, 8);
    zip_put(&out, 1, 4);
  }
  uint64_t small_count = count < ZIP_COUNT_IN_64 ? (uint64_t)count : ZIP_COUNT_IN_64;
  zip_put(&out, ZIP_END, 4);
  zip_put(&out, 0, 4);
  zip_put(&out, small_count, 2);
  zip_put(&out, small_count, 2);
  zip_put(&out, size, 4);
  zip_put(&out, zip_small(offset), 4);
  zip_put(&out, 0, 2);
  header->out = out;
  return HALO_OK;
}

static halo_status npz_write_directory(halo_outfile *file, const npz_member *members, int count,
                                       uint64_t offset) {
  npz_header header = {.members = members, .count = count, .offset = offset};
  HALO_TRY(halo_memory_guard(npz_make_directory, &header));
  halo_status status = halo_outfile_write(file, header.out.data, header.out.length);
  halo_strbuf_deinit(&header.out);
  return status;
}

static halo_status npz_check_members(int count, const char *const *names,
                                     const halo_literal *const *literals) {
  for (int i = 0; i < count; i++) {
    if (!names[i] || !names[i][0] || strlen(names[i]) > UINT16_MAX - 4) {
      return halo_fail(HALO_INVALID_ARGUMENT, "array %d has no name, or one that is too long", i);
    }
    HALO_TRY(halo_fail_in(halo_npy_check_writable(literals[i]), "array '%s'", names[i]));
  }
  return HALO_OK;
}

halo_status halo_npz_write(const char *path, int count, const char *const *names,
                           const halo_literal *const *literals) {
  if (!path || count < 0 || (count > 0 && (!names || !literals))) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_npz_write: bad arguments");
  }
  HALO_TRY(halo_fail_in(npz_check_members(count, names, literals), "%s", path));
  void *memory;
  HALO_TRY(halo_try_alloc(sizeof(npz_member) * (size_t)count, "the list of arrays", &memory));
  npz_member *members = memory;
  halo_outfile *file;
  halo_status opened = halo_outfile_create(path, &file);
  if (opened != HALO_OK) {
    halo_free(members);
    return opened;
  }
  uint64_t offset = 0;
  halo_status status = HALO_OK;
  for (int i = 0; i < count && status == HALO_OK; i++) {
    members[i].name = (char *)names[i];
    status = npz_write_member(file, literals[i], &members[i], &offset);
  }
  if (status == HALO_OK) status = npz_write_directory(file, members, count, offset);
  halo_free(members);
  if (status == HALO_OK) return halo_outfile_commit(file);
  halo_outfile_discard(file);
  return status;
}
