/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/text.c: kernels made ready for the program `clang` to compile, where there is no libLLVM: what cpu/compile.c does to a module
 * through LLVM's functions is done here to its text.
 *
 * Each kernel is compiled on its own. Its text has the functions that it calls, directly or not, and an entry. Functions that
 * ask for the item's place get the places' addresses as further parameters, in which the entry has put them. */
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cpu/compile.h"
#include "cpu/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct text_span {
  const char *data;
  size_t length;
} text_span;

typedef struct text_function {
  text_span name, head, body; /* the line of `define`, and those behind it, to the brace */
  bool is_kernel, reached;
  bool asks;       /* for a place, or it calls a function that does */
  unsigned places; /* those that its own text names, as bits */
  bool waits, loops, has_array;
} text_function;

typedef HALO_VEC(text_function) text_functions;
typedef HALO_VEC(text_span) text_lines;

typedef struct text_module {
  text_functions functions; /* by name */
  text_lines others;        /* the lines outside functions */
} text_module;

/* ---- Reading ---- */

static bool text_begins(text_span s, const char *with) {
  size_t length = strlen(with);
  return s.length >= length && memcmp(s.data, with, length) == 0;
}

static bool text_has(text_span s, const char *what) {
  return memmem(s.data, s.length, what, strlen(what)) != NULL;
}

static bool text_is(text_span s, const char *what) {
  return s.length == strlen(what) && memcmp(s.data, what, s.length) == 0;
}

/* Takes a line with its end; empty at the end of the text. */
static text_span text_line(text_span *rest) {
  const char *end = memchr(rest->data, '\n', rest->length);
  text_span line = {rest->data, end ? (size_t)(end - rest->data) + 1 : rest->length};
  rest->data += line.length;
  rest->length -= line.length;
  return line;
}

/* The next global name ("@name") in a text, without the sign; false: there is none. The text then begins behind it. */
static bool text_next_name(text_span *rest, text_span *name) {
  const char *at = memchr(rest->data, '@', rest->length);
  if (!at) return false;
  size_t left = rest->length - (size_t)(at + 1 - rest->data), length = 0;
  while (length < left &&
         (isalnum((unsigned char)at[1 + length]) || strchr("_.$-", at[1 + length]))) {
    length++;
  }
  *name = (text_span){at + 1, length};
  *rest = (text_span){at + 1 + length, left - length};
  return true;
}

/* How long a text in brackets is, which begins with the first; the whole text if it does not end. */
static size_t text_bracketed(text_span s) {
  int depth = 0;
  for (size_t i = 0; i < s.length; i++) {
    if (strchr("(<[{", s.data[i])) depth++;
    if (strchr(")>]}", s.data[i]) && --depth == 0) return i + 1;
  }
  return s.length;
}

/* The parameters of a function, with their parentheses. */
static text_span text_parameters(const text_function *f) {
  text_span s = {f->name.data + f->name.length, 0};
  s.length = f->head.length - (size_t)(s.data - f->head.data);
  s.length = text_bracketed(s);
  return s;
}

static int text_compare(const void *a, const void *b) {
  const text_span *x = &((const text_function *)a)->name, *y = &((const text_function *)b)->name;
  size_t length = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->data, y->data, length);
  return order ? order : x->length < y->length ? -1 : x->length > y->length;
}

static text_function *text_find(const text_module *m, text_span name) {
  text_function key = {.name = name};
  if (!m->functions.count) return NULL;
  return bsearch(&key, m->functions.data, (size_t)m->functions.count, sizeof key, text_compare);
}

/* The number of a place by the variable's name; -1: it is none. */
static int text_place(text_span name) {
  for (int i = 0; i < CPU_SOURCE_PLACES; i++) {
    if (text_is(name, cpu_source_places[i])) return i;
  }
  return -1;
}

/* A function begins with the line `head`. */
static text_function text_read_function(text_span head, text_span *rest) {
  text_function f = {.head = head, .body = {rest->data, 0}};
  text_span names = head, name;
  f.is_kernel = !text_begins(head, "define internal ");
  if (text_next_name(&names, &f.name)) f.is_kernel &= !text_begins(f.name, CPU_COMPILE_SHARED);
  for (bool over = false; !over && rest->length;) {
    text_span line = text_line(rest);
    over = line.data[0] == '}';
    f.body.length += line.length;
    f.loops |= text_has(line, "!llvm.loop ");
    f.has_array |= text_has(line, " = alloca [") || text_has(line, " = alloca <") ||
                   text_has(line, " = alloca %") || text_has(line, " = alloca {");
  }
  for (names = f.body; text_next_name(&names, &name);) {
    int place = text_place(name);
    if (place >= 0) f.places |= 1u << place;
    f.waits |= text_is(name, CPU_SOURCE_BARRIER);
  }
  f.asks = f.places != 0;
  return f;
}

