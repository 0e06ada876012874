/*
 * bench.c - rowscan bench: scans against copies of the same bytes
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "commands.h"
#include "measure/measure.h"
#include "op_file.h"
#include "options.h"
#include "output.h"
#include "say.h"
#include "session.h"
#include "spec/spec.h"
#include "suite.h"

enum { HOST_ELEMENTS = 1 << 24, GIVEN_MOST = 64, BENCH_CSV_MAX = 1024, WORST = 10 };

typedef struct bench_line {
  bench_cell cell;
  char shape[CELL_TEXT_MAX], type[CELL_TEXT_MAX];
  char label[4 * CELL_TEXT_MAX]; /* "short: 65536 x 512 inclusive f32": what --filter looks at */
  char variant[CELL_TEXT_MAX];   /* "reverse"; of more than a plain sum "argmax second heads reverse" */
  const char *group;
  cell_target target; /* its ratio is 0 where there is none */
  rs_timing timing;
  double gbs;
  double peak;          /* percent of the GPU's memory; 0 if that is not known */
  double ratio, kernel; /* the time of memcpy, and of the copy kernel (0: none), to the scan's */
  bool of_kernel;       /* what it is judged by */
  double score;         /* that ratio, to the target where there is one: the least is the worst */
} bench_line;

typedef struct bench_job {
  const char *shapes, *filter, *csv_name;
  bench_cell given[GIVEN_MOST]; /* of the shapes */
  cli_suite suite;
  rowscan_op op;
  rowscan_type acc;
  const char *op_file;
  unsigned tried; /* accumulators, a bit each, in which it was seen whether the operator is associative */
  rowscan_mask_mode mask_mode, segments;
  bool second;
  rowscan_regime regime; /* forced; AUTO: none is */
  int repeat;
  int64_t elements; /* cells are made smaller, to this; 0: they are not */
  bool any_length;  /* by the kernels for any */
  bool universal;   /* by kernels that serve every scan */
  bool list;        /* only name them */
  bool contenders;  /* time all kernels that could serve each cell */
  int close[2];     /* cells whose choice is within 5% and within 15% of the best */
  cli_session session;
  rowscan_context *context;
  bool host;
  rowscan_device_info device;
  cli_output csv;
  int listed, measured, skipped, targets, reached;
  double *scores;          /* of all that was measured */
  bench_line worst[WORST]; /* of these, the worst first */
} bench_job;

static int read_shapes(bench_job *job) {
  cli_suite *suite = &job->suite;
  if (suite->name)
    return say_usage("--shapes: '%s', but --suite is given too, '%s'; choose one of the two", job->shapes, suite->name);
  suite->name = "shapes";
  suite->cells = job->given;
  for (const char *text = job->shapes; *text; text += *text == '|') {
    char shape[CELL_TEXT_MAX];
    int length = (int)strcspn(text, "|");
    snprintf(shape, sizeof shape, "%.*s", length, text);
    if (suite->count == GIVEN_MOST)
      return say_usage("--shapes: more than %d shapes", GIVEN_MOST);
    bench_cell *cell = &job->given[suite->count++];
    if (length >= (int)sizeof shape || !given_cell(shape, cell))
      return say_usage("--shapes: '%.*s' is not a shape such as '65536 x 512' or '64 x 4096 x 1024 dim 1 bf16'", length,
                       text);
    rowscan_spec spec = cell_spec(cell, ROWSCAN_SUM, CELL_INCLUSIVE);
    if (rowscan_spec_complete(&spec) != ROWSCAN_OK)
      return say_usage("--shapes: '%s': %s", shape, rowscan_last_error());
    text += length;
  }
  return suite->count ? OPTIONS_READ : say_usage("--shapes: '%s' has no shape", job->shapes);
}

/* OPTIONS_READ: what was asked for beside an operator goes with it. */
static int check_combinations(const bench_job *job) {
  if (job->contenders && (job->any_length || job->regime || job->universal))
    return say_usage("--all-candidates: cannot be combined with %s, which leaves some candidates out",
                     job->any_length  ? "--any-length"
                     : job->universal ? "--universal"
                                      : "--regime");
  if (job->universal && job->regime)
    return say_usage("--universal: cannot be combined with --regime, which names other kernels");
  if (job->second && !rs_op_of(job->op)->second)
    return say_usage("--second: %s has one output", rowscan_op_name(job->op));
  if (job->segments && job->mask_mode >= ROWSCAN_MASK_HEADS)
    return say_usage("--segments: %s, but --mask-mode is %s; choose one of the two",
                     rs_mask_mode_values.words[job->segments], rs_mask_mode_values.words[job->mask_mode]);
  return OPTIONS_READ;
}

