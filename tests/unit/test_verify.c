/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_verify.c: the verifier: every rule of a module's structure, broken once. */
#include "hlo_make.h"
#include "suite.h"

/* main(f32[2], f32[2]) = add, with a called computation; sound until a case breaks it. */
typedef struct verify_fixture {
  halo_module *module;
  halo_computation *callee, *main;
  halo_instr *a, *b, *call, *sum;
} verify_fixture;

static halo_instr *make(halo_computation *computation, halo_opcode opcode, const char *name,
                        halo_instr *x, halo_instr *y, halo_computation *callee) {
  halo_instr *operands[] = {x, y}, *out;
  halo_attr attr = {.id = HALO_ATTR_TO_APPLY};
  if (callee) {
    attr.comps.data = halo_arena_copy(&computation->module->arena, &callee, sizeof callee);
    attr.comps.count = 1;
  }
  halo_instr_spec spec = {.opcode = opcode,
                          .name = name,
                          .operands = operands,
                          .operand_count = !x   ? 0
                                           : !y ? 1
                                                : 2,
                          .attrs = &attr,
                          .attr_count = callee ? 1 : 0,
                          .line = 12};
  ck_assert_msg(halo_instr_create(computation, &spec, &out) == HALO_OK, "%s", halo_error_message());
  return out;
}

static void set_entry(halo_module *module, halo_computation *entry) {
  module->entry = entry;
  module->entry_params = halo_arena_array(&module->arena, const halo_shape *, entry->params.count);
  for (int32_t i = 0; i < entry->params.count; i++) {
    module->entry_params[i] = entry->params.data[i]->shape;
  }
  module->entry_result = entry->root->shape;
}

static verify_fixture verify_setup(void) {
  verify_fixture f = {.module = halo_module_create("t")};
  f.callee = halo_computation_create(f.module, "callee");
  halo_instr *p = make_parameter(f.callee, 0, "f32[2]");
  f.callee->root = make(f.callee, HALO_OP_NEGATE, "neg", p, NULL, NULL);
  f.main = halo_computation_create(f.module, "main");
  f.a = make_parameter(f.main, 0, "f32[2]");
  f.b = make_parameter(f.main, 1, "f32[2]");
  f.call = make(f.main, HALO_OP_CALL, "call", f.a, NULL, f.callee);
  f.sum = make(f.main, HALO_OP_ADD, "sum", f.call, f.b, NULL);
  f.main->root = f.sum;
  set_entry(f.module, f.main);
  return f;
}

typedef void break_fn(verify_fixture *f);

static void break_nothing(verify_fixture *f) { (void)f; }
static void break_layout(verify_fixture *f) {
  f->module->entry_result = make_shape(&f->module->arena, "f32[<=2]");
}
static void break_shape(verify_fixture *f) {
  f->sum->shape = make_shape(&f->module->arena, "f32[3]");
}
static void break_no_shape(verify_fixture *f) { f->sum->shape = NULL; }
static void break_operand_types(verify_fixture *f) {
  f->b->shape = make_shape(&f->module->arena, "s32[2]");
  f->module->entry_params[1] = f->b->shape;
}
static void break_line(verify_fixture *f) {
  f->sum->line = 0;
  break_shape(f);
}
static void break_order(verify_fixture *f) {
  f->main->instrs.data[2] = f->sum;
  f->main->instrs.data[3] = f->call;
}
static void break_self(verify_fixture *f) { f->sum->operands[0] = f->sum; }
static void break_foreign(verify_fixture *f) { f->sum->operands[0] = f->callee->root; }
static void break_null_operand(verify_fixture *f) { f->sum->operands[1] = NULL; }
static void break_control(verify_fixture *f) {
  f->call->control_preds = halo_arena_copy(&f->module->arena, &f->sum, sizeof f->sum);
  f->call->control_pred_count = 1;
}
static void break_no_root(verify_fixture *f) { f->main->root = NULL; }
static void break_foreign_root(verify_fixture *f) { f->main->root = f->callee->root; }
static void break_unlisted_root(verify_fixture *f) { f->main->instrs.count--; }
static void break_callee_root(verify_fixture *f) { f->callee->root = NULL; }
static void break_name(verify_fixture *f) { f->call->name = "sum"; }
static void break_computation_name(verify_fixture *f) { f->callee->name = "main"; }
static void break_param_gap(verify_fixture *f) { f->main->params.data[1] = NULL; }
static void break_param_number(verify_fixture *f) { f->b->parameter_number = 0; }
static void break_param_extra(verify_fixture *f) { make_parameter(f->callee, 1, "f32[2]"); }
static void break_param_unlisted(verify_fixture *f) {
  f->callee->instrs.data[0] = f->callee->root;
  f->callee->instrs.count = 1;
  f->callee->root->operand_count = 0;
  f->callee->root->opcode = HALO_OP_REPLICA_ID;
  f->callee->root->shape = make_shape(&f->module->arena, "u32[]");
  f->call->shape = f->callee->root->shape;
}
static void break_parent(verify_fixture *f) { f->call->parent = f->callee; }
static void break_twice(verify_fixture *f) { halo_vec_push(&f->main->instrs, f->sum); }
static void break_id(verify_fixture *f) { f->sum->id = f->call->id; }
static void break_big_id(verify_fixture *f) { f->sum->id = f->module->next_id; }
static void break_opcode(verify_fixture *f) { f->sum->opcode = HALO_OPCODE_COUNT; }
static void break_recursion(verify_fixture *f) {
  halo_instr *call = make(f->callee, HALO_OP_CALL, "again", f->callee->root, NULL, f->callee);
  f->callee->root = call;
}
static void break_mutual(verify_fixture *f) {
  halo_computation *other = halo_computation_create(f->module, "other");
  halo_instr *p = make_parameter(other, 0, "f32[2]");
  other->root = make(other, HALO_OP_CALL, "back", p, NULL, f->callee);
  f->callee->root = make(f->callee, HALO_OP_CALL, "forth", f->callee->root, NULL, other);
}
static void break_membership(verify_fixture *f) {
  halo_module *module = f->module;
  module->computations.data[0] = module->computations.data[1];
  module->computations.count = 1;
  halo_vec_deinit(&f->callee->instrs);
  halo_vec_deinit(&f->callee->params);
}
static void break_entry(verify_fixture *f) { f->module->entry = NULL; }
static void break_entry_params(verify_fixture *f) {
  f->module->entry_params[1] = make_shape(&f->module->arena, "f32[3]");
}
static void break_entry_result(verify_fixture *f) {
  f->module->entry_result = make_shape(&f->module->arena, "f32[3]");
}
static void break_signature(verify_fixture *f) {
  f->callee->params.data[0]->shape = make_shape(&f->module->arena, "f32[3]");
  f->callee->root->shape = make_shape(&f->module->arena, "f32[3]");
}

