/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_declared.c: operations whose result shape is written. Modules are generated in which they have
 * operands and results of many shapes: each is refused, or compiles for a device, or the compiler says why not. How many
 * are accepted is known, so that neither a check that is lost nor one that is too strict goes unseen. */
#include "base/strbuf.h"
#include "run_test.h"

#define DEVICE "null:" HALO_TEST_DATA "/devices/nvidia-a100.caps"

static const char *const shapes[] = {
    "f32[2,3]",
    "f32[3,2]",
    "f32[4,3]",
    "s32[2,3]",
    "u32[]",
    "token[]",
    "()",
    "(f32[2,3])",
    "(f32[2,3], token[])",
    "(f32[2,3], f32[2,3])",
    "(f32[2,3], f32[4,3])",
    "(f32[2,3], f32[3,2])",
    "(f32[2,3], u32[], token[])",
    "(f32[2,3], f32[2,3], u32[])",
    "(f32[2,3], f32[2,3], u32[], u32[])",
    "(f32[2,3], f32[4,3], u32[], u32[])",
    "((f32[2,3]), f32[2,3], u32[])",
    "((f32[2,3]), f32[3,2], u32[])",
    "((f32[2,3]), f32[2,3])",
    "((f32[2,3]), token[])",
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* An operation of one operand, and perhaps a token behind it; of each pair of shapes for the operand and the result
 * so many are accepted. */
typedef struct declared_case {
  const char *op, *attrs;
  bool token;
  int accepted;
} declared_case;

static const declared_case cases[] = {
    /* The computation takes f32[2,3] and gives it back. */
    {"async-start", ", calls=same", false, 2},
    {"async-update", "", false, 4},
    {"async-done", "", false, 4},
    {"copy-start", "", false, 3},
    {"copy-done", "", false, 3},
    {"infeed", "", false, 2},
    {"outfeed", "", true, 20},
    {"outfeed", ", outfeed_shape=f32[2,3]", true, 1},
    {"send", ", channel_id=1", true, 1},
    {"send", ", channel_id=1, is_host_transfer=true", true, 1},
    {"send-done", ", channel_id=1", false, 1},
    {"recv", ", channel_id=1", false, 1},
    {"recv", ", channel_id=1, is_host_transfer=true", false, 1},
    {"recv-done", ", channel_id=1", false, 1},
    {"all-gather-start", ", replica_groups={}, dimensions={0}", false, 7},
    {"all-gather-done", "", false, 12},
    {"all-reduce-start", ", replica_groups={}, to_apply=sum", false, 8},
    {"all-reduce-done", "", false, 21},
    {"collective-permute-start", ", source_target_pairs={{0,0}}", false, 5},
    {"collective-permute-done", "", false, 12},
    {"collective-permute", ", source_target_pairs={{0,0}}", false, 6},
    {"collective-broadcast", ", replica_groups={}", false, 6},
    {"collective-reduce", ", replica_groups={}, to_apply=sum", false, 6},
    {"all-reduce", ", replica_groups={}, to_apply=sum", false, 6},
    {"all-gather", ", replica_groups={}, dimensions={0}", false, 6},
    {"reduce-scatter", ", replica_groups={}, dimensions={0}, to_apply=sum", false, 7},
    {"all-to-all", ", replica_groups={}, dimensions={0}", false, 5},
    {"custom-call", ", custom_call_target=\"nobody\"", false, 400},
    {"fusion", ", kind=kLoop, calls=same", false, 1},
    {"convert", "", false, 7},
    {"bitcast-convert", "", false, 7},
    {"bitcast", "", false, 11},
    {"reshape", "", false, 7},
    {"opt-barrier", "", false, 20},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* The result of a start may be the operand of a done. `rest` is the start's text behind its operand. */
static const struct {
  const char *start, *rest, *done;
} pairs[] = {
    {"async-start", "), calls=same", "async-done(s)"},
    {"copy-start", ")", "copy-done(s)"},
    {"all-gather-start", "), replica_groups={}, dimensions={0}", "all-gather-done(s)"},
    {"all-reduce-start", "), replica_groups={}, to_apply=sum", "all-reduce-done(s)"},
    {"collective-permute-start", "), source_target_pairs={{0,0}}", "collective-permute-done(s)"},
    {"recv", "), channel_id=1, is_host_transfer=true",
     "recv-done(s), channel_id=1, is_host_transfer=true"},
    {"send", ", after), channel_id=1, is_host_transfer=true",
     "send-done(s), channel_id=1, is_host_transfer=true"},
};

/* ---- Modules ---- */

/* Instructions that make a value of the shape at *at, which is moved behind it. The value's name is "v" and the number
 * that is returned. */
static int declared_value(halo_strbuf *out, const char **at, int *parameters, int *count) {
  if (**at == '(') {
    halo_strbuf parts = {0};
    const char *start = *at;
    for (++*at; **at != ')';) {
      int part = declared_value(out, at, parameters, count);
      halo_strbuf_printf(&parts, "%sv%d", parts.length ? ", " : "", part);
      *at += strspn(*at, ", ");
    }
    ++*at;
    halo_strbuf_printf(out, "  v%d = %.*s tuple(%s)\n", *count, (int)(*at - start), start,
                       halo_strbuf_text(&parts));
    halo_strbuf_deinit(&parts);
  } else {
    int length = (int)strcspn(*at, "]") + 1;
    bool token = strncmp(*at, "token", 5) == 0;
    halo_strbuf_printf(out, "  v%d = %.*s ", *count, length, *at);
    if (token) {
      halo_strbuf_append(out, "after-all()\n");
    } else {
      halo_strbuf_printf(out, "parameter(%d)\n", (*parameters)++);
    }
    *at += length;
  }
  return (*count)++;
}

/* Begins a module whose entry has a value of the shape and a token; returns the value's number. */
static int declared_begin(halo_strbuf *out, const char *shape, int replicas) {
  halo_strbuf_printf(out,
                     "HloModule m, replica_count=%d\n"
                     "same {\n  ROOT x = f32[2,3] parameter(0)\n}\n"
                     "sum {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                     "  ROOT z = f32[] add(x, y)\n}\n"
                     "ENTRY e {\n  after = token[] after-all()\n",
                     replicas);
  int parameters = 0, count = 0;
  return declared_value(out, &shape, &parameters, &count);
}

/* Whether the module is read. Then it is compiled too, which may be refused. */
static bool declared_try(halo_client *client, const char *text) {
  halo_module *module;
  halo_status status = halo_module_parse(text, strlen(text), "t", &module);
  ck_assert_msg(status == HALO_OK || status == HALO_INVALID_ARGUMENT, "%s: %s\n%s",
                halo_status_name(status), halo_error_message(), text);
  if (status != HALO_OK) return false;
  halo_executable *executable;
  status = halo_client_compile(client, module, NULL, &executable);
  ck_assert_msg(status != HALO_INTERNAL, "%s\n%s", status ? halo_error_message() : "", text);
  if (status == HALO_OK) halo_executable_release(executable);
  halo_module_release(module);
  return true;
}

START_TEST(one_operation) {
  const declared_case *c = &cases[_i];
  halo_client *client = run_client(DEVICE "," DEVICE);
  int accepted = 0;
  for (int replicas = 1; replicas <= 2; replicas++) {
    for (int from = 0; from < SHAPES; from++) {
      for (int to = 0; to < SHAPES; to++) {
        halo_strbuf text = {0};
        int value = declared_begin(&text, shapes[from], replicas);
        halo_strbuf_printf(&text, "  ROOT r = %s %s(v%d%s)%s\n}\n", shapes[to], c->op, value,
                           c->token ? ", after" : "", c->attrs);
        accepted += declared_try(client, halo_strbuf_text(&text));
        halo_strbuf_deinit(&text);
      }
    }
  }
  halo_client_release(client);
  ck_assert_msg(accepted == 2 * c->accepted, "%s%s: %d of the pairs are accepted, not %d", c->op,
                c->attrs, accepted / 2, c->accepted);
}
END_TEST

START_TEST(one_pair) {
  halo_client *client = run_client(DEVICE "," DEVICE);
  for (int replicas = 1; replicas <= 2; replicas++) {
    for (int from = 0; from < SHAPES; from++) {
      for (int between = 0; between < SHAPES; between++) {
        for (int to = 0; to < SHAPES; to++) {
          halo_strbuf text = {0};
          int value = declared_begin(&text, shapes[from], replicas);
          halo_strbuf_printf(&text, "  s = %s %s(v%d%s\n  ROOT r = %s %s\n}\n", shapes[between],
                             pairs[_i].start, value, pairs[_i].rest, shapes[to], pairs[_i].done);
          declared_try(client, halo_strbuf_text(&text));
          halo_strbuf_deinit(&text);
        }
      }
    }
  }
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("declared");
  TCase *tcase = tcase_create("declared");
  tcase_set_timeout(tcase, 300);
  tcase_add_loop_test(tcase, one_operation, 0, CASES);
  tcase_add_loop_test(tcase, one_pair, 0, sizeof pairs / sizeof pairs[0]);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
