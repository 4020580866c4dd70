/* SPDX-License-Identifier: Apache-2.0 */
/* test_prices.c: the table of prices, and the file in which a device's own are stored. */
#include "prices/prices.h"

#include "hlo/target.h"
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

/* Files of versions before the table. */
START_TEST(older_files_are_read) {
  halo_prices p = halo_prices_cpu;
  bool set[HALO_PRICE_COUNT] = {false};
  ck_assert(halo_prices_parse(
      "launch = 1.5e-05\nbandwidth = 2.5e+10\nrate = 7e9\nitem_rate = 3e9\n", &p, set));
  ck_assert(p.launch == 1.5e-5 && p.bandwidth == 2.5e10 && p.rate == 7e9 && p.item_rate == 3e9);
  ck_assert(p.dot_pack_a == halo_prices_cpu.dot_pack_a && set[halo_price_find("launch")] &&
            !set[halo_price_find("dot_pack_a")]);
}
END_TEST

START_TEST(newer_files_are_read) {
  halo_prices p = halo_prices_gpu;
  bool set[HALO_PRICE_COUNT] = {false};
  ck_assert(halo_prices_parse("\n  latency_of_tomorrow = 4\r\nproduct_tile = 1.75", &p, set));
  ck_assert(p.product_tile == 1.75 && p.launch == halo_prices_gpu.launch);
}
END_TEST

START_TEST(wrong_files_are_left_alone) {
  static const char *const texts[] = {"product_tile",          "product_tile = ",
                                      "product_tile = x",      "product_tile = 0",
                                      "product_tile = -1",     "product_tile = nan",
                                      "product_tile = 1e999",  "product_tile = 2 3",
                                      "rate = 1\nProduct = 2", "\x80\xff"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    halo_prices p = halo_prices_cpu;
    bool set[HALO_PRICE_COUNT] = {false};
    ck_assert_msg(!halo_prices_parse(texts[i], &p, set), "read: %s", texts[i]);
    ck_assert(memcmp(&p, &halo_prices_cpu, sizeof p) == 0);
    for (int row = 0; row < HALO_PRICE_COUNT; row++) ck_assert(!set[row]);
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
  tcase_add_test(c, older_files_are_read);
  tcase_add_test(c, newer_files_are_read);
  tcase_add_test(c, wrong_files_are_left_alone);
  tcase_add_test(c, gpus_have_defaults_of_their_own);
  tcase_add_test(c, work_items_count);
  suite_add_tcase(suite, c);
  return suite_run(suite);
}