static void text_open(text_module *m, const char *text, size_t size) {
  text_span rest = {text, size};
  *m = (text_module){0};
  while (rest.length) {
    text_span line = text_line(&rest), name, names = line;
    if (text_begins(line, "define ")) {
      halo_vec_push(&m->functions, text_read_function(line, &rest));
      continue;
    }
    /* Variables for places, and the barrier: nothing names them any more. */
    bool named = text_next_name(&names, &name);
    bool known = named && (text_is(name, CPU_SOURCE_BARRIER) || text_place(name) >= 0);
    if (!known) halo_vec_push(&m->others, line);
  }
  if (m->functions.count) {
    qsort(m->functions.data, (size_t)m->functions.count, sizeof *m->functions.data, text_compare);
  }
}

static void text_close(text_module *m) {
  halo_vec_deinit(&m->functions);
  halo_vec_deinit(&m->others);
}

/* The next parameter of a list without its parentheses: its type. False: there is none. */
static bool text_next_parameter(text_span *rest, text_span *type) {
  while (rest->length && (*rest->data == ' ' || *rest->data == ',')) {
    rest->data++;
    rest->length--;
  }
  if (!rest->length) return false;
  bool bracketed = strchr("<[{", *rest->data) != NULL;
  *type = (text_span){rest->data, bracketed ? text_bracketed(*rest) : 0};
  while (!bracketed && type->length < rest->length && !strchr(" ,", type->data[type->length])) {
    type->length++;
  }
  size_t length = type->length;
  while (length < rest->length && rest->data[length] != ',') {
    text_span left = {rest->data + length, rest->length - length};
    length += strchr("(<[{", *left.data) ? text_bracketed(left) : 1;
  }
  rest->data += length;
  rest->length -= length;
  return true;
}

static text_span text_parameter_list(const text_function *f) {
  text_span s = text_parameters(f);
  return (text_span){s.data + 1, s.length - 2};
}

/* ---- The kernels of a program ---- */

static cpu_parameter text_parameter(text_span type) {
  if (text_is(type, "ptr")) return (cpu_parameter){CPU_POINTER, sizeof(cl_mem)};
  if (text_is(type, "half")) return (cpu_parameter){CPU_VALUE, 2};
  if (text_is(type, "float")) return (cpu_parameter){CPU_VALUE, 4};
  if (text_is(type, "double")) return (cpu_parameter){CPU_VALUE, 8};
  uint32_t bits = type.length > 1 && type.data[0] == 'i' ? (uint32_t)atoi(type.data + 1) : 0;
  return (cpu_parameter){CPU_VALUE, (bits + 7) / 8};
}

static cpu_kernel_code text_describe(const text_function *f) {
  HALO_VEC(cpu_parameter) parameters = {0};
  cpu_kernel_code kernel = {.name = halo_alloc(f->name.length + 1)};
  text_span rest = text_parameter_list(f), type;
  memcpy(kernel.name, f->name.data, f->name.length);
  halo_vec_reserve(&parameters, 1);
  while (text_next_parameter(&rest, &type)) halo_vec_push(&parameters, text_parameter(type));
  kernel.parameters = parameters.data;
  kernel.parameter_count = (uint32_t)parameters.count;
  return kernel;
}

void cpu_text_list(const char *text, size_t size, cpu_kernel_code **out, uint32_t *count) {
  HALO_VEC(cpu_kernel_code) kernels = {0};
  text_module m;
  text_open(&m, text, size);
  for (int32_t i = 0; i < m.functions.count; i++) {
    const text_function *f = &m.functions.data[i];
    if (f->is_kernel) halo_vec_push(&kernels, text_describe(f));
  }
  text_close(&m);
  *out = kernels.data;
  *count = (uint32_t)kernels.count;
}

/* ---- What a kernel calls ---- */

/* What a kernel and all that it calls have, taken together. */
static text_function text_reach(const text_module *m, text_function *kernel) {
  text_function all = {0};
  kernel->reached = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = 0; i < m->functions.count; i++) {
      text_function *f = &m->functions.data[i], *called;
      text_span rest = f->body, name;
      while (f->reached && text_next_name(&rest, &name)) {
        if (!(called = text_find(m, name))) continue;
        changed |= !called->reached || (called->asks && !f->asks);
        called->reached = true;
        f->asks |= called->asks;
      }
    }
  }
  for (int32_t i = 0; i < m->functions.count; i++) {
    const text_function *f = &m->functions.data[i];
    if (!f->reached) continue;
    all.places |= f->places;
    all.waits |= f->waits;
    all.loops |= f->loops;
    all.has_array |= f->has_array;
  }
  return all;
}

/* ---- Writing functions ---- */

