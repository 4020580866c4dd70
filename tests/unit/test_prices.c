/* SPDX-License-Identifier: Apache-2.0 */
/* test_prices.c: the tables of prices and parameters, and the lines in which a device's own are stored. */
#include "prices/tuning.h"

#include "hlo/target.h"
#include "run_test.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

START_TEST(rows_are_whole) {
  halo_prices cpu = halo_prices_cpu, gpu = halo_prices_gpu;
  for (int row = 0; row < HALO_PRICE_COUNT; row++) {
    const halo_price_row *r = &halo_price_rows[row];
    ck_assert_msg(halo_price_find(r->name) == row, "two rows are called %s", r->name);
    ck_assert_msg(*halo_price_of(&cpu, row) == r->cpu && *halo_price_of(&gpu, row) == r->gpu,
                  "%s: the defaults are not the row's", r->name);
    ck_assert_msg(r->cpu > 0 && r->gpu >= 0, "%s: prices are positive", r->name);
    ck_assert_msg(strlen(r->meaning) > 5, "%s: says little", r->name);
    int year, month, day, end = 0;
    ck_assert_msg(sscanf(r->date, "%4d-%2d-%2d%n", &year, &month, &day, &end) == 3 && end == 10 &&
                      r->date[end] == '\0',
                  "%s: the date is %s", r->name, r->date);
    ck_assert(*halo_price_unit_name(r->unit) && *halo_price_origin_name(r->origin));
  }
  ck_assert(halo_price_find("nothing") < 0);
}
END_TEST

static halo_tuning prices_gpu(void) {
  return (halo_tuning){.prices = halo_prices_gpu, .parameters = halo_parameters_gpu};
}

START_TEST(parameters_are_whole) {
  halo_parameters cpu = halo_parameters_cpu, gpu = halo_parameters_gpu;
  for (int row = 0; row < HALO_PARAMETER_COUNT; row++) {
    const halo_parameter_row *r = &halo_parameter_rows[row];
    ck_assert_msg(halo_parameter_find(r->name) == row, "two rows are called %s", r->name);
    ck_assert_msg(halo_price_find(r->name) < 0, "%s is a price too", r->name);
    ck_assert(*halo_parameter_of(&cpu, row) == r->cpu && *halo_parameter_of(&gpu, row) == r->gpu);
    bool has_cpu = false, has_gpu = false;
    for (int i = 0; i < r->value_count; i++) {
      ck_assert_msg(i == 0 || r->values[i] > r->values[i - 1], "%s: values ascend", r->name);
      has_cpu |= r->values[i] == r->cpu;
      has_gpu |= r->values[i] == r->gpu;
    }
    ck_assert_msg(has_cpu && has_gpu && r->value_count > 1, "%s: defaults are values", r->name);
    ck_assert_msg(strchr(r->implementation, ':') && strlen(r->meaning) > 5, "%s", r->name);
  }
  ck_assert(halo_parameter_find("nothing") < 0);
}
END_TEST

START_TEST(tuning_is_read_and_printed) {
  halo_tuning t = prices_gpu(), again = prices_gpu();
  ck_ok(halo_tuning_parse("# by hand\nlaunch = 1.5e-05\r\n\n sort_merge_group=64,rate = 7e9", &t));
  ck_assert(t.prices.launch == 1.5e-5 && t.prices.rate == 7e9 &&
            t.parameters.sort_merge_group == 64);
  ck_assert(t.has_price[halo_price_find("launch")] && !t.has_price[halo_price_find("bandwidth")]);
  ck_assert(t.has_parameter[halo_parameter_find("sort_merge_group")]);
  ck_assert(t.prices.bandwidth == halo_prices_gpu.bandwidth);
  halo_strbuf text = {0};
  halo_tuning_print(&t, &text);
  ck_assert_str_eq(halo_strbuf_text(&text),
                   "launch = 1.5e-05\nrate = 7e+09\nsort_merge_group = 64\n");
  ck_ok(halo_tuning_parse(halo_strbuf_text(&text), &again));
  halo_strbuf_deinit(&text);
  char hash[17], other[17];
  halo_tuning_hash(&t, hash);
  halo_tuning_hash(&again, other);
  ck_assert_str_eq(hash, other);
  ck_ok(halo_tuning_parse("sort_merge_group=128", &again)); /* said, though it is the default */
  halo_tuning_hash(&again, other);
  ck_assert(strlen(hash) == 16 && strcmp(hash, other) != 0);
  t = prices_gpu();
  halo_tuning_hash(&t, hash);
  ck_assert_str_eq(hash, "");
}
END_TEST