static int read_bench_options(bench_job *job, int argc, char **argv) {
  cli_kind suite = kind_text, size = kind_text;
  suite.value = "quick|full|growth|random";
  size.value = "large|small";
  const cli_option options[] = {
      {"suite", 0, &suite, &job->suite.name, "which cells to time (quick)"},
      {"seed", 0, &kind_count, &job->suite.seed, "suite random: the same number draws the same cells (1)"},
      {"cells", 0, &kind_natural, &job->suite.random, "suite random: number of cells (64)"},
      {"size", 0, &size, &job->suite.size, "suite random: cells of 0.5 GB each, or of 10 KB to 20 MB (large)"},
      {"shapes", 0, &kind_text, &job->shapes,
       "time these cells instead of a suite: \"N x M x K dim 1 f32\"; several: A|B|C"},
      {"filter", 0, &kind_text, &job->filter,
       "only cells whose \"group: shape variant type\" contains TEXT, or one of A|B|C"},
      {"op", 0, &kind_op, &job->op, "the operator (sum)"},
      {"acc", 0, &kind_acc, &job->acc, "accumulator type of all cells; others are left out (each cell's)"},
      OP_FILE_OPTION(job->op_file),
      {"mask-mode", 0, &kind_mask_mode, &job->mask_mode, "mask mode of all cells (each variant's)"},
      {"segments", 0, &kind_segments, &job->segments,
       "segments in all cells, beside their masks or coefficients (none)"},
      {"second", 0, &kind_switch, &job->second, "write the second output, too, of an operator that has one"},
      {"regime", 0, &kind_regime, &job->regime, "force row, short, long or column (auto: chosen by each shape)"},
      {"any-length", 0, &kind_switch, &job->any_length, "time the kernels that serve rows of any length"},
      {"universal", 0, &kind_switch, &job->universal,
       "on a GPU, time the kernels that serve every scan until its own are compiled"},
      {"all-candidates", 0, &kind_switch, &job->contenders,
       "on a GPU, time every kernel that can serve a cell, and judge the choice"},
      {"csv", 0, &kind_file, &job->csv_name, "also write all figures to FILE"},
      {"repeat", 0, &kind_natural, &job->repeat, "repetitions of each cell (0: chosen by the time it takes)"},
      {"elements", 0, &kind_count, &job->elements,
       "shrink cells to at most N elements (0: as they are; on the CPU 16777216)"},
      {"list", 0, &kind_switch, &job->list, "print \"group: shape variant type\" of each cell, and time nothing"},
      SESSION_OPTIONS(job->session),
  };
  const cli_syntax syntax = {
      .name = "bench",
      .about =
          "Times scans of random numbers against copies of the same number of bytes, in turn, and checks the results\n"
          "against the host engine. The last line is the cell that is furthest below its target. The exit status is\n"
          "1 if any bit is wrong.",
      .options = options,
      .option_count = COUNT_OF(options),
  };
  int status = options_read(&syntax, argc, argv, NULL);
  if (status == OPTIONS_READ)
    status = op_file_read(&job->op, job->op_file);
  if (status == OPTIONS_READ)
    status = check_combinations(job);
  if (status == OPTIONS_READ)
    status = suite_check(&job->suite);
  if (status != OPTIONS_READ)
    return status;
  if (job->shapes)
    return read_shapes(job);
  if (!job->suite.name)
    job->suite.name = "quick";
  return suite_read(&job->suite);
}

/* ---- the figures of a cell --------------------------------------------------------------------------------------- */

/* What is timed of each cell, but for its variant, with a blank behind each word: "argmax second heads ". */
static void name_asked(const bench_job *job, char text[CELL_TEXT_MAX]) {
  const char *const words[] = {job->op ? rowscan_op_name(job->op) : NULL, job->second ? "second" : NULL,
                               job->mask_mode ? rs_mask_mode_values.words[job->mask_mode] : NULL,
                               job->segments ? rs_mask_mode_values.words[job->segments] : NULL};
  int length = 0;
  *text = 0;
  for (int i = 0; i < COUNT_OF(words); i++)
    if (words[i])
      length += snprintf(text + length, (size_t)(CELL_TEXT_MAX - length), "%s ", words[i]);
}

