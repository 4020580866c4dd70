/* SPDX-License-Identifier: Apache-2.0 */
/* tools/args.c: the option parser that all subcommands share. */
#include "args.h"

#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Slips ---- */

/* How many characters must be changed, added, dropped or swapped with a neighbour; names longer than
 * the table count as far apart. */
static int args_distance(const char *a, const char *b) {
  enum { MOST = 32 };
  int table[MOST + 1][MOST + 1];
  int m = (int)strlen(a), n = (int)strlen(b);
  if (m > MOST || n > MOST) return MOST;
  for (int i = 0; i <= m; i++) table[i][0] = i;
  for (int j = 0; j <= n; j++) table[0][j] = j;
  for (int i = 1; i <= m; i++) {
    for (int j = 1; j <= n; j++) {
      int best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      if (table[i - 1][j] + 1 < best) best = table[i - 1][j] + 1;
      if (table[i][j - 1] + 1 < best) best = table[i][j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
          table[i - 2][j - 2] + 1 < best) {
        best = table[i - 2][j - 2] + 1;
      }
      table[i][j] = best;
    }
  }
  return table[m][n];
}

const char *args_nearest(const char *wrong, const char *const *names, int count, size_t stride) {
  const char *best = NULL;
  int least = strlen(wrong) > 3 ? 3 : 2; /* one slip in short names, two in longer ones */
  for (int i = 0; i < count; i++) {
    const char *name = *(const char *const *)((const char *)names + (size_t)i * stride);
    if (!name) continue;
    int distance = args_distance(wrong, name);
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

/* ---- Messages ---- */

int args_usage_error(const tool_args *args, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "halo: %s: ", args->command);
  vfprintf(stderr, format, list);
  fprintf(stderr, "\nTry 'halo %s --help'.\n", args->command);
  va_end(list);
  return TOOL_USAGE;
}

static int args_unknown(const tool_args *args, const char *name, size_t length) {
  int count = 0;
  while (args->options[count].name || args->options[count].help) count++;
  char wrong[64];
  snprintf(wrong, sizeof wrong, "%.*s", (int)length, name);
  const char *near = args_nearest(wrong, &args->options[0].name, count, sizeof args->options[0]);
  if (near) {
    args_usage_error(args, "there is no option --%s; is it --%s?", wrong, near);
  } else {
    args_usage_error(args, "there is no option --%s", wrong);
  }
  return ARGS_BAD;
}

/* ---- Reading ---- */

static int args_finish(tool_args *args, const tool_option *option, const char *attached,
                       const char **value) {
  *value = attached;
  if (!option->argument) {
    if (!attached) return option->id;
    args_usage_error(args, "--%s takes no value", option->name);
    return ARGS_BAD;
  }
  if (!attached) {
    if (args->next == args->argc) {
      args_usage_error(args, "--%s needs a value: --%s %s", option->name, option->name,
                       option->argument);
      return ARGS_BAD;
    }
    *value = args->argv[args->next++];
  }
  return option->id;
}

static int args_long(tool_args *args, const char *text, const char **value) {
  const char *equals = strchr(text, '=');
  size_t length = equals ? (size_t)(equals - text) : strlen(text);
  for (const tool_option *o = args->options; o->name || o->help; o++) {
    if (o->name && strlen(o->name) == length && memcmp(o->name, text, length) == 0) {
      return args_finish(args, o, equals ? equals + 1 : NULL, value);
    }
  }
  return args_unknown(args, text, length);
}

static int args_short(tool_args *args, const char **value) {
  char letter = *args->cluster++;
  const char *rest = *args->cluster ? args->cluster : NULL;
  for (const tool_option *o = args->options; o->name || o->help; o++) {
    if (!o->letter || o->letter != letter) continue;
    if (!o->argument) {
      if (!rest) args->cluster = NULL;
      return o->id;
    }
    args->cluster = NULL;
    return args_finish(args, o, rest, value);
  }
  args_usage_error(args, "there is no option -%c", letter);
  return ARGS_BAD;
}

int args_next(tool_args *args, const char **value) {
  *value = NULL;
  if (args->cluster) return args_short(args, value);
  if (args->next == args->argc) return ARGS_END;
  const char *text = args->argv[args->next++];
  if (args->only_operands || text[0] != '-' || text[1] == '\0') {
    *value = text;
    return ARGS_OPERAND;
  }
  if (strcmp(text, "--") == 0) {
    args->only_operands = true;
    return args_next(args, value);
  }
  if (text[1] == '-') return args_long(args, text + 2, value);
  args->cluster = text + 1;
  return args_short(args, value);
}

bool args_integer(const tool_args *args, const char *option, const char *value, int64_t low,
                  int64_t high, int64_t *out) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (end == value || *end || errno || number < low || number > high) {
    if (high == INT64_MAX) {
      args_usage_error(args, "--%s must be a whole number of at least %lld, not '%s'", option,
                       (long long)low, value);
    } else {
      args_usage_error(args, "--%s must be a whole number from %lld to %lld, not '%s'", option,
                       (long long)low, (long long)high, value);
    }
    return false;
  }
  *out = number;
  return true;
}

bool args_number(const tool_args *args, const char *option, const char *value, double *out) {
  char *end;
  *out = strtod(value, &end);
  if (end != value && !*end && isfinite(*out) && *out >= 0) return true;
  args_usage_error(args, "--%s must be a number that is not negative, not '%s'", option, value);
  return false;
}

/* ---- Help ---- */

void args_print_wrapped(FILE *out, const char *text, int column, int indent) {
  while (*text) {
    size_t word = strcspn(text, " ");
    if (column > indent && column + 1 + (int)word > 96) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      fputc(' ', out);
      column++;
    }
    fprintf(out, "%.*s", (int)word, text);
    column += (int)word;
    text += word;
    while (*text == ' ') text++;
  }
  fputc('\n', out);
}

void args_print_options(FILE *out, const tool_option *options) {
  enum { INDENT = 27 };
  for (const tool_option *o = options; o->name || o->help; o++) {
    if (!o->name) {
      fprintf(out, "\n%s:\n", o->help);
      continue;
    }
    char left[80];
    if (o->letter) {
      snprintf(left, sizeof left, "  -%c, --%s%s%s", o->letter, o->name, o->argument ? " " : "",
               o->argument ? o->argument : "");
    } else {
      snprintf(left, sizeof left, "      --%s%s%s", o->name, o->argument ? " " : "",
               o->argument ? o->argument : "");
    }
    int width = (int)strlen(left);
    if (width <= INDENT - 2) {
      fprintf(out, "%-*s", INDENT, left);
    } else {
      fprintf(out, "%s\n%*s", left, INDENT, "");
    }
    args_print_wrapped(out, o->help, INDENT, INDENT);
  }
}