START_TEST(wrong_tuning_is_refused) {
  static const char *const texts[][2] = {{"product_tile", "NAME = NUMBER"},
                                         {"product_tile = ", "NAME = NUMBER"},
                                         {"product_tile = x", "positive number"},
                                         {"product_tile = 0", "positive number"},
                                         {"product_tile = -1", "positive number"},
                                         {"product_tile = nan", "positive number"},
                                         {"product_tile = 1e999", "positive number"},
                                         {"product_tile = 2 3", "NAME = NUMBER"},
                                         {"rate = 1\nProduct = 2", "NAME = NUMBER"},
                                         {"rate = 1,nothing = 2", "no price or parameter"},
                                         {"sort_merge_group = 63", "may be one of"},
                                         {"sort_merge_group = 64.5", "may be one of"},
                                         {"\x80\xff", "NAME = NUMBER"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    halo_tuning t = prices_gpu(), before = t;
    ck_fails(halo_tuning_parse(texts[i][0], &t), HALO_INVALID_ARGUMENT, texts[i][1]);
    ck_assert(memcmp(&t, &before, sizeof t) == 0);
  }
}
END_TEST

/* Figures that vendors publish of their cards: peak rate without matrix units (additions and multiplications counted as one), and
 * bandwidth. */
START_TEST(gpus_have_defaults_of_their_own) {
  static const struct {
    const char *name;
    double units, lanes, mhz, gigabytes, rate, bandwidth;
  } cards[] = {
      {"A100", 108, 128, 1410, 42.9, 9.7e12, 1.555e12}, /* half the lanes of other NVIDIA units */
      {"H100", 132, 128, 1980, 85.9, 33.5e12, 3.35e12},
      {"RTX 3060", 28, 128, 1777, 12.9, 6.4e12, 0.36e12},
      {"RTX 3090", 82, 128, 1695, 25.8, 17.8e12, 0.936e12},
      {"RTX 4060", 24, 128, 2460, 8.6, 7.5e12, 0.272e12},
      {"RTX 4090", 128, 128, 2520, 25.8, 41.3e12, 1.008e12},
      {"RTX 5090", 170, 128, 2407, 34.4, 52.4e12, 1.792e12},
      {"MI210", 104, 64, 1700, 68.7, 11.3e12, 1.638e12},
      {"MI300X", 304, 64, 2100, 206.2, 40.9e12, 5.3e12},
      {"RX 6700 XT", 20, 128, 2581, 12.9, 6.6e12, 0.384e12},
      {"RX 7900 XTX", 48, 128, 2500, 25.8, 15.4e12, 0.96e12},
      {"Arc A770", 512, 8, 2100, 17.2, 8.6e12, 0.56e12},
  };
  const double within = 2.1;
  for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
    halo_prices_gpu_facts facts = {cards[i].units, cards[i].lanes, cards[i].mhz * 1e6,
                                   cards[i].gigabytes * 1e9};
    halo_prices p = halo_prices_of_gpu(&facts);
    double rate = p.rate / cards[i].rate, bandwidth = p.bandwidth / cards[i].bandwidth;
    ck_assert_msg(rate < within && rate > 1 / within, "%s: rate %g", cards[i].name, rate);
    ck_assert_msg(bandwidth < within && bandwidth > 1 / within, "%s: bandwidth %g", cards[i].name,
                  bandwidth);
    ck_assert(p.launch == halo_prices_gpu.launch && p.item_rate < p.rate);
  }
  halo_prices_gpu_facts unknown = {0};
  halo_prices p = halo_prices_of_gpu(&unknown);
  ck_assert(memcmp(&p, &halo_prices_gpu, sizeof p) == 0);
  /* A driver that does not know the clock may say 1 MHz. */
  halo_prices_gpu_facts no_clock = {4, 32, 1e6, 8e9}, usual = {4, 32, 1.5e9, 8e9};
  p = halo_prices_of_gpu(&no_clock);
  halo_prices q = halo_prices_of_gpu(&usual);
  ck_assert(p.rate == q.rate && p.item_rate == q.item_rate && p.bandwidth == q.bandwidth);
}
END_TEST

/* Few work items are slow, more are faster, and many as fast as the device. */
START_TEST(work_items_count) {
  halo_target gpu = halo_target_gpu(), cpu = halo_target_cpu();
  const halo_prices *p = &gpu.prices;
  ck_assert(halo_target_operations(&gpu, p->item_rate, 1) == 1);
  ck_assert(halo_target_operations(&gpu, p->item_rate, 0.5) == 1);
  ck_assert(halo_target_operations(&gpu, p->item_rate, 4) == 0.25);
  ck_assert(halo_target_operations(&gpu, p->rate, 1e9) == 1);
  ck_assert(halo_target_bytes(&gpu, p->item_bandwidth, 2) == 0.5);
  ck_assert(halo_target_bytes(&gpu, p->bandwidth, 1e9) == 1);
  ck_assert(halo_target_operations(&cpu, cpu.prices.rate, 1) ==
            1); /* results do not depend on cores */
}
END_TEST

int main(void) {
  Suite *suite = suite_create("prices");
  TCase *c = tcase_create("prices");
  tcase_add_test(c, rows_are_whole);
  tcase_add_test(c, parameters_are_whole);
  tcase_add_test(c, tuning_is_read_and_printed);
  tcase_add_test(c, wrong_tuning_is_refused);
  tcase_add_test(c, gpus_have_defaults_of_their_own);
  tcase_add_test(c, work_items_count);
  suite_add_tcase(suite, c);
  return suite_run(suite);
}
