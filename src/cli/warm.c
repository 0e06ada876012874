/*
 * warm.c - rowscan warm: fills the cache with the kernels of a list of specs, before they are needed
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "commands.h"
#include "json.h"
#include "lists.h"
#include "op_file.h"
#include "options.h"
#include "say.h"
#include "session.h"

enum { MOST_TOLD = 20 }; /* failures on standard error */

typedef struct warm_job {
  const char *file, *arch_list, *op_file;
  bool general, universal;
  int jobs;
  int64_t limit;
  bool as_json, quiet;
  cli_archs archs;
  rowscan_spec *specs;
  int64_t *lines; /* that the specs stand in */
  int64_t count;
  size_t room;
  json_writer json;
  int64_t kernels, compiled, failed;
} warm_job;

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static bool grow_lists(warm_job *job) {
  size_t count = (size_t)job->count, room = job->room;
  rowscan_spec *specs = rs_list_room(job->specs, count, &job->room, sizeof *specs);
  int64_t *lines = specs ? rs_list_room(job->lines, count, &room, sizeof *lines) : NULL;
  job->specs = specs ? specs : job->specs;
  job->lines = lines ? lines : job->lines;
  return lines;
}

static int read_spec(void *user, const char *line, int64_t number) {
  warm_job *job = user;
  if (!grow_lists(job))
    return say_failed("%s:%lld: out of memory", job->file, (long long)number);
  rowscan_spec *spec = &job->specs[job->count];
  *spec = (rowscan_spec){.size = sizeof *spec};
  if (rowscan_spec_parse(spec, line) != ROWSCAN_OK)
    return say_failed("%s:%lld: %s", job->file, (long long)number, rowscan_last_error());
  job->lines[job->count++] = number;
  return EXIT_OK;
}

static int read_list(warm_job *job) {
  int result = list_read(&job->file, read_spec, job);
  return result != EXIT_OK || job->count ? result : say_failed("%s: has no spec", job->file);
}

/* Of any length, forward and in reverse, with a mask and without; each serves inclusive scans and exclusive ones. */
static int make_general_list(warm_job *job) {
  static const char *const types[] = {"f16", "bf16", "f32", "f64", "i32", "i64", "bool"};
  static const char *const masks[] = {"none", "select"}, *const layouts[] = {"rows", "columns"};
  enum { VARIANTS = 8 };
  int result = EXIT_OK;
  job->file = "--general";
  for (int i = 0; i < COUNT_OF(types) * VARIANTS && result == EXIT_OK; i++) {
    char line[128];
    snprintf(line, sizeof line, "op=sum in=%s length=any mask=%s reverse=%d layout=%s", types[i / VARIANTS],
             masks[i / 4 % 2], i / 2 % 2, layouts[i % 2]);
    result = read_spec(job, line, i + 1);
  }
  return result;
}

/* ---- warming ----------------------------------------------------------------------------------------------------- */

static void tell_failure(warm_job *job, const rowscan_warmed *one) {
  long long line = job->universal ? one->spec + 1 : job->lines[one->spec];
  job->failed++;
  if (job->as_json) {
    json_object(&job->json, NULL);
    json_integer(&job->json, "line", line);
    json_text(&job->json, "arch", one->arch);
    json_text(&job->json, "error", one->message);
    json_end(&job->json);
  }
  if (job->failed > MOST_TOLD)
    return;
  progress_end();
  char what[PATH_MAX + 64];
  snprintf(what, sizeof what, "%s:%lld: %s", job->file, line, one->arch);
  say_message(what, one->message);
}

static int note(void *user, const rowscan_warmed *one) {
  warm_job *job = user;
  job->kernels += one->modules;
  job->compiled += one->compiled;
  if (one->status != ROWSCAN_OK)
    tell_failure(job, one);
  progress_bar(one->done, one->total);
  return 0;
}

static void print_warm_head(warm_job *job) {
  if (!job->as_json)
    return;
  json_object(&job->json, NULL);
  json_integer(&job->json, "specs", job->count);
  json_array(&job->json, "archs");
  for (int i = 0; i < job->archs.count; i++)
    json_text(&job->json, NULL, job->archs.name[i]);
  json_end(&job->json);
  json_array(&job->json, "failures");
}

/* error: of the whole, where none of the pairs failed; NULL: none. */
static void print_end(warm_job *job, double seconds, const char *error) {
  if (job->failed > MOST_TOLD)
    say_note("and %lld more failed", (long long)job->failed - MOST_TOLD);
  if (job->as_json) {
    json_end(&job->json);
    json_integer(&job->json, "kernels", job->kernels);
    json_integer(&job->json, "compiled", job->compiled);
    json_integer(&job->json, "failed", job->failed);
    json_text(&job->json, "error", error);
    json_number(&job->json, "seconds", seconds);
    json_end(&job->json);
  } else {
    if (!job->universal)
      printf("specs %lld, ", (long long)job->count);
    printf("architectures %d, kernels %lld: %lld compiled, %lld found in the cache; %lld failed; %.1f s\n",
           job->archs.count, (long long)job->kernels, (long long)job->compiled,
           (long long)(job->kernels - job->compiled), (long long)job->failed, seconds);
  }
}