/* Names, and the target: those of the suite are of sums on a GPU. */
static void name_line(bench_line *line, const bench_job *job, const bench_cell *cell, unsigned variant) {
  char asked[CELL_TEXT_MAX];
  name_asked(job, asked);
  *line = (bench_line){.cell = *cell, .group = cell_group_name(cell->group)};
  snprintf(line->variant, sizeof line->variant, "%s%s", asked, cell_variant(variant));
  if (job->acc)
    line->cell.acc = job->acc;
  cell_shape(line->shape, cell);
  cell_type(line->type, &line->cell);
  snprintf(line->label, sizeof line->label, "%s: %s %s %s", line->group, line->shape, line->variant, line->type);
  if (!job->host && !job->acc && !*asked)
    line->target = cell_target_of(cell, variant);
}

/* Figures, from the timing. peak_gbs: of the GPU's memory, 0 if it is not known. */
static void judge(bench_line *line, double peak_gbs) {
  const rs_timing *timing = &line->timing;
  bool timed = timing->scan_ms > 0;
  line->gbs = timed ? 1e-6 * (double)timing->bytes / timing->scan_ms : 0;
  line->peak = peak_gbs > 0 ? 100 * line->gbs / peak_gbs : 0;
  line->ratio = timed ? timing->copy_ms / timing->scan_ms : 0;
  line->kernel = timed ? timing->kernel_ms / timing->scan_ms : 0;
  line->of_kernel = line->target.kernel && timing->kernel_ms > 0;
  line->score = (line->of_kernel ? line->kernel : line->ratio) / (line->target.ratio > 0 ? line->target.ratio : 1);
}

/* Of the target; true where there is none. */
static bool has_reached(const bench_line *line) {
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
  return line->target.ratio <= 0 ? "" : has_reached(line) ? "yes" : "NO";
}

static const char *yardstick(const bench_line *line) {
  return line->of_kernel ? "copy kernel" : "memcpy";
}

/* ---- a line of the table ----------------------------------------------------------------------------------------- */

static void print_bench_head(void) {
  printf("%-29s %-9s %-15s %-6s %9s %8s %6s %7s %7s %7s %-3s %6s  %s\n", "shape", "variant", "type", "regime", "ms",
         "GB/s", "peak%", "memcpy", "kernel", "target", "met", "wrong", "geometry");
}

static void print_line(const bench_line *line) {
  char peak[16], kernel[16], target[16];
  fixed(peak, 1, line->peak);
  fixed(kernel, 3, line->kernel);
  fixed(target, 2, line->target.ratio);
  say_line("%-29s %-9s %-15s %-6s %9.4f %8.1f %6s %7.3f %7s %1s%6s %-3s %6lld  %s", line->shape, line->variant,
           line->type, regime_of(line), line->timing.scan_ms, line->gbs, peak, line->ratio, kernel,
           line->of_kernel ? "k" : "", target, reached_word(line), (long long)line->timing.wrong,
           line->timing.geometry);
  fflush(stdout);
}

static void print_worst(const bench_line *line) {
  printf("worst: %s %s %s, %.3f of %s", line->shape, line->variant, line->type,
         line->of_kernel ? line->kernel : line->ratio, yardstick(line));
  if (line->target.ratio > 0)
    printf(", target %.2f", line->target.ratio);
  printf("\n");
}

/* ---- a line of CSV ----------------------------------------------------------------------------------------------- */

/* A line of CSV; line NULL: the names of the columns. Returns its length. */
static size_t csv_line(char text[BENCH_CSV_MAX], const char *suite, const bench_line *line) {
  if (!line)
    return (size_t)snprintf(
        text, BENCH_CSV_MAX, "%s\n",
        "suite,group,shape,view,outer,length,inner,variant,type,regime,geometry,scan_ms,copy_ms,kernel_ms,"
        "bytes,gbs,peak_percent,ratio,kernel_ratio,target,yardstick,reached,replayed,checked,wrong,chosen");
  const rs_timing *timing = &line->timing;
  char kernel_ms[16], peak[16], kernel[16], target[16];
  exact(kernel_ms, timing->kernel_ms);
  exact(peak, line->peak);
  exact(kernel, line->kernel);
  fixed(target, 2, line->target.ratio);
  int length =
      snprintf(text, BENCH_CSV_MAX,
               "%s,%s,%s,%s,%lld,%lld,%lld,%s,%s,%s,%s,%.6g,%.6g,%s,%lld,%.6g,%s,%.6g,%s,%s,%s,%s,%d,%lld,%lld,%d\n",
               suite, line->group, line->shape, cell_view_name(line->cell.view), (long long)line->cell.outer,
               (long long)line->cell.length, (long long)line->cell.inner, line->variant, line->type, regime_of(line),
               timing->geometry, timing->scan_ms, timing->copy_ms, kernel_ms, (long long)timing->bytes, line->gbs, peak,
               line->ratio, kernel, target, yardstick(line), reached_word(line), timing->replayed,
               (long long)timing->checked, (long long)timing->wrong, timing->chosen);
  return (size_t)(length < BENCH_CSV_MAX ? length : BENCH_CSV_MAX - 1);
}

