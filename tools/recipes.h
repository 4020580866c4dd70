/* SPDX-License-Identifier: Apache-2.0 */
/* tools/recipes.h: values that are made up: zeros, ones, numbers in order, random ones. */
#ifndef HALO_TOOLS_RECIPES_H
#define HALO_TOOLS_RECIPES_H

#include "halo/literal.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum recipe_kind {
  RECIPE_ZEROS,
  RECIPE_ONES,
  RECIPE_IOTA,
  RECIPE_RANDOM,
  RECIPE_NORMAL
} recipe_kind;

typedef struct recipe_values {
  recipe_kind kind;
  bool ranged; /* RANDOM: low and high were given */
  double low, high;
} recipe_values;

/* Reads "zeros", "random:-2:2", ...; false when the text is none of them. */
bool recipe_parse(const char *text, recipe_values *recipe);
/* Writes every element, and returns what they are, for people, which the caller frees. Random numbers depend on the
 * seed and on the input's place among the program's, so that giving one input leaves the others as they were. */
char *recipe_fill(recipe_values recipe, halo_literal *value, int place, uint64_t seed);

#endif
