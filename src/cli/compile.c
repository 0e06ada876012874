/*
 * compile.c - rowscan compile and rowscan source: the kernels of a scan, for any architecture
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "json.h"
#include "op_file.h"
#include "options.h"
#include "output.h"
#include "say.h"
#include "session.h"

typedef struct compile_job {
  rowscan_spec spec;
  const char *arch_list, *directory, *op_file;
#define FLAG(bit, name, ...) bool name;
  RS_SPEC_FIELDS(RS_NO_ROW, RS_NO_ROW, FLAG) /* reverse, exclusive, ... */
#undef FLAG
  bool as_json;
  cli_archs archs;
  json_writer json;
} compile_job;

enum { UNSAID = INT_MIN };

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int complete_job(compile_job *job) {
  rowscan_spec *spec = &job->spec;
#define FLAG(bit, name, ...) spec->flags |= job->name ? (bit) : 0;
  RS_SPEC_FIELDS(RS_NO_ROW, RS_NO_ROW, FLAG)
#undef FLAG
  if (spec->mask_type && !spec->mask_mode && !rs_op_has_coefficient(spec->op))
    spec->mask_mode = ROWSCAN_MASK_SELECT;
  if (spec->length == UNSAID)
    return say_usage("--length is required: the number of elements along the scanned dimension");
  return archs_read(&job->archs, job->arch_list);
}

/* What follows --arch: an option for each field of a spec. */
#define OPTION(...)                                                                                                    \
  , {                                                                                                                  \
    __VA_ARGS__                                                                                                        \
  }