/* ---- a cell ------------------------------------------------------------------------------------------------------ */

static int write_csv(bench_job *job, const bench_line *line) {
  char text[BENCH_CSV_MAX];
  return job->csv_name ? output_write(&job->csv, text, csv_line(text, job->suite.name, line)) : EXIT_OK;
}

/* Does the label have the text, or one of several between bars? */
static bool wanted(const bench_job *job, const char *label) {
  const char *text = job->filter;
  while (text && *text) {
    size_t length = strcspn(text, "|");
    char part[CELL_TEXT_MAX];
    snprintf(part, sizeof part, "%.*s", (int)length, text);
    if (length < sizeof part && *part && strstr(label, part))
      return true;
    text += length + (text[length] == '|');
  }
  return !job->filter || !*job->filter;
}

static rowscan_spec spec_of(const bench_job *job, const bench_cell *cell, unsigned variant) {
  rowscan_spec spec = cell_spec(cell, job->op, variant);
  const rs_op *op = rs_op_of(job->op);
  if (job->acc)
    spec.acc_type = job->acc;
  if (job->mask_mode)
    spec.mask_mode = job->mask_mode;
  if (job->segments) /* without a mask in its place, as scans have them */
    *(spec.mask_mode || op->coefficient ? &spec.segment_mode : &spec.mask_mode) = job->segments;
  if (job->second)
    spec.second_type = op->kind == RS_INDEX ? spec.in_type : spec.out_type;
  return spec;
}

/* The arrays, and what copies write to. */
static bool fits(const bench_job *job, const bench_cell *cell, unsigned variant) {
  rowscan_spec spec = spec_of(job, cell, variant);
  double element = rowscan_spec_complete(&spec) == ROWSCAN_OK ? rs_spec_element_bytes(&spec) : 0;
  double bytes = 1.5 * element * (double)cell->outer * (double)cell->length * (double)cell->inner;
  return job->host || bytes < 0.95 * (double)job->device.memory_bytes;
}

static int skip(bench_job *job, const bench_line *line) {
  job->skipped++;
  say_note("%s: skipped: it does not fit in memory", line->label);
  return EXIT_OK;
}

/* Its place among the worst, if it has one. */
static void rank(bench_job *job, const bench_line *line) {
  int place = job->measured < WORST ? job->measured : WORST;
  for (; place > 0 && line->score < job->worst[place - 1].score; place--)
    if (place < WORST)
      job->worst[place] = job->worst[place - 1];
  if (place < WORST)
    job->worst[place] = *line;
}

static void keep(bench_job *job, const bench_line *line) {
  rank(job, line);
  job->scores[job->measured++] = line->score;
  job->targets += line->target.ratio > 0;
  job->reached += line->target.ratio > 0 && has_reached(line);
}

/* Of an operator of one's own, once for each type that is computed in. */
static void try_order(bench_job *job, const rowscan_spec *cell) {
  rowscan_spec spec = *cell;
  rs_text doubt = {0};
  if (!job->op_file || rowscan_spec_complete(&spec) != ROWSCAN_OK || job->tried & 1u << spec.acc_type)
    return;
  job->tried |= 1u << spec.acc_type;
  rowscan_status status = rs_associative(job->context, spec.op, spec.acc_type, &doubt);
  if (status)
    say_library("cannot check that the operator is associative", status);
  if (doubt.data)
    say_note("%s; results will depend on where blocks of elements end", doubt.data);
  rs_text_free(&doubt);
}

/* A figure that is ready: a line of the table and of the CSV. */
static int tell(bench_job *job, bench_line *line) {
  judge(line, job->host ? 0 : job->device.peak_gbs);
  print_line(line);
  int result = write_csv(job, line);
  if (line->timing.wrong)
    result = say_failed("%s: %lld of %lld elements are wrong", line->label, (long long)line->timing.wrong,
                        (long long)line->timing.checked);
  return result;
}