static int warm(warm_job *job, rowscan_context *context) {
  int result = archs_find(&job->archs, context);
  if (result != EXIT_OK)
    return result;
  const char *archs[ARCHS_MAX];
  for (int i = 0; i < job->archs.count; i++)
    archs[i] = job->archs.name[i];
  print_warm_head(job);
  double start = rs_now_seconds();
  if (!job->quiet && progress_possible())
    progress_start();
  rowscan_status status =
      rowscan_warm(context, ROWSCAN_WARMING(.specs = job->specs, .spec_count = job->count, .archs = archs,
                                            .arch_count = job->archs.count, .threads = job->jobs, .visit = note,
                                            .user = job, .universal = job->universal));
  progress_end();
  const char *error = status != ROWSCAN_OK && !job->failed ? rowscan_last_error() : NULL;
  if (error)
    say_message(NULL, error);
  print_end(job, rs_now_seconds() - start, error);
  return status == ROWSCAN_OK ? EXIT_OK : EXIT_FAILED;
}

/* One list, and no more. */
static int check_list(const warm_job *job) {
  const char *option = job->general ? "--general" : "--universal";
  if (job->file && (job->general || job->universal))
    return say_usage("extra operand '%s': %s replaces the list", job->file, option);
  if (job->general && job->universal)
    return say_usage("--universal: --general is a list of its own");
  return job->file || job->general || job->universal
             ? OPTIONS_READ
             : say_usage("missing operand: FILE, or one of the options --general and --universal");
}

static int make_list(warm_job *job) {
  if (!job->universal)
    return job->general ? make_general_list(job) : read_list(job);
  job->file = "--universal";
  return EXIT_OK;
}

int command_warm(int argc, char **argv) {
  warm_job job = {.limit = -1, .json = {.file = stdout}};
  const cli_option options[] = {
      ARCHS_OPTION(job.arch_list),
      OP_FILE_OPTION(job.op_file),
      {"general", 0, &kind_switch, &job.general, "instead of FILE: kernels for any length, of common scans"},
      {"universal", 0, &kind_switch, &job.universal, "instead of FILE: kernels that serve every scan at once"},
      {"limit", 0, &kind_count, &job.limit, "bytes that the cache may hold (268435456)"},
      {"jobs", 'j', &kind_natural, &job.jobs, "number of compiles at the same time (0: one for each processor)"},
      {"json", 0, &kind_switch, &job.as_json, "print a summary as a JSON object"},
      {"quiet", 'q', &kind_switch, &job.quiet, "no progress bar"},
  };
  const cli_syntax syntax = {
      .name = "warm",
      .operands = "FILE|--general|--universal",
      .operand_more = 1,
      .about =
          "Compiles the kernels of a list of scans into the cache, on all cores, for any GPU architectures. Needs\n"
          "NVRTC, but no GPU and no driver. FILE (-: standard input) has one scan in a line, such as\n"
          "'in=f32 length=32768 reverse=1'; # begins a comment. The fields are op, in, out, acc, mask, mask_type,\n"
          "reverse, exclusive, length, layout, row_rank and regime; all but length have defaults. --general stands\n"
          "for a list of its own: sums of f16, bf16, f32, f64, i32, i64 and bool, of any length, forward and in\n"
          "reverse, with a mask of bool and without a mask, along rows and along columns. --universal stands\n"
          "for the kernels that serve every scan of the operators of rowscan until its own are compiled; a library\n"
          "that was built where NVRTC was has them inside. With ROWSCAN_CACHE=only\n"
          "nothing is compiled, and missing kernels are reported: in an image that has packs,\n"
          "ROWSCAN_CACHE=off,only rowscan warm ... checks that they are complete, and writes nothing.",
      .options = options,
      .option_count = COUNT_OF(options),
  };
  cli_session host = SESSION_KERNELS;
  rowscan_context *context;
  rowscan_op op = ROWSCAN_SUM; /* which the list may name then */
  int status = options_read(&syntax, argc, argv, &job.file);
  if (status == OPTIONS_READ)
    status = op_file_read(&op, job.op_file);
  if (status == OPTIONS_READ)
    status = archs_read(&job.archs, job.arch_list);
  if (status == OPTIONS_READ && !job.limit)
    status = say_usage("--limit: 0 bytes cannot hold a kernel");
  if (status == OPTIONS_READ)
    status = check_list(&job);
  if (status != OPTIONS_READ)
    return status;
  status = make_list(&job);
  host.cache_limit = job.limit > 0 ? job.limit : 0;
  if (status == EXIT_OK)
    status = session_open(&context, &host);
  if (status == EXIT_OK) {
    status = warm(&job, context);
    rowscan_close(context);
  }
  free(job.specs);
  free(job.lines);
  return status;
}
