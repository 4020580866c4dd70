/* SPDX-License-Identifier: Apache-2.0 */
/* record.c: what a run found out, as JSON and as CSV. */
#include "bench/record.h"
#include "base/json.h"
#include "bench/json_read.h"
#include "tool.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const record_statuses[] = {"ok", "above", "wrong", "failed", "skipped"};

const char *bench_status_name(bench_status status) { return record_statuses[status]; }

/* ---- The members, once for writing and reading ---- */

typedef enum record_kind {
  RECORD_TEXT,
  RECORD_NUMBER,
  RECORD_INT,
  RECORD_INT64, /* and uint64_t */
  RECORD_BOOL,
  RECORD_STATUS
} record_kind;

typedef struct record_field {
  const char *key;
  record_kind kind;
  size_t offset, size; /* `size`: of a text */
} record_field;

#define ROW_TEXT(member)                                                                           \
  { #member, RECORD_TEXT, offsetof(bench_row, member), sizeof((bench_row *)0)->member }
#define ROW(member, kind)                                                                          \
  { #member, kind, offsetof(bench_row, member), 0 }

static const record_field record_row_fields[] = {
    ROW_TEXT(name),
    ROW_TEXT(size),
    ROW_TEXT(implementation),
    ROW(status, RECORD_STATUS),
    ROW_TEXT(reason),
    ROW_TEXT(unit),
    ROW(work, RECORD_NUMBER),
    ROW(flops, RECORD_NUMBER),
    ROW(bytes, RECORD_NUMBER),
    ROW(median, RECORD_NUMBER),
    ROW(minimum, RECORD_NUMBER),
    ROW(spread, RECORD_NUMBER),
    ROW(samples, RECORD_INT),
    ROW(runs, RECORD_INT),
    ROW(waited, RECORD_BOOL),
    ROW_TEXT(limit),
    ROW(limit_rate, RECORD_NUMBER),
    ROW(cold, RECORD_NUMBER),
    ROW(warm, RECORD_NUMBER),
    ROW(reference, RECORD_NUMBER),
    ROW_TEXT(check),
    ROW(wrong, RECORD_INT64),
    ROW(checked, RECORD_INT64),
    ROW(elements, RECORD_INT64),
};
enum { RECORD_ROW_FIELDS = sizeof record_row_fields / sizeof *record_row_fields };

#define RUN_TEXT(member)                                                                           \
  { #member, RECORD_TEXT, offsetof(bench_record, member), sizeof((bench_record *)0)->member }
#define RUN(member, kind)                                                                          \
  { #member, kind, offsetof(bench_record, member), 0 }

static const record_field record_fields[] = {
    RUN_TEXT(version),
    RUN_TEXT(commit),
    RUN_TEXT(date),
    RUN_TEXT(device),
    RUN_TEXT(platform),
    RUN_TEXT(vendor),
    RUN_TEXT(driver),
    RUN_TEXT(device_version),
    RUN_TEXT(kind),
    RUN(compute_units, RECORD_INT),
    RUN(memory, RECORD_INT64),
    RUN_TEXT(os),
    RUN_TEXT(processor),
    RUN_TEXT(governor),
    RUN_TEXT(tuning),
    RUN(load, RECORD_NUMBER),
    RUN_TEXT(suite),
    RUN_TEXT(filter),
    RUN_TEXT(reference_name),
    RUN(min_time, RECORD_NUMBER),
    RUN(max_time, RECORD_NUMBER),
    RUN(device_times, RECORD_BOOL),
    RUN(timer_resolution, RECORD_NUMBER),
    RUN(timer_overhead, RECORD_NUMBER),
    RUN(seconds, RECORD_NUMBER),
};
enum { RECORD_FIELDS = sizeof record_fields / sizeof *record_fields };

static void record_write_field(halo_json_writer *json, const record_field *field,
                               const char *from) {
  const void *at = from + field->offset;
  switch (field->kind) {
    case RECORD_TEXT: halo_json_text(json, field->key, at); break;
    case RECORD_NUMBER: halo_json_number(json, field->key, *(const double *)at); break;
    case RECORD_INT: halo_json_integer(json, field->key, *(const int *)at); break;
    case RECORD_INT64: halo_json_integer(json, field->key, *(const int64_t *)at); break;
    case RECORD_BOOL: halo_json_bool(json, field->key, *(const bool *)at); break;
    case RECORD_STATUS:
      halo_json_text(json, field->key, bench_status_name(*(const bench_status *)at));
      break;
  }
}

/* Fields that are not there stay 0. */
static void record_read_field(const json_value *object, const record_field *field, char *to) {
  void *at = to + field->offset;
  const char *text = json_text(object, field->key, "");
  double number = json_number(object, field->key, 0);
  switch (field->kind) {
    case RECORD_TEXT: snprintf(at, field->size, "%s", text); break;
    case RECORD_NUMBER: *(double *)at = number; break;
    case RECORD_INT: *(int *)at = (int)number; break;
    case RECORD_INT64: *(int64_t *)at = (int64_t)number; break;
    case RECORD_BOOL: *(bool *)at = number != 0; break;
    case RECORD_STATUS:
      *(bench_status *)at = BENCH_FAILED;
      for (int i = BENCH_OK; i <= BENCH_SKIPPED; i++) {
        if (strcmp(text, record_statuses[i]) == 0) *(bench_status *)at = (bench_status)i;
      }
  }
}

/* ---- JSON ---- */

void bench_record_write(FILE *file, const bench_record *record) {
  halo_json_writer json = {.file = file};
  halo_json_object(&json, NULL);
  halo_json_text(&json, "schema", "halo-bench");
  halo_json_integer(&json, "schema_version", BENCH_SCHEMA_VERSION);
  for (int i = 0; i < RECORD_FIELDS; i++) {
    record_write_field(&json, &record_fields[i], (const char *)record);
  }
  halo_json_array(&json, "rows");
  for (int r = 0; r < record->row_count; r++) {
    halo_json_object(&json, NULL);
    for (int i = 0; i < RECORD_ROW_FIELDS; i++) {
      record_write_field(&json, &record_row_fields[i], (const char *)&record->rows[r]);
    }
    halo_json_close(&json);
  }
  halo_json_close(&json);
  halo_json_close(&json);
}

bool bench_record_save(const char *path, const bench_record *record) {
  FILE *file = fopen(path, "w");
  if (file != NULL) bench_record_write(file, record);
  bool good = file != NULL && !ferror(file);
  good = file != NULL && fclose(file) == 0 && good;
  if (!good) tool_error("cannot write %s", path);
  return good;
}

static bool record_read(const json_value *value, const char *name, bench_record *out) {
  if (strcmp(json_text(value, "schema", ""), "halo-bench") != 0) {
    return tool_error("%s is no result of 'halo bench --json'", name), false;
  }
  int version = (int)json_number(value, "schema_version", 0);
  if (version < 1 || version > BENCH_SCHEMA_VERSION) {
    return tool_error("%s has schema version %d; this program reads versions 1 to %d", name,
                      version, BENCH_SCHEMA_VERSION),
           false;
  }
  const json_value *rows = json_member(value, "rows");
  if (rows == NULL || rows->kind != JSON_ARRAY) {
    return tool_error("%s has no rows", name), false;
  }
  for (int i = 0; i < RECORD_FIELDS; i++) record_read_field(value, &record_fields[i], (char *)out);
  for (int r = 0; r < rows->count; r++) {
    bench_row *row = bench_record_add(out);
    for (int i = 0; i < RECORD_ROW_FIELDS; i++) {
      record_read_field(&rows->items[r], &record_row_fields[i], (char *)row);
    }
  }
  return true;
}

bool bench_record_parse(const char *text, const char *name, bench_record *out) {
  int error = 0;
  *out = (bench_record){0};
  json_value *value = json_parse(text, &error);
  if (value == NULL) return tool_error("%s is not JSON (byte %d)", name, error), false;
  bool ok = record_read(value, name, out);
  json_release(value);
  if (!ok) bench_record_release(out);
  return ok;
}

bool bench_record_load(const char *path, bench_record *out) {
  char *bytes;
  size_t size;
  const char *name;
  if (!tool_read_bytes(path, &bytes, &size, &name)) return false;
  char *text = tool_printf("%.*s", (int)size, bytes);
  free(bytes);
  bool ok = bench_record_parse(text, name, out);
  free(text);
  return ok;
}

/* ---- CSV ---- */

void bench_record_write_csv_heading(FILE *file) {
  for (int i = 0; i < RECORD_ROW_FIELDS; i++) {
    fprintf(file, "%s%s", i ? "," : "", record_row_fields[i].key);
  }
  fputs(",rate\n", file);
}

static void record_write_quoted(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"') fputc('"', file);
    fputc(*text == '\n' ? ' ' : *text, file);
  }
  fputc('"', file);
}

void bench_record_write_csv(FILE *file, const bench_row *row) {
  for (int i = 0; i < RECORD_ROW_FIELDS; i++) {
    const record_field *field = &record_row_fields[i];
    const void *at = (const char *)row + field->offset;
    if (i) fputc(',', file);
    switch (field->kind) {
      case RECORD_TEXT: record_write_quoted(file, at); break;
      case RECORD_NUMBER: fprintf(file, "%.9g", *(const double *)at); break;
      case RECORD_INT: fprintf(file, "%d", *(const int *)at); break;
      case RECORD_INT64: fprintf(file, "%lld", (long long)*(const int64_t *)at); break;
      case RECORD_BOOL: fputs(*(const bool *)at ? "1" : "0", file); break;
      case RECORD_STATUS: fputs(bench_status_name(*(const bench_status *)at), file);
    }
  }
  fprintf(file, ",%.9g\n", bench_row_rate(row));
}

/* ---- Rows ---- */

bench_row *bench_record_add(bench_record *record) {
  size_t size = sizeof *record->rows * (size_t)(record->row_count + 1);
  record->rows = tool_realloc(record->rows, size);
  bench_row *row = &record->rows[record->row_count++];
  *row = (bench_row){0};
  return row;
}

const bench_row *bench_record_find(const bench_record *record, const char *name,
                                   const char *implementation) {
  for (int i = 0; i < record->row_count; i++) {
    const bench_row *row = &record->rows[i];
    if (strcmp(row->name, name) != 0) continue;
    if (implementation == NULL || strcmp(row->implementation, implementation) == 0) return row;
  }
  return NULL;
}

void bench_record_release(bench_record *record) {
  free(record->rows);
  *record = (bench_record){0};
}

bool bench_row_is_time(const bench_row *row) { return strcmp(row->unit, "s") == 0; }

double bench_row_rate(const bench_row *row) {
  if (row->median <= 0) return 0;
  return bench_row_is_time(row) ? row->median : row->work / row->median;
}

double bench_row_efficiency(const bench_row *row) {
  if (row->limit_rate <= 0 || bench_row_is_time(row)) return 0;
  return bench_row_rate(row) / row->limit_rate;
}

double bench_row_shown(const bench_row *row) {
  double rate = bench_row_rate(row);
  return row->unit[0] == 'G' ? rate * 1e-9 : row->unit[0] == 'M' ? rate * 1e-6 : rate;
}

void bench_row_group(const bench_row *row, char group[24]) {
  snprintf(group, 24, "%.*s", (int)strcspn(row->name, "."), row->name);
}

/* ---- Figures ---- */

double bench_record_throughput(const bench_record *record, const bench_record *reference,
                               int *count) {
  double sum = 0;
  *count = 0;
  for (int i = 0; i < record->row_count; i++) {
    const bench_row *row = &record->rows[i];
    const bench_row *other = bench_record_find(reference, row->name, NULL);
    /* The first of several implementations is the one that compiling chose. */
    if (bench_record_find(record, row->name, NULL) != row || other == NULL) continue;
    if (strncmp(row->name, "limit.", 6) == 0 || strcmp(row->size, other->size) != 0) continue;
    double ours = bench_row_rate(row), theirs = bench_row_rate(other);
    if (ours <= 0 || theirs <= 0) continue;
    sum += bench_row_is_time(row) ? log(theirs / ours) : log(ours / theirs);
    ++*count;
  }
  return *count ? exp(sum / *count) : 0;
}

double bench_record_efficiency(const bench_record *record, int *count) {
  double sum = 0;
  *count = 0;
  for (int i = 0; i < record->row_count; i++) {
    const bench_row *row = &record->rows[i];
    if (bench_record_find(record, row->name, NULL) != row) continue;
    double part = bench_row_efficiency(row);
    /* A launch is as fast as its limit or slower, which is no use of what the device can do. */
    bool launch = strcmp(row->unit, "runs/s") == 0;
    if (part <= 0 || launch || strncmp(row->name, "limit.", 6) == 0) continue;
    sum += log(part);
    ++*count;
  }
  return *count ? exp(sum / *count) : 0;
}