/* The kernels of a cell, one after another. */
typedef struct contest {
  bench_job *job;
  bench_line *line; /* of the last */
  rs_timing best, chosen;
  int result;
} contest;

static rowscan_status enter_one(void *user, const rs_timing *timing, int number) {
  (void)number;
  contest *all = user;
  all->line->timing = *timing;
  if (!all->best.scan_ms || timing->scan_ms < all->best.scan_ms)
    all->best = *timing;
  if (timing->chosen)
    all->chosen = *timing;
  if (tell(all->job, all->line) != EXIT_OK)
    all->result = EXIT_FAILED;
  return ROWSCAN_OK;
}

/* Scores the choice by the best one's time to its own. */
static void judge_choice(const contest *all) {
  static const double within[] = {1 / 1.05, 1 / 1.15};
  bench_job *job = all->job;
  bench_line *line = all->line;
  line->timing = all->chosen.scan_ms > 0 ? all->chosen : all->best;
  line->score = all->chosen.scan_ms > 0 ? all->best.scan_ms / all->chosen.scan_ms : 0;
  for (int i = 0; i < COUNT_OF(within); i++)
    job->close[i] += line->score >= within[i];
  keep(job, line);
  printf("best: %.3f of the chosen one's time, %s\n", line->score, all->best.geometry);
}

static int measure_contenders(bench_job *job, bench_line *line, const rowscan_spec *spec, const rowscan_args *args) {
  contest all = {.job = job, .line = line, .result = EXIT_OK};
  int failed;
  rowscan_status status = rs_measure_contenders(job->context, spec, args, job->repeat, enter_one, &all, &failed);
  if (status == ROWSCAN_OUT_OF_MEMORY)
    return skip(job, line);
  if (status != ROWSCAN_OK)
    return say_library(line->label, status);
  if (failed)
    say_note("%s: %d kernels could not be compiled: %s", line->label, failed, rowscan_last_error());
  if (all.best.scan_ms > 0)
    judge_choice(&all);
  return all.result;
}

static int measure_variant(bench_job *job, bench_line *line, unsigned variant) {
  const bench_cell *cell = &line->cell;
  rowscan_spec spec = spec_of(job, cell, variant);
  spec.regime = job->regime;
  try_order(job, &spec);
  cell_rows rows;
  cell_rows_of(&rows, cell);
  if (job->any_length) {
    rows.args.length = spec.length;
    spec.length = ROWSCAN_ANY_LENGTH;
  }
  if (job->contenders)
    return measure_contenders(job, line, &spec, &rows.args);
  rowscan_status status = rs_measure(job->context, &spec, &rows.args, job->repeat, &line->timing);
  if (status == ROWSCAN_OUT_OF_MEMORY)
    return skip(job, line);
  if (status != ROWSCAN_OK)
    return say_library(line->label, status);
  int result = tell(job, line);
  keep(job, line);
  return result;
}

/* Whether the operator has the cell's types and its variant. */
static bool serves(const bench_job *job, const bench_cell *cell, unsigned variant) {
  rowscan_spec spec = spec_of(job, cell, variant);
  bool masked_twice = variant == CELL_MASKED && job->mask_mode;
  return cell->variants & variant && !masked_twice && rowscan_spec_complete(&spec) == ROWSCAN_OK;
}

static int run_variant(bench_job *job, const bench_cell *cell, unsigned variant) {
  bench_line line;
  name_line(&line, job, cell, variant);
  if (!serves(job, cell, variant) || !wanted(job, line.label))
    return EXIT_OK;
  if (job->list) {
    job->listed++;
    return printf("%s\n", line.label) < 0 ? EXIT_FAILED : EXIT_OK;
  }
  if (job->elements) {
    bench_cell smaller = *cell;
    cell_shrink(&smaller, job->elements);
    cell_target target = line.target; /* of the cell as it is */
    name_line(&line, job, &smaller, variant);
    line.target = target;
  }
  return fits(job, &line.cell, variant) ? measure_variant(job, &line, variant) : skip(job, &line);
}

