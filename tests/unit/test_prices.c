/* SPDX-License-Identifier: Apache-2.0 */
/* test_prices.c: the table of prices, and the file in which a device's own are stored. */
#include "prices/prices.h"

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

int main(void) {
  Suite *suite = suite_create("prices");
  TCase *c = tcase_create("prices");
  tcase_add_test(c, rows_are_whole);
  tcase_add_test(c, older_files_are_read);
  tcase_add_test(c, newer_files_are_read);
  tcase_add_test(c, wrong_files_are_left_alone);
  suite_add_tcase(suite, c);
  return suite_run(suite);
}
