/* SPDX-License-Identifier: Apache-2.0 */
/* base/format.c: printf's formats, fast where they are simple. */
#include "base/format.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What is written so far; `length` goes on where the room ends. */
typedef struct format_out {
  char *data;
  size_t size, length;
} format_out;

static void format_put(format_out *out, const char *text, size_t length) {
  if (out->length < out->size) {
    size_t room = out->size - out->length;
    memcpy(out->data + out->length, text, length < room ? length : room);
  }
  out->length += length;
}

static void format_number(format_out *out, uint64_t magnitude, bool negative) {
  char digits[24], *at = digits + sizeof digits;
  do *--at = (char)('0' + magnitude % 10);
  while (magnitude /= 10);
  if (negative) *--at = '-';
  format_put(out, at, (size_t)(digits + sizeof digits - at));
}

static void format_signed(format_out *out, int64_t value) {
  format_number(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

/* Whether only %s, %.*s, %c, %d, %u, %lld, %llu, %zu and %% occur. */
static bool format_is_simple(const char *format) {
  static const char *const known[] = {"s", ".*s", "c", "d", "u", "lld", "llu", "zu", "%"};
  while ((format = strchr(format, '%'))) {
    format++;
    size_t i = 0, count = sizeof known / sizeof known[0];
    while (i < count && strncmp(format, known[i], strlen(known[i])) != 0) i++;
    if (i == count) return false;
    format += strlen(known[i]);
  }
  return true;
}

/* One conversion of a simple format, whose first byte behind the % this is; returns what follows it. */
static const char *format_convert(format_out *out, const char *format, va_list *args) {
  switch (*format) {
    case 's': {
      const char *text = va_arg(*args, const char *);
      format_put(out, text, strlen(text));
      return format + 1;
    }
    case 'c': {
      char c = (char)va_arg(*args, int);
      format_put(out, &c, 1);
      return format + 1;
    }
    case 'd': format_signed(out, va_arg(*args, int)); return format + 1;
    case 'u': format_number(out, va_arg(*args, unsigned), false); return format + 1;
    case 'z': format_number(out, va_arg(*args, size_t), false); return format + 2;
    case '.': {
      int most = va_arg(*args, int);
      const char *text = va_arg(*args, const char *);
      format_put(out, text, most < 0 ? strlen(text) : strnlen(text, (size_t)most));
      return format + 3;
    }
    case 'l':
      if (format[2] == 'd') {
        format_signed(out, va_arg(*args, long long));
      } else {
        format_number(out, va_arg(*args, unsigned long long), false);
      }
      return format + 3;
    default: format_put(out, "%", 1); return format + 1;
  }
}

size_t halo_format(char *data, size_t size, const char *format, va_list args) {
  if (!format_is_simple(format)) {
    int length = vsnprintf(data, size, format, args);
    return length < 0 ? 0 : (size_t)length;
  }
  format_out out = {data, size, 0};
  va_list own;
  va_copy(own, args);
  for (;;) {
    const char *next = strchr(format, '%');
    format_put(&out, format, next ? (size_t)(next - format) : strlen(format));
    if (!next) break;
    format = format_convert(&out, next + 1, &own);
  }
  va_end(own);
  if (size) data[out.length < size ? out.length : size - 1] = '\0';
  return out.length;
}
