/*
 * tune.c - rowscan tune: measures which kernels are the fastest on the GPU at hand, and keeps that for later scans
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "cells.h"
#include "commands.h"
#include "lists.h"
#include "measure/measure.h"
#include "op_file.h"
#include "options.h"
#include "output.h"
#include "say.h"
#include "session.h"
#include "spec/spec.h"
#include "suite.h"

enum { OPERANDS_MOST = 256, FILL_BYTES = 256 << 20 };

typedef struct tune_job {
  const char *operands[OPERANDS_MOST + 1];
  const char *list, *export_name, *op_file;
  cli_suite suite;
  bool cache;
  int64_t rows;
  cli_session session;
  rowscan_context *context;
  rs_sized_scan *scans;
  int64_t count, left_out;
  size_t room;
  rs_text path, table; /* of the file that was written; for --export */
  cli_output output;
  int64_t faster, failed;
  double least, most; /* times faster */
} tune_job;

/* ---- which scans ------------------------------------------------------------------------------------------------- */

static int add_scan(tune_job *job, const rs_sized_scan *scan) {
  rs_sized_scan *scans = rs_list_room(job->scans, (size_t)job->count, &job->room, sizeof *scans);
  if (!scans)
    return say_failed("out of memory for %lld scans", (long long)job->count);
  job->scans = scans;
  for (int64_t i = 0; i < job->count; i++)
    if (!memcmp(&scans[i], scan, sizeof *scan))
      return EXIT_OK;
  scans[job->count++] = *scan;
  return EXIT_OK;
}

/* Takes "rows=4096" out of a text. False: its value is no number of 1 or more; then *from is where it stands. */
static bool take_number(char *text, const char *name, int64_t *number, const char **from) {
  enum { DIGITS = 18 };
  size_t length = strlen(name);
  for (char *at = text; (at = strstr(at, name)) != NULL; at += length) {
    if ((at > text && !strchr(" \t\r\n", at[-1])) || at[length] != '=')
      continue;
    size_t digits = strspn(at + length + 1, "0123456789");
    const char *end = at + length + 1 + digits;
    *from = at;
    if (*number || !digits || digits > DIGITS || (*end && !strchr(" \t\r\n", *end)))
      return false;
    *number = strtoll(at + length + 1, NULL, 10);
    if (*number < 1)
      return false;
    memset(at, ' ', length + 1 + digits);
  }
  return true;
}

/* As many as make FILL_BYTES. */
static int64_t usual_rows(const tune_job *job, const rs_sized_scan *scan) {
  double row = (double)rs_spec_element_bytes(&scan->spec) * (double)scan->spec.length * (double)scan->columns;
  double rows = row > 0 ? FILL_BYTES / row : 1;
  return job->rows ? job->rows : rows < 1 ? 1 : (int64_t)rows;
}

/* "in=bf16 length=32000 rows=64" */
static int read_scan(tune_job *job, const char *given, const char *where) {
  rs_sized_scan scan = {.spec = {.size = sizeof scan.spec}};
  char text[4096 + 1];
  const char *from = text;
  if (strlen(given) >= sizeof text)
    return say_failed("a SPEC exceeds %d bytes: %.32s...", (int)sizeof text - 1, given);
  snprintf(text, sizeof text, "%s", given);
  if (!take_number(text, "rows", &scan.rows, &from) || !take_number(text, "columns", &scan.columns, &from))
    return say_failed("%s: '%.*s' is not a number of 1 or more, or stands twice", where, (int)strcspn(from, " \t\r"),
                      from);
  if (rowscan_spec_parse(&scan.spec, text) != ROWSCAN_OK)
    return say_failed("%s: %s", where, rowscan_last_error());
  if (scan.spec.regime != ROWSCAN_REGIME_AUTO)
    return say_failed("%s: field 'regime': a table is for scans that choose it", where);
  bool columns = scan.spec.layout == ROWSCAN_LAYOUT_COLUMNS;
  if (columns != (scan.columns > 0))
    return say_failed("%s: %s", where,
                      columns ? "layout=columns requires columns=N" : "columns=N requires layout=columns");
  if (scan.spec.length < 1)
    return say_failed("%s: field 'length': tuning requires rows of 1 or more elements", where);
  scan.columns = columns ? scan.columns : 1;
  scan.rows = scan.rows ? scan.rows : usual_rows(job, &scan);
  return add_scan(job, &scan);
}

static int read_listed(void *user, const char *line, int64_t number) {
  tune_job *job = user;
  char where[256];
  snprintf(where, sizeof where, "%s:%lld", job->list, (long long)number);
  return read_scan(job, line, where);
}

