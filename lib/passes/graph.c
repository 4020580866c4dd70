/* SPDX-License-Identifier: Apache-2.0 */
/* passes/graph.c: a module as a graph, for viewers and for Graphviz. */
#include "base/json.h"
#include "base/memory.h"
#include "base/pointer_map.h"
#include "base/strbuf.h"
#include "halo/passes.h"
#include "os/file.h"
#include "os/locale.h"
#include "passes/work.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- JSON ---- */

typedef struct graph_json {
  halo_json_writer out;
  const halo_computation *computation; /* whose instructions are being written */
  halo_pointer_map numbers;            /* of computations, and of instructions within theirs */
  int32_t *storage;
} graph_json;

static int graph_number(const graph_json *json, const void *what) {
  const int32_t *number = halo_pointer_map_get(&json->numbers, what);
  return number ? *number : -1;
}

static void graph_json_computation(graph_json *json, const halo_computation *computation) {
  halo_json_writer *out = &json->out;
  if (json->computation) {
    halo_json_close(out);
    halo_json_close(out);
  }
  json->computation = computation;
  halo_json_object(out, NULL);
  halo_json_text(out, "name", computation->name);
  halo_json_integer(out, "root", graph_number(json, computation->root));
  halo_json_array(out, "instrs");
}

static void graph_json_instr(void *user, const halo_instr *instr, const halo_work *work) {
  graph_json *json = user;
  halo_json_writer *out = &json->out;
  halo_strbuf shape = {0}, text = {0};
  halo_shape_print(&shape, instr->shape, false);
  halo_instr_print(&text, instr, HALO_PRINT_SHORT | HALO_PRINT_ELIDE_LARGE);
  if (instr->parent != json->computation) graph_json_computation(json, instr->parent);
  halo_json_object(out, NULL);
  halo_json_text(out, "name", instr->name);
  halo_json_text(out, "op", halo_opcode_name(instr->opcode));
  halo_json_text(out, "shape", halo_strbuf_text(&shape));
  halo_json_array(out, "in");
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_json_integer(out, NULL, graph_number(json, instr->operands[i]));
  }
  halo_json_close(out);
  halo_json_array(out, "calls");
  for (int32_t i = 0; i < halo_instr_called_count(instr); i++) {
    halo_json_integer(out, NULL, graph_number(json, halo_instr_called(instr, i)));
  }
  halo_json_close(out);
  halo_json_number(out, "ops", work->operations);
  halo_json_number(out, "bytes", work->bytes);
  halo_json_number(out, "seconds", work->seconds);
  halo_json_text(out, "text", halo_strbuf_text(&text));
  halo_json_close(out);
  halo_strbuf_deinit(&text);
  halo_strbuf_deinit(&shape);
}

static void graph_json_numbers(graph_json *json, const halo_module *module) {
  size_t count = (size_t)module->computations.count;
  for (int32_t c = 0; c < module->computations.count; c++) {
    count += (size_t)module->computations.data[c]->instrs.count;
  }
  int32_t *next = json->storage = halo_alloc(sizeof(int32_t) * (count + 1));
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    *next = c;
    halo_pointer_map_set(&json->numbers, computation, next++);
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      *next = i;
      halo_pointer_map_set(&json->numbers, computation->instrs.data[i], next++);
    }
  }
}

static char *graph_to_json(const halo_module *module) {
  halo_os_text text;
  if (!halo_os_text_begin(&text)) return NULL;
  graph_json json = {.out.file = text.file};
  graph_json_numbers(&json, module);
  halo_json_object(&json.out, NULL);
  halo_json_text(&json.out, "name", module->name);
  halo_json_integer(&json.out, "entry", graph_number(&json, module->entry));
  halo_json_array(&json.out, "computations");
  halo_work_walk(module, graph_json_instr, &json);
  while (json.out.depth > 0) halo_json_close(&json.out);
  halo_pointer_map_deinit(&json.numbers);
  halo_free(json.storage);
  char *written = halo_os_text_end(&text), *copy = written ? halo_strdup(written) : NULL;
  free(written); /* the C library's memory */
  return copy;
}

/* ---- DOT ---- */

