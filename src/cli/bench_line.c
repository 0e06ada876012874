/*
 * bench_line.c - a line of rowscan bench
 * SPDX-License-Identifier: MIT
 */
#include "bench_line.h"

#include <stdio.h>
#include <string.h>

void bench_line_name(bench_line *line, const bench_cell *cell, unsigned variant, bool targets) {
  *line = (bench_line){.cell = *cell, .variant = cell_variant(variant), .group = cell_group_name(cell->group)};
  cell_shape(line->shape, cell);
  cell_type(line->type, cell);
  snprintf(line->label, sizeof line->label, "%s: %s %s %s", line->group, line->shape, line->variant, line->type);
  if (targets)
    line->target = cell_target_of(cell, variant);
}

void bench_line_judge(bench_line *line, double peak_gbs) {
  const rowscan_timing *timing = &line->timing;
  bool timed = timing->scan_ms > 0;
  line->gbs = timed ? 1e-6 * (double)timing->bytes / timing->scan_ms : 0;
  line->peak = peak_gbs > 0 ? 100 * line->gbs / peak_gbs : 0;
  line->ratio = timed ? timing->copy_ms / timing->scan_ms : 0;
  line->kernel = timed ? timing->kernel_ms / timing->scan_ms : 0;
  line->of_kernel = line->target.kernel && timing->kernel_ms > 0;
  line->score = (line->of_kernel ? line->kernel : line->ratio) / (line->target.ratio > 0 ? line->target.ratio : 1);
}

bool bench_line_reached(const bench_line *line) {
  return line->target.ratio <= 0 || line->score >= 1;
}

static const char *regime_of(const bench_line *line) {
  return line->timing.regime ? rowscan_regime_name(line->timing.regime) : "";
}

/* What is not there is told as nothing, in tables and in CSV. */
static void fixed(char text[16], int digits, double value) {
  *text = 0;
  if (value > 0)
    snprintf(text, 16, "%.*f", digits, value);
}
static void exact(char text[16], double value) {
  *text = 0;
  if (value > 0)
    snprintf(text, 16, "%.6g", value);
}

static const char *reached_word(const bench_line *line) {
  return line->target.ratio <= 0 ? "" : bench_line_reached(line) ? "yes" : "NO";
}

static const char *yardstick(const bench_line *line) {
  return line->of_kernel ? "copy kernel" : "memcpy";
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

void bench_line_head(void) {
  printf("%-29s %-9s %-11s %-6s %9s %8s %6s %7s %7s %7s %-3s %6s  %s\n", "shape", "variant", "type", "regime", "ms",
         "GB/s", "peak%", "memcpy", "kernel", "target", "met", "wrong", "geometry");
}

void bench_line_print(const bench_line *line) {
  char peak[16], kernel[16], target[16];
  fixed(peak, 1, line->peak);
  fixed(kernel, 3, line->kernel);
  fixed(target, 2, line->target.ratio);
  printf("%-29s %-9s %-11s %-6s %9.4f %8.1f %6s %7.3f %7s %1s%6s %-3s %6lld  %s\n", line->shape, line->variant,
         line->type, regime_of(line), line->timing.scan_ms, line->gbs, peak, line->ratio, kernel,
         line->of_kernel ? "k" : "", target, reached_word(line), (long long)line->timing.wrong, line->timing.geometry);
  fflush(stdout);
}

void bench_line_print_worst(const bench_line *line) {
  printf("worst: %s %s %s, %.3f of %s", line->shape, line->variant, line->type,
         line->of_kernel ? line->kernel : line->ratio, yardstick(line));
  if (line->target.ratio > 0)
    printf(", target %.2f", line->target.ratio);
  printf("\n");
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

size_t bench_line_csv(char text[BENCH_CSV_MAX], const char *suite, const bench_line *line) {
  if (!line)
    return (size_t)snprintf(
        text, BENCH_CSV_MAX, "%s\n",
        "suite,group,shape,view,outer,length,inner,variant,type,regime,geometry,scan_ms,copy_ms,kernel_ms,"
        "bytes,gbs,peak_percent,ratio,kernel_ratio,target,yardstick,reached,replayed,checked,wrong");
  const rowscan_timing *timing = &line->timing;
  char kernel_ms[16], peak[16], kernel[16], target[16];
  exact(kernel_ms, timing->kernel_ms);
  exact(peak, line->peak);
  exact(kernel, line->kernel);
  fixed(target, 2, line->target.ratio);
  int length =
      snprintf(text, BENCH_CSV_MAX,
               "%s,%s,%s,%s,%lld,%lld,%lld,%s,%s,%s,%s,%.6g,%.6g,%s,%lld,%.6g,%s,%.6g,%s,%s,%s,%s,%d,%lld,%lld\n",
               suite, line->group, line->shape, cell_view_name(line->cell.view), (long long)line->cell.outer,
               (long long)line->cell.length, (long long)line->cell.inner, line->variant, line->type, regime_of(line),
               timing->geometry, timing->scan_ms, timing->copy_ms, kernel_ms, (long long)timing->bytes, line->gbs, peak,
               line->ratio, kernel, target, yardstick(line), reached_word(line), timing->replayed,
               (long long)timing->checked, (long long)timing->wrong);
  return (size_t)(length < BENCH_CSV_MAX ? length : BENCH_CSV_MAX - 1);
}
