/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_json.c: JSON as it is written, exactly, and as Python's parser reads it; graphs of modules with awkward names. */
#include "suite.h"

#include "base/json.h"
#include "halo/builder.h"
#include "halo/passes.h"
#include "hlo/hlo.h"

#include <math.h>
#include <unistd.h>

/* Quotes, backslashes, controls, DEL, characters of two, three and four bytes, what would end a script in a page. */
#define AWKWARD "a\"b\\c\n\t\x01\x1f\x7f \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 </script>"
/* No UTF-8: a lone byte, an overlong slash, half of a surrogate pair, beyond the last character, a character cut off. */
#define BROKEN "\xff|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82"

static void json_write(FILE *file) {
  halo_json_writer json = {.file = file};
  halo_json_object(&json, NULL);
  halo_json_text(&json, AWKWARD, AWKWARD);
  halo_json_text(&json, "broken", BROKEN);
  halo_json_text(&json, "", "");
  halo_json_array(&json, "rows");
  halo_json_object(&json, NULL);
  halo_json_integer(&json, "least", INT64_MIN);
  halo_json_number(&json, "third", 1.0 / 3);
  halo_json_number(&json, "infinity", (double)INFINITY);
  halo_json_number(&json, "nan", (double)NAN);
  halo_json_close(&json);
  halo_json_object(&json, NULL);
  halo_json_bool(&json, "yes", true);
  halo_json_array(&json, "none");
  halo_json_close(&json);
  halo_json_close(&json);
  halo_json_number(&json, NULL, -0.0);
  halo_json_number(&json, NULL, 1e300);
  halo_json_close(&json);
  halo_json_bool(&json, "no", false);
  halo_json_close(&json);
}

/* The text, to be freed. */
static char *json_document(void) {
  char *text = NULL;
  size_t size;
  FILE *file = open_memstream(&text, &size);
  ck_assert_ptr_nonnull(file);
  json_write(file);
  ck_assert_int_eq(fclose(file), 0);
  return text;
}

START_TEST(json_is_written) {
  char *text = json_document();
  static const char escaped[] =
      "\"a\\\"b\\\\c\\u000a\\u0009\\u0001\\u001f\x7f \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 "
      "</script>\"";
  char *expected = malloc(4096);
  snprintf(expected, 4096,
           "{%s: %s, \"broken\": \"\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|"
           "\\ufffd\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\", \"\": \"\", \"rows\": [\n"
           "  {\"least\": -9223372036854775808, \"third\": 0.333333333333, \"infinity\": null, "
           "\"nan\": null},\n"
           "  {\"yes\": true, \"none\": []}, -0, 1e+300\n], \"no\": false}\n",
           escaped, escaped);
  ck_assert_str_eq(text, expected);
  free(expected);
  free(text);
}
END_TEST

/* Python's parser, which is strict, gives back what was written. */
START_TEST(json_is_parsed_by_python) {
  static const char reader[] =
      "import json, sys\n"
      "def no(name): raise ValueError(name)\n"
      "d = json.loads(sys.stdin.buffer.read().decode('utf-8'), parse_constant=no)\n"
      "name = 'a\"b\\\\c\\n\\t\\x01\\x1f\\x7f \\u00e9\\u20ac\\U0001f600 </script>'\n"
      "assert d == {name: name, 'broken': '|'.join('\\ufffd' * n for n in (1, 2, 3, 4, 2)), '': "
      "'',\n"
      "  'rows': [{'least': -2**63, 'third': 0.333333333333, 'infinity': None, 'nan': None},\n"
      "           {'yes': True, 'none': []}, 0, 1e300], 'no': False}, ascii(d)\n";
  if (system("python3 -c pass 2>/dev/null") != 0) {
    puts("skipped json_is_parsed_by_python: there is no python3");
    return;
  }
  ck_assert_int_eq(setenv("READER", reader, 1), 0);
  FILE *python = popen("python3 -c \"$READER\"", "w");
  ck_assert_ptr_nonnull(python);
  char *text = json_document();
  fputs(text, python);
  ck_assert_int_eq(pclose(python), 0);
  free(text);
}
END_TEST

/* A module of two instructions with this name, to be released. */
static halo_module *json_module(char *name) {
  halo_builder *b = halo_builder_create("awkward");
  halo_shape *shape;
  halo_module *module;
  ck_assert_int_eq(halo_shape_create_array(HALO_F32, 1, (int64_t[]){4}, &shape), HALO_OK);
  halo_op root = halo_neg(halo_parameter(b, 0, shape, "x"));
  ck_assert_msg(halo_builder_build(b, root, &module) == HALO_OK, "%s", halo_error_message());
  halo_builder_release(b);
  halo_shape_release(shape);
  module->name = name; /* as no reader would leave it */
  return module;
}

START_TEST(names_are_escaped_in_graphs) {
  char name[] = AWKWARD BROKEN;
  halo_module *module = json_module(name);
  char *json, *dot;
  ck_assert_int_eq(halo_module_to_graph(module, HALO_GRAPH_JSON, &json), HALO_OK);
  ck_assert_int_eq(halo_module_to_graph(module, HALO_GRAPH_DOT, &dot), HALO_OK);
  ck_assert_msg(strstr(json, "\"a\\\"b\\\\c\\u000a\\u0009\\u0001\\u001f\x7f ") != NULL, "%s", json);
  ck_assert_msg(strstr(json, "\\ufffd|\\ufffd\\ufffd|") != NULL, "%s", json);
  ck_assert_ptr_nonnull(
      strstr(json, "\"op\": \"negate\", \"shape\": \"f32[4]\", \"in\": [0], \"calls\": []"));
  ck_assert_msg(strstr(dot, "digraph \"a\\\"b\\\\c\\n\x7f \xc3\xa9") != NULL, "%s", dot);
  ck_assert_msg(strstr(dot, "\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|") != NULL, "%s", dot);
  for (const char *at = dot; *at; at += halo_utf8_character(at)) {
    ck_assert_uint_gt(halo_utf8_character(at), 0);
  }
  halo_text_release(json);
  halo_text_release(dot);
  halo_module_release(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("json");
  TCase *tests = tcase_create("json");
  tcase_add_test(tests, json_is_written);
  tcase_add_test(tests, json_is_parsed_by_python);
  tcase_add_test(tests, names_are_escaped_in_graphs);
  tcase_set_timeout(tests, 60);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