static void text_put(halo_strbuf *out, text_span s) { halo_strbuf_append_n(out, s.data, s.length); }

/* The places' addresses, as parameters, behind those in parentheses. */
static void text_put_more(halo_strbuf *out, text_span parameters) {
  bool empty = parameters.length == 2;
  halo_strbuf_append_n(out, parameters.data, parameters.length - 1);
  for (int i = 0; i < CPU_SOURCE_PLACES; i++) {
    halo_strbuf_printf(out, "%sptr %%h.place.%d", empty && i == 0 ? "" : ", ", i);
  }
  halo_strbuf_char(out, ')');
}

static void text_put_head(halo_strbuf *out, const text_function *f, bool is_kernel) {
  text_span parameters = text_parameters(f);
  const char *behind = parameters.data + parameters.length;
  const char *type = f->head.data + strlen("define ");
  if (memcmp(type, "internal ", strlen("internal ")) == 0) type += strlen("internal ");
  halo_strbuf_append(out, "define internal ");
  halo_strbuf_append_n(out, type, (size_t)(parameters.data - type));
  if (f->asks) {
    text_put_more(out, parameters);
  } else {
    text_put(out, parameters);
  }
  if (is_kernel) halo_strbuf_append(out, " alwaysinline");
  halo_strbuf_append_n(out, behind, f->head.length - (size_t)(behind - f->head.data));
}

static void text_put_line(halo_strbuf *out, const text_module *m, text_span line) {
  text_span rest = line, name;
  const char *from = line.data;
  while (text_next_name(&rest, &name)) {
    int place = text_place(name);
    const text_function *called = place < 0 ? text_find(m, name) : NULL;
    bool call = called && called->asks && rest.length && *rest.data == '(';
    if (place < 0 && !call) continue;
    halo_strbuf_append_n(out, from, (size_t)(name.data - from) - (place >= 0));
    if (place >= 0) {
      halo_strbuf_printf(out, "%%h.place.%d", place);
    } else {
      text_span parameters = {rest.data, text_bracketed(rest)};
      text_put(out, name);
      text_put_more(out, parameters);
      rest.data += parameters.length;
      rest.length -= parameters.length;
    }
    from = rest.data;
  }
  halo_strbuf_append_n(out, from, line.length - (size_t)(from - line.data));
}

static void text_put_function(halo_strbuf *out, const text_module *m, const text_function *f,
                              bool is_kernel) {
  text_put_head(out, f, is_kernel);
  for (text_span rest = f->body; rest.length;) {
    text_span line = text_line(&rest);
    if (!text_has(line, "@" CPU_SOURCE_BARRIER "(")) text_put_line(out, m, line);
  }
}

/* ---- The entry ---- */

/* Numbers of metadata that no program of clang's has. */
#define TEXT_RANGE "!900000000"
#define TEXT_GROUP "!900000001"
#define TEXT_LOOP "!900000002"
#define TEXT_FREE "!900000003"

static const char text_metadata[] =
    TEXT_RANGE " = !{i64 0, i64 2147483648}\n" TEXT_GROUP " = distinct !{}\n" TEXT_LOOP
               " = distinct !{" TEXT_LOOP ", " TEXT_FREE "}\n" TEXT_FREE
               " = !{!\"llvm.loop.parallel_accesses\", " TEXT_GROUP "}\n";

/* Whether the entry goes over items, and whether they do not depend on one another, which LLVM is told. */
typedef struct text_entry {
  bool loops, is_free;
} text_entry;

static const char text_loop_x[] =
    "  %before = load i64, ptr %h.place.3\n"
    "  br label %ROW\n"
    "ROW:\n"
    "  %y = phi i64 [ %first.y, %0 ], [ %next.y, %ROW_END ]\n"
    "  store i64 %y, ptr %h.place.1\n"
    "  br label %ITEM\n"
    "ITEM:\n"
    "  %x = phi i64 [ %first.x, %ROW ], [ %next.x, %ITEM ]\n"
    "  %behind = sub i64 %x, %first.x\n"
    "  %local = add i64 %behind, %before\n"
    "  store i64 %x, ptr %h.place.0\n"
    "  store i64 %local, ptr %h.place.3\n";
static const char text_loop_end[] =
    "  %next.x = add i64 %x, 1\n"
    "  %more.x = icmp slt i64 %next.x, %last.x\n"
    "  br i1 %more.x, label %ITEM, label %ROW_END";
static const char text_rows_end[] =
    "ROW_END:\n"
    "  %next.y = add i64 %y, 1\n"
    "  %more.y = icmp slt i64 %next.y, %last.y\n"
    "  br i1 %more.y, label %ROW, label %LEAVE\n"
    "LEAVE:\n";

