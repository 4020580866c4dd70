/* SPDX-License-Identifier: Apache-2.0 */
/* tools/recipes.c: values that are made up: zeros, ones, numbers in order, random ones. */
#include "recipes.h"

#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t recipe_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* In [0, 1). */
static double recipe_uniform(uint64_t *state) {
  return (double)(recipe_random(state) >> 11) * 0x1p-53;
}

static double recipe_normal(uint64_t *state) {
  double u = 1 - recipe_uniform(state);
  return sqrt(-2 * log(u)) * cos(2 * M_PI * recipe_uniform(state));
}

static const char *const recipe_names[] = {"zeros", "ones", "iota", "random", "normal"};
enum { RECIPE_KINDS = sizeof recipe_names / sizeof *recipe_names };

/* One element; `whole`: the type has no fractions. */
static double recipe_draw(const recipe_values *recipe, bool whole, uint64_t *state) {
  if (recipe->kind == RECIPE_NORMAL) return recipe_normal(state);
  double value = recipe->low + (recipe->high - recipe->low) * recipe_uniform(state);
  return whole ? floor(value) : value;
}

static char *recipe_describe(const recipe_values *recipe, bool whole, halo_type type) {
  if (recipe->kind < RECIPE_RANDOM) return tool_strdup(recipe_names[recipe->kind]);
  if (recipe->kind == RECIPE_NORMAL) return tool_strdup("random, normal (mean 0, deviation 1)");
  if (type == HALO_PRED) return tool_strdup("random true and false");
  if (whole) return tool_printf("random, %g to %g", recipe->low, recipe->high - 1);
  return tool_printf("random in [%g, %g)", recipe->low, recipe->high);
}

bool recipe_parse(const char *text, recipe_values *recipe) {
  *recipe = (recipe_values){0};
  for (int k = 0; k < RECIPE_KINDS; k++) {
    recipe->kind = (recipe_kind)k;
    if (strcmp(text, recipe_names[k]) == 0) return true;
  }
  int used = 0;
  recipe->kind = RECIPE_RANDOM;
  recipe->ranged = true;
  return sscanf(text, "random:%lf:%lf%n", &recipe->low, &recipe->high, &used) == 2 && !text[used] &&
         isfinite(recipe->low) && isfinite(recipe->high) && recipe->low < recipe->high;
}

char *recipe_fill(recipe_values recipe, halo_literal *value, int place, uint64_t seed) {
  const halo_shape *shape = halo_literal_shape(value);
  halo_type type = halo_shape_type(shape);
  bool whole = strchr("sup", halo_type_name(type)[0]) != NULL;
  bool is_complex = type == HALO_C64 || type == HALO_C128;
  if (recipe.kind == RECIPE_RANDOM && !recipe.ranged) {
    /* Whole numbers that are fit for indices, and that the narrow types hold. */
    int bits = halo_type_bits(type) - (halo_type_name(type)[0] == 's');
    recipe.low = whole ? 0 : -1;
    recipe.high = !whole ? 1 : bits < 4 ? 1 << bits : 10;
    if (type == HALO_S1) recipe.low = -1;
    if (type == HALO_F8E8M0FNU) recipe.low = 0.25; /* has no zero and no sign */
  }
  uint64_t state = seed * 0x2545f4914f6cdd1du + (uint64_t)place;
  state = recipe_random(&state);
  for (int64_t i = 0; i < halo_shape_element_count(shape) && recipe.kind != RECIPE_ZEROS; i++) {
    if (recipe.kind <= RECIPE_IOTA) {
      halo_literal_set_i64(value, i,
                           recipe.kind == RECIPE_ONES ? 1
                           : type == HALO_PRED        ? i % 2
                                                      : i);
    } else {
      double re = recipe_draw(&recipe, whole, &state);
      double im = is_complex ? recipe_draw(&recipe, whole, &state) : 0;
      halo_literal_set_c128(value, i, re, im);
    }
  }
  return recipe_describe(&recipe, whole, type);
}
