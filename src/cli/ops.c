/*
 * ops.c - rowscan ops: the operators
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "commands.h"
#include "json.h"
#include "options.h"
#include "say.h"
#include "spec/types.h"

/* P(0), where it is not 0, and where rowscan.h has it in words. */
static const char *const identities[] = {
    [ROWSCAN_PROD] = "1",       [ROWSCAN_MAX] = "lowest value", [ROWSCAN_MIN] = "highest value",
    [ROWSCAN_AND] = "all bits", [ROWSCAN_LOGSUMEXP] = "-inf",   [ROWSCAN_EXTENDED_PROD] = "1",
    [ROWSCAN_ARGMAX] = "-1",    [ROWSCAN_ARGMIN] = "-1",
};

static const char *identity_of(rowscan_op op) {
  return op < COUNT_OF(identities) && identities[op] ? identities[op] : "0";
}

/* What a scan of this type accumulates in if nobody says otherwise; NULL: there is no such scan. */
static const char *accumulator(rowscan_op op, rowscan_type type) {
  rowscan_spec spec = {.size = sizeof spec, .op = op, .in_type = type, .length = 1};
  return rowscan_spec_complete(&spec) ? NULL : rowscan_type_name(spec.acc_type);
}

static const char *types_of(rowscan_op op) {
  bool floats = accumulator(op, ROWSCAN_F32), others = accumulator(op, ROWSCAN_I32);
  return floats && others ? "all" : floats ? "floats" : "integers, bool";
}

static void print_op_row(rowscan_op op, const rs_op *row) {
  const char *of_f32 = accumulator(op, ROWSCAN_F32), *of_i32 = accumulator(op, ROWSCAN_I32);
  printf("%-19s %6d %6d %7d  %-14s  %-13s  %-7s  %s\n", row->name, 1 + row->coefficient + row->more, row->params,
         1 + row->second, types_of(op), identity_of(op), of_f32 ? of_f32 : "", of_i32 ? of_i32 : "");
}

static void print_op_json(json_writer *json, rowscan_op op, const rs_op *row) {
  json_object(json, NULL);
  json_text(json, "op", row->name);
  json_integer(json, "inputs", 1 + row->coefficient + row->more);
  json_integer(json, "params", row->params);
  json_integer(json, "outputs", 1 + row->second);
  json_text(json, "identity", identity_of(op));
  json_object(json, "accumulators");
  for (rowscan_type type = ROWSCAN_F16; type <= ROWSCAN_BOOL; type++)
    if (accumulator(op, type))
      json_text(json, rowscan_type_name(type), accumulator(op, type));
  json_end(json);
  json_end(json);
}

int command_ops(int argc, char **argv) {
  bool as_json = false;
  const cli_option options[] = {{"json", 0, &kind_switch, &as_json, "print a JSON array of objects"}};
  const cli_syntax syntax = {
      .name = "ops",
      .about = "Lists the operators: the number of input arrays, of numbers in --params and of outputs; the types of\n"
               "elements; the identity, with which exclusive scans begin; the default accumulators of f32 and i32.",
      .options = options,
      .option_count = COUNT_OF(options)};
  int result = options_read(&syntax, argc, argv, NULL);
  if (result != OPTIONS_READ)
    return result;
  json_writer json = {.file = stdout};
  if (as_json)
    json_array(&json, NULL);
  else
    printf("%-19s %6s %6s %7s  %-14s  %-13s  %-7s  %s\n", "operator", "inputs", "params", "outputs", "types",
           "identity", "acc f32", "acc i32");
  for (int op = 0; rs_op_of((rowscan_op)op); op++)
    if (as_json)
      print_op_json(&json, (rowscan_op)op, rs_op_of((rowscan_op)op));
    else
      print_op_row((rowscan_op)op, rs_op_of((rowscan_op)op));
  if (as_json)
    json_end(&json);
  return EXIT_OK;
}