/* A kernel's key begins with its spec. What has no length, or no size that could be guessed, is left out. */
static int read_cached(void *user, const rowscan_cache_entry *entry) {
  tune_job *job = user;
  char text[4096];
  const char *end = entry->key ? strstr(entry->key, "\nregime=") : NULL;
  rs_sized_scan scan = {.spec = {.size = sizeof scan.spec}, .columns = 1};
  if (!end)
    return 0;
  snprintf(text, sizeof text, "%.*s", (int)(end - entry->key), entry->key);
  if (rowscan_spec_parse(&scan.spec, text) != ROWSCAN_OK || scan.spec.length < 1 ||
      scan.spec.layout == ROWSCAN_LAYOUT_COLUMNS || scan.spec.row_rank > 1) {
    job->left_out++;
    return 0;
  }
  scan.rows = usual_rows(job, &scan);
  return add_scan(job, &scan) != EXIT_OK;
}

static int read_cache(tune_job *job) {
  if (rowscan_cache_visit(job->context, read_cached, job) != ROWSCAN_OK)
    return say_failed("%s", rowscan_last_error());
  if (job->left_out)
    say_note("%lld kernels of the cache are left out: along columns, of any length, or of operators that are not known "
             "here; a SPEC tells the size of such scans",
             (long long)job->left_out);
  return EXIT_OK;
}

static int add_cell(tune_job *job, const bench_cell *cell) {
  int result = EXIT_OK;
  for (int v = 0; v < CELL_VARIANTS && result == EXIT_OK && cell->view == CELL_DENSE; v++) {
    rs_sized_scan scan = {.spec = cell_spec(cell, ROWSCAN_SUM, 1u << v), .rows = cell->outer, .columns = cell->inner};
    if (cell->variants & 1u << v && rowscan_spec_complete(&scan.spec) == ROWSCAN_OK)
      result = add_scan(job, &scan);
  }
  return result;
}

static int read_cells(tune_job *job) {
  int result = EXIT_OK;
  for (int i = 0; i < job->suite.count && result == EXIT_OK; i++)
    result = add_cell(job, &job->suite.cells[i]);
  return result;
}

static int read_scans(tune_job *job) {
  int result = EXIT_OK;
  for (int i = 0; job->operands[i] && result == EXIT_OK; i++)
    result = read_scan(job, job->operands[i], job->operands[i]);
  if (result == EXIT_OK && job->list)
    result = list_read(&job->list, read_listed, job);
  if (result == EXIT_OK)
    result = read_cells(job);
  if (result == EXIT_OK && job->cache)
    result = read_cache(job);
  return result == EXIT_OK && !job->count ? say_failed("there is no scan to measure") : result;
}

/* ---- measured ---------------------------------------------------------------------------------------------------- */

static void tell_scan(tune_job *job, const rs_sized_scan *scan, const rs_fastest *fastest) {
  rs_text words = {0};
  rs_spec_line(&scan->spec, &words);
  rs_text_add(&words, " rows=%lld", (long long)scan->rows);
  if (scan->spec.layout == ROWSCAN_LAYOUT_COLUMNS)
    rs_text_add(&words, " columns=%lld", (long long)scan->columns);
  if (fastest->better) {
    double times = fastest->before_ms / fastest->ms;
    job->least = job->faster && job->least < times ? job->least : times;
    job->most = job->most > times ? job->most : times;
    job->faster++;
    rs_text_add(&words, ": %.4g ms, was %.4g (%.2f times as fast): ", fastest->ms, fastest->before_ms, times);
    rs_shape_text(&fastest->kernel.shape, &words);
  } else
    rs_text_add(&words, ": %.4g ms, the fastest of %d kernels already", fastest->before_ms, fastest->timed);
  say_line("%s", words.failed ? "(out of memory)" : words.data);
  fflush(stdout);
  rs_text_free(&words);
}

static int say_spec(const rs_sized_scan *scan, rowscan_status status) {
  rs_text words = {0};
  rs_spec_line(&scan->spec, &words);
  int result = say_library(words.failed ? NULL : words.data, status);
  rs_text_free(&words);
  return result;
}

/* What was measured is kept at once: who interrupts the command keeps it. scan NULL: nothing yet. */
static int keep_scan(tune_job *job, const rs_sized_scan *scan, const rs_fastest *fastest) {
  job->path.length = 0;
  rowscan_status status = job->export_name ? rs_tune_note(job->context, scan, fastest, &job->table)
                                           : rs_tune_keep(job->context, scan, fastest, &job->path);
  return status == ROWSCAN_OK ? EXIT_OK : say_library(NULL, status);
}

/* What can't be measured is told; the others are. */
static int measure_scan(tune_job *job, rs_sized_scan *scan) {
  rs_fastest fastest;
  rowscan_status status = rs_tune_scan(job->context, scan, &fastest);
  job->failed += status != ROWSCAN_OK || fastest.wrong;
  if (status != ROWSCAN_OK)
    return (void)say_spec(scan, status), EXIT_OK;
  tell_scan(job, scan, &fastest);
  if (fastest.failed)
    say_note("%d kernels could not be compiled: %s", fastest.failed, rowscan_last_error());
  if (fastest.wrong)
    say_failed("%d kernels had wrong bits, and were left out", fastest.wrong);
  return keep_scan(job, scan, &fastest);
}