#define MEMBER(member, name, values, when, given, option, help)                                                        \
  OPTION(option, 0, &kind_##values, &job->spec.member, help)
#define FLAG(bit, name, when, option, help) OPTION(option, 0, &kind_switch, &job->name, help)

static int read_compile_options(compile_job *job, const char *name, const char *about, int argc, char **argv) {
  const cli_option options[] = {
      ARCHS_OPTION(job->arch_list) RS_SPEC_FIELDS(MEMBER, RS_NO_ROW, FLAG),
      OP_FILE_OPTION(job->op_file),
      {"output", 'o', &kind_directory, &job->directory, "write a .cu, .ptx and .cubin file for each line of the table"},
      {"json", 0, &kind_switch, &job->as_json, "print the table as a JSON array of objects"},
  };
  const cli_syntax syntax = {.name = name,
                             .about = about,
                             .options = options,
                             .option_count = COUNT_OF(options) - (strcmp(name, "source") ? 0 : 2)};
  int status = options_read(&syntax, argc, argv, NULL);
  if (status == OPTIONS_READ)
    status = op_file_read(&job->spec.op, job->op_file);
  return status == OPTIONS_READ ? complete_job(job) : status;
}

/* ---- compile: what is printed ------------------------------------------------------------------------------------ */

static void print_module_head(compile_job *job) {
  if (job->as_json)
    json_array(&job->json, NULL);
  else
    printf("%-8s %-7s %-12s %9s %9s %9s %9s %9s %9s %9s  %s\n", "arch", "regime", "kernel", "registers", "shared",
           "local", "spills", "PTX", "CUBIN", "ms", "cache");
}

static void print_module_json(json_writer *json, const rowscan_module_info *info) {
  json_object(json, NULL);
  json_text(json, "arch", info->arch);
  json_text(json, "regime", rowscan_regime_name(info->regime));
  json_text(json, "kernel", info->kernel);
  json_integer(json, "registers", info->registers);
  json_integer(json, "shared_bytes", info->shared_bytes);
  json_integer(json, "local_bytes", info->local_bytes);
  json_integer(json, "spill_bytes", info->spill_bytes);
  json_integer(json, "ptx_bytes", (int64_t)info->ptx_bytes);
  json_integer(json, "cubin_bytes", (int64_t)info->cubin_bytes);
  json_number(json, "ms", info->build_ms);
  json_text(json, "cache", info->cached ? "hit" : "miss");
  json_end(json);
}

static void print_module_row(compile_job *job, const rowscan_module_info *info) {
  if (job->as_json)
    print_module_json(&job->json, info);
  else
    say_line("%-8s %-7s %-12s %9d %9d %9d %9d %9zu %9zu %9.2f  %s", info->arch, rowscan_regime_name(info->regime),
             info->kernel, info->registers, info->shared_bytes, info->local_bytes, info->spill_bytes, info->ptx_bytes,
             info->cubin_bytes, info->build_ms, info->cached ? "hit" : "miss");
  fflush(stdout);
}

/* ---- compile: what is written ------------------------------------------------------------------------------------ */

/* "DIR/sm_90-row-aligned-sum-f32-32768-reverse", to which the three endings are added. */
static int file_stem(char *stem, size_t room, const char *directory, const rowscan_spec *spec,
                     const rowscan_module_info *info) {
  char length[24] = "any", out[32] = "", acc[32] = "", mask[48] = "", rank[32] = "";
  bool columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS;
  if (spec->length != ROWSCAN_ANY_LENGTH)
    snprintf(length, sizeof length, "%lld", (long long)spec->length);
  if (spec->out_type != spec->in_type)
    snprintf(out, sizeof out, "-to-%s", rowscan_type_name(spec->out_type));
  if (spec->acc_type != spec->out_type)
    snprintf(acc, sizeof acc, "-in-%s", rowscan_type_name(spec->acc_type));
  if (spec->mask_mode)
    snprintf(mask, sizeof mask, "-%s-%s", rs_mask_mode_values.words[spec->mask_mode],
             rowscan_type_name(spec->mask_type));
  if (spec->row_rank != (columns ? 2 : 1))
    snprintf(rank, sizeof rank, "-rank-%d", spec->row_rank);
  int written =
      snprintf(stem, room, "%s/%s-%s-%s-%s-%s-%s%s%s%s%s%s%s%s%s%s", directory, info->arch,
               rowscan_regime_name(info->regime), info->kernel, rowscan_op_name(spec->op),
               rowscan_type_name(spec->in_type), length, out, acc, spec->flags & ROWSCAN_EXCLUSIVE ? "-exclusive" : "",
               spec->flags & ROWSCAN_REVERSE ? "-reverse" : "", spec->flags & ROWSCAN_OMIT_NAN ? "-omit-nan" : "",
               spec->flags & ROWSCAN_TIES_FIRST ? "-ties-first" : "", mask, columns ? "-columns" : "", rank);
  return (size_t)written < room ? EXIT_OK : say_failed("%s: the name is too long", directory);
}

static int write_files(const char *directory, const rowscan_spec *spec, const rowscan_module_info *info) {
  const struct {
    const char *ending;
    const void *bytes;
    size_t length;
  } files[] = {
      {".cu", info->source, strlen(info->source)},
      {".ptx", info->ptx, info->ptx_bytes},
      {".cubin", info->cubin, info->cubin_bytes},
  };
  char stem[PATH_MAX - 16], name[PATH_MAX];
  int status = file_stem(stem, sizeof stem, directory, spec, info);
  for (int i = 0; i < COUNT_OF(files) && status == EXIT_OK; i++) {
    snprintf(name, sizeof name, "%s%s", stem, files[i].ending);
    if (files[i].bytes)
      status = output_file(name, files[i].bytes, files[i].length);
  }
  return status;
}

static int make_directory(const char *name) {
  return name && mkdir(name, 0777) && errno != EEXIST ? say_failed("%s: cannot be made: %s", name, strerror(errno))
                                                      : EXIT_OK;
}

/* ---- compile ----------------------------------------------------------------------------------------------------- */

static int show_plan(compile_job *job, const rowscan_plan *plan, const char *arch) {
  rowscan_plan_info info = ROWSCAN_INFO(info);
  rowscan_spec spec = ROWSCAN_INFO(spec);
  rowscan_status status = rowscan_plan_spec(plan, &spec);
  if (status == ROWSCAN_OK)
    status = rowscan_plan_info_get(plan, &info);
  int result = EXIT_OK;
  for (int i = 0; status == ROWSCAN_OK && i < info.modules && result == EXIT_OK; i++) {
    rowscan_module_info module = ROWSCAN_INFO(module);
    status = rowscan_plan_module(plan, i, &module);
    if (status == ROWSCAN_OK && job->directory)
      result = write_files(job->directory, &spec, &module);
    if (status == ROWSCAN_OK)
      print_module_row(job, &module);
  }
  return status == ROWSCAN_OK ? result : say_library(arch, status);
}

static int compile(compile_job *job, rowscan_context *context, const char *arch) {
  rowscan_plan *plan;
  rowscan_status status = rowscan_plan_compile(&plan, context, &job->spec, arch);
  if (status != ROWSCAN_OK)
    return say_library(arch, status);
  int result = show_plan(job, plan, arch);
  rowscan_plan_destroy(plan);
  return result;
}

/* One architecture that fails does not keep the others from the table. */
static int compile_all(compile_job *job, rowscan_context *context) {
  int result = archs_find(&job->archs, context);
  if (result == EXIT_OK)
    result = make_directory(job->directory);
  if (result != EXIT_OK)
    return result;
  output_prints();
  print_module_head(job);
  for (int i = 0; i < job->archs.count; i++)
    if (compile(job, context, job->archs.name[i]) != EXIT_OK)
      result = EXIT_FAILED;
  if (job->as_json)
    json_end(&job->json);
  return result;
}

static void start(compile_job *job) {
  *job = (compile_job){.spec = {.size = sizeof job->spec, .length = UNSAID}, .json = {.file = stdout}};
}

static const char compile_about[] =
    "Compiles the kernels of a scan, or finds them in the cache, and prints a line for each: registers, memory in\n"
    "bytes, milliseconds. A run launches one of the kernels, chosen by its strides, its alignment and the number of\n"
    "its rows. Needs NVRTC, but no GPU and no driver.\n\n"
    "Regimes: row is one block of threads for each row; short, several rows for each block; long, several blocks\n"
    "for each row; column, many adjacent rows for each block. Kernels, named by the rows that they take:\n"
    "  any            rows of any strides\n"
    "  dense          adjacent elements, at any address; short: adjacent rows, too; column: few columns in one run\n"
    "  aligned        adjacent elements (column: adjacent columns), on multiples of 16 bytes\n"
    "  aligned_slow   the same, where memory is slow for the number of multiprocessors\n"
    "  few            adjacent elements, for so few rows that all are in work at once; column: two columns\n"
    "  neighbours     column: adjacent columns, at any address\n"
    "  at_once        column: columns so short that all tiles are computed at once\n"
    "  pairs, threes, fours, fives, sixes, sevens, eights\n"
    "                 column: two to eight long columns\n"
    "  many           column: so many columns that each block takes whole ones\n"
    "  walk           column: so many columns, with any strides, that a few threads take whole ones\n"
    "  long_any, long_dense, long_aligned, long_few\n"
    "                 long: as the names without long_";

int command_compile(int argc, char **argv) {
  compile_job job;
  cli_session host = SESSION_KERNELS;
  rowscan_context *context;
  start(&job);
  int status = read_compile_options(&job, "compile", compile_about, argc, argv);
  if (status == OPTIONS_READ)
    status = session_open(&context, &host);
  else
    return status;
  if (status == EXIT_OK) {
    status = compile_all(&job, context);
    rowscan_close(context);
  }
  return status;
}

/* ---- source ------------------------------------------------------------------------------------------------------ */

int command_source(int argc, char **argv) {
  compile_job job;
  start(&job);
  job.arch_list = "sm_90";
  int result =
      read_compile_options(&job, "source",
                           "Prints the generated CUDA source of each kernel of a scan, for one architecture (sm_90).\n"
                           "Needs neither a compiler nor a GPU.",
                           argc, argv);
  if (result != OPTIONS_READ)
    return result;
  if (job.archs.all)
    return say_usage("--arch: name one architecture");
  char *source;
  rowscan_status status = ROWSCAN_OK;
  int module = 0;
  while ((status = rowscan_source(&job.spec, job.archs.name[0], module, &source)) == ROWSCAN_OK) {
    printf("%s", module++ ? "\n" : "");
    say_exactly(source, true);
    rowscan_free(source);
  }
  bool all = module > 0 && status == ROWSCAN_BAD_ARGUMENT; /* there is no such module */
  return all ? EXIT_OK : say_library(job.archs.name[0], status);
}