/* In double quotes. Control characters are left out, and bytes that are not UTF-8 become U+FFFD. */
static void graph_text(halo_strbuf *out, const char *text) {
  halo_strbuf_char(out, '"');
  for (size_t size; *text; text += size ? size : 1) {
    size = halo_utf8_character(text);
    if (*text == '"' || *text == '\\') halo_strbuf_char(out, '\\');
    if (*text == '\n') {
      halo_strbuf_append(out, "\\n");
    } else if (size == 0) {
      halo_strbuf_append(out, "\xef\xbf\xbd");
    } else if (size > 1 || *text >= ' ') {
      halo_strbuf_printf(out, "%.*s", (int)size, text);
    }
  }
  halo_strbuf_char(out, '"');
}

static void graph_shape(halo_strbuf *out, const halo_shape *shape) {
  halo_strbuf text = {0};
  halo_shape_print(&text, shape, false);
  graph_text(out, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
}

/* Computations that are applied to elements, as by a reduction, are named and not drawn. */
static bool graph_draws(const halo_instr *instr) {
  switch ((int)instr->opcode) {
    case HALO_OP_FUSION:
    case HALO_OP_WHILE:
    case HALO_OP_CONDITIONAL:
    case HALO_OP_CALL: return true;
  }
  return false;
}

static void graph_dot_node(halo_strbuf *out, const halo_instr *instr) {
  halo_strbuf_printf(out, "  n%d [label=", (int)instr->id);
  halo_strbuf label = {0};
  halo_strbuf_printf(&label, "%s\n%s", instr->name, halo_opcode_name(instr->opcode));
  graph_text(out, halo_strbuf_text(&label));
  halo_strbuf_deinit(&label);
  halo_strbuf_append(out, instr == instr->parent->root ? ", penwidth=2];\n" : "];\n");
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_strbuf_printf(out, "  n%d -> n%d [label=", (int)instr->operands[i]->id, (int)instr->id);
    graph_shape(out, instr->operands[i]->shape);
    halo_strbuf_append(out, "];\n");
  }
}

static char *graph_to_dot(const halo_module *module) {
  halo_strbuf out = {0};
  halo_strbuf_append(&out, "digraph ");
  graph_text(&out, module->name);
  halo_strbuf_append(&out,
                     " {\n  node [shape=box, fontname=\"sans-serif\"];\n"
                     "  edge [fontname=\"sans-serif\", fontsize=9];\n");
  halo_pointer_map drawn = {0};
  int number = 1;
  halo_pointer_map_set(&drawn, module->entry, &number);
  /* From the last, which others do not call, to those that they call. */
  for (int32_t c = module->computations.count - 1; c >= 0; c--) {
    const halo_computation *computation = module->computations.data[c];
    if (!halo_pointer_map_get(&drawn, computation)) continue;
    halo_strbuf_printf(&out, "subgraph cluster_%d {\n  label=", (int)c);
    graph_text(&out, computation->name);
    halo_strbuf_append(&out, ";\n");
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      graph_dot_node(&out, instr);
      for (int32_t k = 0; graph_draws(instr) && k < halo_instr_called_count(instr); k++) {
        halo_pointer_map_set(&drawn, halo_instr_called(instr, k), &number);
      }
    }
    halo_strbuf_append(&out, "}\n");
  }
  /* Which box is whose inside. */
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; halo_pointer_map_get(&drawn, computation) && i < computation->instrs.count;
         i++) {
      const halo_instr *instr = computation->instrs.data[i];
      for (int32_t k = 0; graph_draws(instr) && k < halo_instr_called_count(instr); k++) {
        halo_strbuf_printf(&out, "n%d -> n%d [style=dotted];\n",
                           (int)halo_instr_called(instr, k)->root->id, (int)instr->id);
      }
    }
  }
  halo_strbuf_append(&out, "}\n");
  halo_pointer_map_deinit(&drawn);
  return halo_strbuf_take(&out);
}

halo_status halo_module_to_graph(const halo_module *module, halo_graph_format format, char **out) {
  halo_c_locale locale = halo_c_locale_enter();
  *out = format == HALO_GRAPH_DOT ? graph_to_dot(module) : graph_to_json(module);
  halo_c_locale_leave(locale);
  if (*out) return HALO_OK;
  return halo_fail(HALO_OUT_OF_MEMORY, "halo_module_to_graph: no memory for the text");
}
