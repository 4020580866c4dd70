/* SPDX-License-Identifier: Apache-2.0 */
/* text/foreign.c: files that are no HLO text, told by how they begin, with advice for who gave them. */
#include "text/parser.h"

#include "base/memory.h"
#include "base/strbuf.h"

#include <string.h>

#define FOREIGN_READ "HLO text, HLO protos, and StableHLO as text or as an artifact"
#define FOREIGN_JAX "in JAX, jax.jit(f).lower(x).as_text() prints one"

static const struct {
  const char *begin;
  size_t length;
  const char *advice;
} foreign_forms[] = {
    {"\x1f\x8b", 2, "this file is compressed by gzip: unpack it first, with gunzip"},
    {"\x28\xb5\x2f\xfd", 4, "this file is compressed by zstd: unpack it first, with unzstd"},
    {"\xfd"
     "7zXZ",
     5, "this file is compressed by xz: unpack it first, with unxz"},
    {"BZh", 3, "this file is compressed by bzip2: unpack it first, with bunzip2"},
    {"PK\x03\x04", 4,
     "this is a zip archive (.npz archives of arrays are inputs of a program): programs "
     "are " FOREIGN_READ},
    {"\x93NUMPY", 6,
     "this is an array of NumPy, an input of a program: programs are " FOREIGN_READ},
    {"\x89HDF", 4, "this is an HDF5 file, as of weights: programs are " FOREIGN_READ},
    {"\x7f"
     "ELF",
     4, "this is machine code: programs are " FOREIGN_READ},
    {"\xff\xfe", 2, "this text is UTF-16: save it as UTF-8"},
    {"\xfe\xff", 2, "this text is UTF-16: save it as UTF-8"},
};

/* How a message about the first word of the text begins. */
static void foreign_place(const halo_text_parser *p, halo_strbuf *out) {
  int line = 1, column = 1;
  const char *at = p->begin;
  for (; at < p->end && strchr(" \t\r\n", *at) && *at; at++) {
    column = *at == '\n' ? 1 : column + 1;
    line += *at == '\n';
  }
  halo_strbuf_printf(out, "%s:%d:%d: ", p->name, line, column);
}

halo_status halo_text_advise_foreign(const halo_text_parser *p, halo_status status) {
  halo_strbuf place = {0};
  const char *message = halo_error_message();
  if (status != HALO_INVALID_ARGUMENT) return status;
  foreign_place(p, &place);
  bool first = strncmp(message, halo_strbuf_text(&place), place.length) == 0;
  halo_strbuf_deinit(&place);
  if (!first || strstr(message, FOREIGN_READ)) return status;
  char *saved = halo_error_save();
  status = halo_fail(status, "%s\nPrograms are " FOREIGN_READ "; " FOREIGN_JAX, saved);
  halo_free(saved);
  return status;
}

static halo_status foreign_fail(const halo_text_parser *p, const char *advice) {
  /* Bytes that are no text are not shown. */
  return halo_fail(HALO_INVALID_ARGUMENT, "%s:1:1: error: %s", p->name, advice);
}

halo_status halo_text_refuse_foreign(halo_text_parser *p) {
  enum { LOOK = 64 };
  size_t length = (size_t)(p->end - p->begin);
  for (size_t i = 0; i < sizeof foreign_forms / sizeof *foreign_forms; i++) {
    bool same = foreign_forms[i].length <= length &&
                memcmp(p->begin, foreign_forms[i].begin, foreign_forms[i].length) == 0;
    if (same) return foreign_fail(p, foreign_forms[i].advice);
  }
  for (const char *at = p->begin; at < p->end && at < p->begin + LOOK; at++) {
    /* A NUL is told apart later. */
    if ((unsigned char)*at >= ' ' || strchr("\t\n\r\f\v", *at)) continue;
    return foreign_fail(
        p, "this is no program that is known here: programs are " FOREIGN_READ "; " FOREIGN_JAX);
  }
  bool mlir = (halo_text_is_word(p, "module") || *p->begin == '#' || *p->begin == '"') &&
              (strstr(p->begin, "func.func") || strstr(p->begin, "stablehlo.") ||
               strstr(p->begin, "mhlo."));
  if (!mlir) return HALO_OK;
  return halo_text_error(p, p->begin, "this is MLIR (StableHLO): expected HLO text");
}