static void text_put_call(halo_strbuf *out, const text_function *kernel, bool is_free) {
  text_span rest = text_parameter_list(kernel), type;
  halo_strbuf list = {0};
  halo_strbuf_char(&list, '(');
  for (int i = 0; text_next_parameter(&rest, &type); i++) {
    halo_strbuf_printf(&list, "%s%.*s %%value.%d", i ? ", " : "", (int)type.length, type.data, i);
  }
  halo_strbuf_char(&list, ')');
  halo_strbuf_printf(out, "  call void @%.*s", (int)kernel->name.length, kernel->name.data);
  if (kernel->asks) {
    text_put_more(out, (text_span){list.data, list.length});
  } else {
    halo_strbuf_append_n(out, list.data, list.length);
  }
  halo_strbuf_append(out, is_free ? ", !llvm.access.group " TEXT_GROUP "\n" : "\n");
  halo_strbuf_deinit(&list);
}

/* The entry as cpu/compile.c makes it. The attributes of the kernel say what processor it is for, and are its own, too. */
static void text_put_entry(halo_strbuf *out, const text_function *kernel, text_entry entry) {
  text_span rest = text_parameter_list(kernel), type;
  const char *behind = rest.data + rest.length, *end = kernel->head.data + kernel->head.length;
  const char *group = memchr(behind, '#', (size_t)(end - behind));
  halo_strbuf_printf(out,
                     "define void @%s(ptr %%arguments, ptr %%place, i64 %%end.x, i64 %%end.y) "
                     "nounwind %.*s {\n",
                     CPU_COMPILE_ENTRY, group ? (int)strcspn(group, " \n") : 0, group ? group : "");
  for (int i = 0; text_next_parameter(&rest, &type); i++) {
    halo_strbuf_printf(out,
                       "  %%slot.%d = getelementptr inbounds ptr, ptr %%arguments, i64 %d\n"
                       "  %%address.%d = load ptr, ptr %%slot.%d\n"
                       "  %%value.%d = load %.*s, ptr %%address.%d\n",
                       i, i, i, i, i, (int)type.length, type.data, i);
  }
  for (int i = 0; i < CPU_SOURCE_PLACES; i++) {
    halo_strbuf_printf(out,
                       "  %%h.place.%d = alloca i64\n"
                       "  %%from.%d = getelementptr inbounds i64, ptr %%place, i64 %d\n"
                       "  %%start.%d = load i64, ptr %%from.%d\n"
                       "  store i64 %%start.%d, ptr %%h.place.%d\n",
                       i, i, i, i, i, i, i);
  }
  for (int d = 0; d < 2; d++) {
    char axis = d ? 'y' : 'x';
    halo_strbuf_printf(out,
                       "  %%room.%c = alloca i64\n  store i64 %%start.%d, ptr %%room.%c\n"
                       "  %%first.%c = load i64, ptr %%room.%c, !range " TEXT_RANGE
                       "\n"
                       "  store i64 %%end.%c, ptr %%room.%c\n"
                       "  %%last.%c = load i64, ptr %%room.%c, !range " TEXT_RANGE "\n",
                       axis, d, axis, axis, axis, axis, axis, axis, axis);
  }
  if (entry.loops) halo_strbuf_append(out, text_loop_x);
  text_put_call(out, kernel, entry.is_free);
  if (entry.loops) {
    halo_strbuf_append(out, text_loop_end);
    halo_strbuf_append(out, entry.is_free ? ", !llvm.loop " TEXT_LOOP "\n" : "\n");
    halo_strbuf_append(out, text_rows_end);
  }
  halo_strbuf_append(out, "  ret void\n}\n");
}

/* ---- All of it ---- */

bool cpu_text_kernel(const char *text, size_t size, cpu_kernel_code *kernel, halo_strbuf *log) {
  text_module m;
  halo_strbuf out = {0};
  text_open(&m, text, size);
  text_function *f = text_find(&m, (text_span){kernel->name, strlen(kernel->name)});
  if (!f) {
    text_close(&m);
    return false;
  }
  text_function all = text_reach(&m, f);
  kernel->waits = all.waits;
  kernel->run = cpu_compile_run(all.waits, all.places);
  text_entry entry = {.loops = kernel->run != CPU_RUN_ITEM};
  entry.is_free = entry.loops && !all.loops && !all.has_array;
  for (int32_t i = 0; i < m.others.count; i++) text_put(&out, m.others.data[i]);
  for (int32_t i = 0; i < m.functions.count; i++) {
    const text_function *one = &m.functions.data[i];
    if (one->reached) text_put_function(&out, &m, one, one == f);
  }
  text_put_entry(&out, f, entry);
  halo_strbuf_append(&out, text_metadata);
  text_close(&m);
  bool good = cpu_front_object(&out, &kernel->object, &kernel->object_size, log);
  halo_strbuf_deinit(&out);
  return good;
}