/* ---- a suite ----------------------------------------------------------------------------------------------------- */

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void print_quantiles(const bench_job *job) {
  static const struct {
    const char *name;
    double share;
  } quantiles[] = {{"worst", 0}, {"5%", 0.05}, {"10%", 0.1}, {"25%", 0.25}, {"median", 0.5}};
  qsort(job->scores, (size_t)job->measured, sizeof *job->scores, ascending);
  printf("%d cells", job->measured);
  for (size_t i = 0; i < COUNT_OF(quantiles); i++)
    printf("%s %s %.3f", i ? "," : ":", quantiles[i].name,
           job->scores[(size_t)(quantiles[i].share * (job->measured - 1))]);
  printf("\n");
}

static void print_choices(const bench_job *job) {
  printf("chosen kernels within 5%% of the best: %d of %d, within 15%%: %d\n", job->close[0], job->measured,
         job->close[1]);
}

static void print_bench_summary(const bench_job *job) {
  if (job->contenders)
    print_choices(job);
  if (job->targets)
    printf("targets reached: %d of %d\n", job->reached, job->targets);
  if (job->suite.drawn || job->contenders)
    print_quantiles(job);
  for (int i = 0; i < (job->suite.drawn ? WORST : 1) && i < job->measured; i++)
    print_worst(&job->worst[i]);
}

/* Of no cell that was wanted and served. */
static int say_none(const bench_job *job) {
  if (job->filter && *job->filter)
    return say_failed("--filter: '%s' is in no cell of suite %s", job->filter, job->suite.name);
  return say_failed("no cell of suite %s is supported: %s", job->suite.name, rowscan_last_error());
}

static int run_suite(bench_job *job) {
  int result = EXIT_OK;
  job->scores = calloc((size_t)job->suite.count * CELL_VARIANTS, sizeof *job->scores);
  if (!job->scores)
    return say_failed("out of memory for the figures of %d cells", job->suite.count);
  if (!job->list)
    print_bench_head();
  for (int i = 0; i < job->suite.count; i++)
    for (int v = 0; v < CELL_VARIANTS; v++)
      if (run_variant(job, &job->suite.cells[i], 1u << v) != EXIT_OK)
        result = EXIT_FAILED;
  if (job->measured)
    print_bench_summary(job);
  else if (!job->listed && !job->skipped && result == EXIT_OK)
    result = say_none(job);
  return result;
}

static int run_with_csv(bench_job *job) {
  output_prints();
  int result = job->csv_name ? output_open(&job->csv, job->csv_name) : EXIT_OK;
  if (result == EXIT_OK)
    result = write_csv(job, NULL);
  if (result != EXIT_OK)
    return result;
  result = run_suite(job);
  return job->csv.whole.file >= 0 && output_commit(&job->csv) != EXIT_OK ? EXIT_FAILED : result;
}

static int run_bench(bench_job *job) {
  int device = job->session.device < 0 ? 0 : job->session.device;
  job->host = rowscan_context_engine(job->context) == ROWSCAN_ENGINE_HOST;
  if (job->host && job->universal)
    return say_usage("--universal: these are kernels of GPUs, and cells would run on the host engine");
  if (job->host && !job->elements)
    job->elements = HOST_ELEMENTS;
  if (job->elements)
    say_note("cells are reduced to at most %lld elements", (long long)job->elements);
  if (job->op_file)
    say_note("%s has no host functions; its results are not checked", rowscan_op_name(job->op));
  rowscan_status status = job->host ? ROWSCAN_OK : rowscan_device_get(device, &job->device);
  if (status != ROWSCAN_OK)
    return say_library(NULL, status);
  if (!job->host)
    say_line("%s, %s, %.0f GB/s, rowscan %s", job->device.name, job->device.arch, job->device.peak_gbs,
             rowscan_version());
  return run_with_csv(job);
}

static int run_in_session(bench_job *job) {
  int status = session_open(&job->context, &job->session);
  if (status != EXIT_OK)
    return status;
  status = run_bench(job);
  rowscan_close(job->context);
  output_abandon(&job->csv);
  return status;
}

int command_bench(int argc, char **argv) {
  bench_job job = {.session = {.device = -1, .compile = ROWSCAN_COMPILE_NOW},
                   .csv = OUTPUT_NONE,
                   .device = ROWSCAN_INFO(rowscan_device_info),
                   .suite.seed = -1};
  int status = read_bench_options(&job, argc, argv);
  if (job.universal) {
    job.session.bare = true;
    job.session.compile = ROWSCAN_COMPILE_NEVER;
  }
  if (status == OPTIONS_READ)
    status = job.list ? run_suite(&job) : run_in_session(&job);
  free(job.suite.drawn);
  free(job.scores);
  return status;
}