static const struct {
  break_fn *change;
  const char *expect; /* NULL: stays sound */
} breaks[] = {
    {break_nothing, NULL},
    {break_layout, NULL},
    {break_shape, "sum in main, line 12: the shape f32[3] is not the inferred f32[2]"},
    {break_no_shape, "sum in main, line 12: the instruction has no shape"},
    {break_operand_types, "sum in main, line 12: add(f32[2], s32[2])"},
    {break_line, "sum in main: the shape"},
    {break_order, "operand 0 (call) is not defined earlier"},
    {break_self, "operand 0 (sum) is not defined earlier"},
    {break_foreign, "operand 0 (neg) is not defined earlier in the same computation"},
    {break_null_operand, "operand 1 is missing"},
    {break_control, "call in main, line 12: control predecessor 0"},
    {break_no_root, "main: the computation has no root"},
    {break_foreign_root, "the root does not belong to the computation main"},
    {break_unlisted_root, "the root does not belong"},
    {break_callee_root, "callee: the computation has no root"},
    {break_name, "sum in main, line 12: the name is used twice"},
    {break_computation_name, "main: two computations have this name"},
    {break_param_gap, "main: parameter 1 is missing"},
    {break_param_number, "is not parameter 1"},
    {break_param_extra, "the computation callee takes 2 parameters, but 1 is given"},
    {break_param_unlisted, "the parameter is not in the computation callee"},
    {break_parent, "is listed in main, too"},
    {break_twice, "is used twice"},
    {break_id, "is not unique"},
    {break_big_id, "is not unique"},
    {break_opcode, "is no opcode"},
    {break_recursion, "again in callee, line 12: computations must not call themselves"},
    {break_mutual, "computations must not call themselves"},
    {break_membership, "does not belong to the module"},
    {break_entry, "has no entry computation"},
    {break_entry_params, "the entry layout gives the parameter another shape"},
    {break_entry_result, "sum in main, line 12: the entry layout gives the result"},
    {break_signature, "call in main, line 12: call(f32[2]): operand 0 does not have the shape of"},
};

START_TEST(verify_breaks) {
  verify_fixture f = verify_setup();
  breaks[_i].change(&f);
  halo_status status = halo_module_verify(f.module);
  if (breaks[_i].expect) {
    ck_assert_int_eq(status, HALO_INVALID_ARGUMENT);
    ck_assert_msg(strstr(halo_error_message(), breaks[_i].expect) != NULL, "says '%s', not '%s'",
                  halo_error_message(), breaks[_i].expect);
  } else {
    ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  }
  halo_module_release(f.module);
}
END_TEST

START_TEST(verify_refuses_null) {
  ck_assert_int_eq(halo_module_verify(NULL), HALO_INVALID_ARGUMENT);
}
END_TEST

/* A chain of calls, and one of operands that is far deeper than a stack of frames could hold. */
static halo_module *deep_module(int calls, int operands) {
  halo_module *module = halo_module_create("deep");
  halo_computation *callee = NULL;
  for (int i = 0; i < calls; i++) {
    halo_computation *computation = halo_computation_create(module, "f");
    halo_instr *p = make_parameter(computation, 0, "f32[]");
    computation->root =
        make(computation, callee ? HALO_OP_CALL : HALO_OP_NEGATE, NULL, p, NULL, callee);
    callee = computation;
  }
  halo_computation *entry = halo_computation_create(module, "main");
  halo_instr *value = make_parameter(entry, 0, "f32[]");
  for (int i = 0; i < operands; i++) value = make(entry, HALO_OP_ADD, NULL, value, value, NULL);
  entry->root = make(entry, HALO_OP_CALL, NULL, value, NULL, callee);
  set_entry(module, entry);
  return module;
}

START_TEST(verify_deep_modules) {
  halo_module *module = deep_module(HALO_MAX_CALL_DEPTH, 200000);
  ck_assert_msg(halo_module_verify(module) == HALO_OK, "%s", halo_error_message());
  halo_module_release(module);
  /* Deeper calls are refused, however much deeper; whoever made the module. */
  for (int calls = HALO_MAX_CALL_DEPTH + 1; calls < 100000; calls *= 10) {
    module = deep_module(calls, 0);
    ck_assert_int_eq(halo_module_verify(module), HALO_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(
        strstr(halo_error_message(), "computations call each other more than 500 deep"));
    halo_module_release(module);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify");
  TCase *tc = tcase_create("verify");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, verify_breaks, 0, sizeof breaks / sizeof breaks[0]);
  tcase_add_test(tc, verify_refuses_null);
  tcase_add_test(tc, verify_deep_modules);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