static void tell_end(const tune_job *job) {
  const char *name = job->export_name ? job->export_name : job->path.length ? job->path.data : "";
  if (job->faster)
    say_line("%lld of %lld scans are faster now, %.2f to %.2f times: %s", (long long)job->faster, (long long)job->count,
             job->least, job->most, name);
  else
    say_line("%lld of %lld scans are faster now: %s", (long long)job->faster, (long long)job->count, name);
}

/* Where the table goes is seen before anything is measured in vain. */
static int measure_all(tune_job *job) {
  int result = keep_scan(job, NULL, NULL);
  if (result == EXIT_OK && job->export_name)
    result = output_open(&job->output, job->export_name);
  for (int64_t i = 0; i < job->count && result == EXIT_OK; i++)
    result = measure_scan(job, &job->scans[i]);
  if (result == EXIT_OK && job->export_name)
    result = output_write(&job->output, job->table.data, job->table.length);
  if (result == EXIT_OK && job->export_name)
    result = output_commit(&job->output);
  if (result == EXIT_OK)
    tell_end(job);
  output_abandon(&job->output);
  return result == EXIT_OK && job->failed ? EXIT_FAILED : result;
}

static int tune(tune_job *job) {
  int result = read_scans(job);
  return result == EXIT_OK ? measure_all(job) : result;
}

static int read_sources(tune_job *job) {
  int status = suite_check(&job->suite);
  if (status == OPTIONS_READ && !job->operands[0] && !job->list && !job->suite.name && !job->cache)
    status = say_usage("missing operand: SPEC, or one of the options --list, --suite and --cache");
  return status == OPTIONS_READ && job->suite.name ? suite_read(&job->suite) : status;
}

int command_tune(int argc, char **argv) {
  tune_job job = {.session = {.engine = ROWSCAN_ENGINE_CUDA, .device = -1, .compile = ROWSCAN_COMPILE_NOW},
                  .output = OUTPUT_NONE,
                  .suite.seed = -1};
  rowscan_op op = ROWSCAN_SUM; /* which a SPEC may name then */
  cli_kind suite = kind_text, size = kind_text;
  suite.value = "quick|full|growth|random";
  size.value = "large|small";
  const cli_option options[] = {
      {"list", 0, &kind_stream, &job.list, "also the scans of a list (-: standard input), a SPEC in a line"},
      {"cache", 0, &kind_switch, &job.cache, "also the scans along rows whose kernels are in the cache"},
      {"suite", 0, &suite, &job.suite.name, "also the scans of a suite of 'rowscan bench'"},
      {"seed", 0, &kind_count, &job.suite.seed, "suite random: the same number draws the same scans (1)"},
      {"cells", 0, &kind_natural, &job.suite.random, "suite random: number of scans (64)"},
      {"size", 0, &size, &job.suite.size, "suite random: scans of 0.5 GB each, or of 10 KB to 20 MB (large)"},
      {"rows", 0, &kind_count, &job.rows, "rows of scans that name no number (0: as many as make 256 MB)"},
      {"export", 0, &kind_file, &job.export_name, "write the table to FILE, and not where scans look for it"},
      OP_FILE_OPTION(job.op_file),
      {"device", 0, &kind_natural, &job.session.device, "number of the GPU in the list of 'rowscan devices' (0)"},
  };
  const cli_syntax syntax = {
      .name = "tune",
      .operands = "[SPEC]...",
      .operand_more = OPERANDS_MOST,
      .about =
          "Times every kernel that can serve a scan on the GPU at hand, and notes the fastest in a table beside the\n"
          "cache, where later processes find it: they take it for rows of that length if there are as many columns,\n"
          "and a quarter more or fewer rows at most. Results keep their bits. A SPEC is as 'rowscan warm' has it,\n"
          "with the size: 'in=bf16 length=32000 rows=64', 'in=f32 length=4096 layout=columns rows=8 columns=512'. A\n"
          "scan that was tuned before is measured anew. Tables are for one kind of GPU and one version of rowscan.",
      .options = options,
      .option_count = COUNT_OF(options),
  };
  int status = options_read(&syntax, argc, argv, job.operands);
  if (status == OPTIONS_READ)
    status = op_file_read(&op, job.op_file);
  if (status == OPTIONS_READ)
    status = read_sources(&job);
  if (status != OPTIONS_READ)
    return status;
  status = session_open(&job.context, &job.session);
  if (status == EXIT_OK) {
    status = tune(&job);
    rowscan_close(job.context);
  }
  free(job.scans);
  free(job.suite.drawn);
  rs_text_free(&job.path);
  rs_text_free(&job.table);
  return status;
}
