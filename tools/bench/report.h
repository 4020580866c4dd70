/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: a page of plots and tables of results. */
#ifndef HALO_TOOLS_BENCH_REPORT_H
#define HALO_TOOLS_BENCH_REPORT_H

/* `halo bench report`: argv[0] is "report". */
int bench_report(int argc, char **argv);
/* The page before and behind the results: tools/bench/report.html. */
extern const char bench_page_before[], bench_page_behind[];

#endif
