/*
 * bench.c - rowscan bench: scans against a copy of the same bytes
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "cells.h"
#include "commands.h"
#include "options.h"
#include "output.h"
#include "say.h"
#include "session.h"

enum { HOST_ELEMENTS = 1 << 24, CSV_LINE_MAX = 512 };

typedef struct bench_job {
  const char *suite, *filter, *csv_name;
  int repeat;
  cli_session session;
  rowscan_context *context;
  bool host;
  rowscan_device_info device;
  cli_output csv;
  int measured, skipped;
  double worst; /* ratio to the copy */
  char worst_cell[3 * CELL_TEXT_MAX];
} bench_job;

/* One line of the table. */
typedef struct bench_line {
  bench_cell cell;
  char shape[CELL_TEXT_MAX], type[CELL_TEXT_MAX];
  const char *variant;
  rowscan_timing timing;
  double gbs, ratio;
  char peak[16]; /* percent, "" if the peak is not known */
} bench_line;

static int read_options(bench_job *job, int argc, char **argv) {
  const cli_option options[] = {
      {"suite", 0, &kind_text, &job->suite, "quick or full (quick)"},
      {"filter", 0, &kind_text, &job->filter, "only cells with TEXT in their shape, variant and type"},
      {"csv", 0, &kind_file, &job->csv_name, "also write the table to FILE"},
      {"repeat", 0, &kind_natural, &job->repeat, "repetitions of each cell (0: as many as are sensible)"},
      SESSION_OPTIONS(job->session),
  };
  const cli_syntax syntax = {
      .name = "bench",
      .about = "Times scans of random numbers against a copy of as many bytes, interleaved in one run, and checks the\n"
               "results against the host engine; the worst cell is told last. Exit status 1 if a bit is wrong.",
      .options = options,
      .option_count = COUNT_OF(options),
  };
  int count, status = options_read(&syntax, argc, argv, NULL);
  if (status == OPTIONS_READ && !cells_of(job->suite, &count))
    return say_usage("--suite: '%s' is not one of quick, full", job->suite);
  return status;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void print_head(void) {
  printf("%-26s %-9s %-11s %-6s %9s %8s %6s %7s %6s  %s\n", "shape", "variant", "type", "regime", "ms", "GB/s", "peak%",
         "memcpy", "wrong", "geometry");
}

static void print_line(const bench_line *line) {
  printf("%-26s %-9s %-11s %-6s %9.4f %8.1f %6s %7.3f %6lld  %s\n", line->shape, line->variant, line->type,
         line->timing.regime ? rowscan_regime_name(line->timing.regime) : "", line->timing.scan_ms, line->gbs,
         line->peak, line->ratio, (long long)line->timing.wrong, line->timing.geometry);
  fflush(stdout);
}

static int open_csv(bench_job *job) {
  static const char head[] = "shape,outer,length,inner,variant,type,regime,geometry,scan_ms,copy_ms,bytes,gbs,"
                             "peak_percent,ratio,checked,wrong\n";
  if (!job->csv_name)
    return EXIT_OK;
  int status = output_open(&job->csv, job->csv_name);
  return status == EXIT_OK ? output_write(&job->csv, head, strlen(head)) : status;
}

static int write_csv(bench_job *job, const bench_line *line) {
  char text[CSV_LINE_MAX];
  const rowscan_timing *timing = &line->timing;
  if (!job->csv_name)
    return EXIT_OK;
  int length =
      snprintf(text, sizeof text, "%s,%lld,%lld,%lld,%s,%s,%s,%s,%.6g,%.6g,%lld,%.6g,%s,%.6g,%lld,%lld\n", line->shape,
               (long long)line->cell.outer, (long long)line->cell.length, (long long)line->cell.inner, line->variant,
               line->type, timing->regime ? rowscan_regime_name(timing->regime) : "", timing->geometry, timing->scan_ms,
               timing->copy_ms, (long long)timing->bytes, line->gbs, line->peak, line->ratio,
               (long long)timing->checked, (long long)timing->wrong);
  return output_write(&job->csv, text, (size_t)length);
}

/* ---- a cell ------------------------------------------------------------------------------------------------------ */

static void describe(bench_line *line, const bench_cell *cell, unsigned variant) {
  line->cell = *cell;
  line->variant = cell_variant(variant);
  cell_shape(line->shape, cell);
  cell_type(line->type, cell);
}

/* Is the text in "shape variant type"? */
static bool wanted(const bench_job *job, const bench_line *line) {
  char label[3 * CELL_TEXT_MAX];
  snprintf(label, sizeof label, "%s %s %s", line->shape, line->variant, line->type);
  return !job->filter || strstr(label, job->filter);
}

static bool fits(const bench_job *job, const bench_cell *cell, unsigned variant) {
  size_t element = rowscan_type_bytes(cell->in) + rowscan_type_bytes(cell->out) + (variant == CELL_MASKED);
  double bytes = (double)element * (double)cell->outer * (double)cell->length * (double)cell->inner;
  return job->host || bytes < 0.9 * (double)job->device.memory_bytes;
}

static void summarise(bench_job *job, bench_line *line) {
  const rowscan_timing *timing = &line->timing;
  line->gbs = timing->scan_ms > 0 ? 1e-6 * (double)timing->bytes / timing->scan_ms : 0;
  line->ratio = timing->scan_ms > 0 ? timing->copy_ms / timing->scan_ms : 0;
  if (!job->host && job->device.peak_gbs > 0)
    snprintf(line->peak, sizeof line->peak, "%.1f", 100 * line->gbs / job->device.peak_gbs);
  if (!job->measured++ || line->ratio < job->worst) {
    job->worst = line->ratio;
    snprintf(job->worst_cell, sizeof job->worst_cell, "%s %s %s", line->shape, line->variant, line->type);
  }
}

static int skip(bench_job *job, const bench_line *line) {
  job->skipped++;
  say_note("%s %s %s: skipped, it does not fit in memory", line->shape, line->variant, line->type);
  return EXIT_OK;
}

static int measure(bench_job *job, bench_line *line, unsigned variant) {
  const bench_cell *cell = &line->cell;
  rowscan_spec spec = cell_spec(cell, variant);
  line->timing = (rowscan_timing)ROWSCAN_INFO(rowscan_timing);
  rowscan_status status = rowscan_measure(job->context, &spec, cell->outer, cell->inner, job->repeat, &line->timing);
  if (status == ROWSCAN_OUT_OF_MEMORY)
    return skip(job, line);
  if (status != ROWSCAN_OK)
    return say_library(line->shape, status);
  summarise(job, line);
  print_line(line);
  int result = write_csv(job, line);
  if (line->timing.wrong)
    result = say_failed("%s %s %s: %lld of %lld elements are wrong", line->shape, line->variant, line->type,
                        (long long)line->timing.wrong, (long long)line->timing.checked);
  return result;
}

static int run_variant(bench_job *job, const bench_cell *cell, unsigned variant) {
  bench_line line = {.peak = ""};
  describe(&line, cell, variant);
  if (!(cell->variants & variant) || !wanted(job, &line))
    return EXIT_OK;
  if (!fits(job, cell, variant))
    return skip(job, &line);
  if (job->host) {
    cell_shrink(&line.cell, HOST_ELEMENTS);
    describe(&line, &line.cell, variant);
  }
  return measure(job, &line, variant);
}

/* ---- a suite ----------------------------------------------------------------------------------------------------- */

static int run_suite(bench_job *job) {
  int count, result = EXIT_OK;
  const bench_cell *cells = cells_of(job->suite, &count);
  print_head();
  for (int i = 0; i < count; i++)
    for (int v = 0; v < CELL_VARIANTS; v++)
      if (run_variant(job, &cells[i], 1u << v) != EXIT_OK)
        result = EXIT_FAILED;
  if (job->measured)
    printf("worst: %s, %.3f of memcpy\n", job->worst_cell, job->worst);
  else if (!job->skipped && result == EXIT_OK)
    result = say_failed("--filter: no cell of suite %s has '%s'", job->suite, job->filter);
  return result;
}

static int run(bench_job *job) {
  int device = job->session.device < 0 ? 0 : job->session.device;
  job->host = rowscan_context_engine(job->context) == ROWSCAN_ENGINE_HOST;
  if (job->host)
    say_note("host engine: cells are made smaller, to at most %d elements", HOST_ELEMENTS);
  rowscan_status status = job->host ? ROWSCAN_OK : rowscan_device_get(device, &job->device);
  if (status != ROWSCAN_OK)
    return say_library(NULL, status);
  if (!job->host)
    printf("%s, %s, rowscan %s\n", job->device.name, job->device.arch, rowscan_version());
  int result = open_csv(job);
  if (result != EXIT_OK)
    return result;
  result = run_suite(job);
  return job->csv.file >= 0 && output_commit(&job->csv) != EXIT_OK ? EXIT_FAILED : result;
}

int command_bench(int argc, char **argv) {
  bench_job job = {
      .suite = "quick", .session = SESSION_DEFAULT, .csv = {.file = -1}, .device = ROWSCAN_INFO(rowscan_device_info)};
  int status = read_options(&job, argc, argv);
  if (status == OPTIONS_READ)
    status = session_open(&job.context, &job.session);
  else
    return status;
  if (status == EXIT_OK) {
    status = run(&job);
    rowscan_close(job.context);
  }
  output_abandon(&job.csv);
  return status;
}
