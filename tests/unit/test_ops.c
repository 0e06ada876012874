/*
 * test_ops.c - operators that callers create: what their first line says, their numbers, and what of them is refused
 * SPDX-License-Identifier: MIT
 *
 * That they scan what they should is tested with all other operators (tests/gpu/affine.c, welford.c and continuants.c).
 */
#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/run_tests.h"
#include "measure/measure.h"
#include "rowscan.h"

static rowscan_context *context;

static void open_host(void) {
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1)));
}

static void close_host(void) {
  rowscan_close(context);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* The largest absolute value; or other things, by what `combine` is. */
static void load(void *total, const void *x, const void *coefficient) {
  (void)coefficient;
  *(float *)total = *(const float *)x < 0 ? -*(const float *)x : *(const float *)x;
}
static void store(void *y, const void *total) {
  *(float *)y = *(const float *)total;
}
static void neutral(void *total) {
  *(float *)total = 0;
}
static void larger(void *total, const void *left, const void *right) {
  *(float *)total = *(const float *)left > *(const float *)right ? *(const float *)left : *(const float *)right;
}
static void average(void *total, const void *left, const void *right) {
  float l = *(const float *)left, r = *(const float *)right;
  *(float *)total = r == 0 ? l : l == 0 ? r : (l + r) / 2;
}
static void less_one(void *total, const void *left, const void *right) {
  *(float *)total = *(const float *)left + *(const float *)right - 1;
}

#define FUNCTIONS(how)                                                                                                 \
  { .load = load, .combine = how, .store = store, .neutral = neutral }
static const rowscan_op_functions by_larger = FUNCTIONS(larger), by_average = FUNCTIONS(average),
                                  by_less_one = FUNCTIONS(less_one);

/* A text with such a first line; none of these is compiled but by tests that say so. */
static const char *text_of(char text[512], const char *line, const char *rest) {
  snprintf(text, 512, "// rowscan: %s\n%s", line, rest);
  return text;
}

static rowscan_op create(const char *line, const rowscan_op_functions *f32) {
  char text[512];
  rowscan_op op = ROWSCAN_SUM;
  ck_assert_msg(!rowscan_op_create(&op, ROWSCAN_OPERATOR(.source = text_of(text, line, ""), .f32 = f32)), "%s",
                rowscan_last_error());
  ck_assert_int_ge(op, ROWSCAN_FIRST_CREATED);
  return op;
}

static void refuse(rowscan_status as, const rowscan_operator *given, const char *message) {
  rowscan_op op = ROWSCAN_XOR;
  ck_assert_int_eq(rowscan_op_create(&op, given), as);
  ck_assert_msg(strstr(rowscan_last_error(), message) != NULL, "'%s' is not in '%s'", message, rowscan_last_error());
  ck_assert_int_eq(op, ROWSCAN_XOR);
}

/* ---- the first line ---------------------------------------------------------------------------------------------- */

START_TEST(first_lines_that_are_wrong) {
  static const struct {
    const char *line, *message;
  } wrong[] = {
      {"", "has no op=NAME"},
      {"numbers=2", "has no op=NAME"},
      {"op=", "'op=' in its first line: op must be a letter or _"},
      {"op=2D", "'op=2D' in its first line: op must be a letter or _"},
      {"op=a-b", "'op=a-b'"},
      {"op=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno", "at most 40 characters"},
      {"op=sum", "op=sum is the name of an operator of the library"},
      {"op=argmin", "op=argmin is the name"},
      {"op=W numbers=0", "'numbers=0' in its first line: numbers must be 1, 2, 3 or 4"},
      {"op=W numbers=5", "'numbers=5'"},
      {"op=W numbers=12", "'numbers=12'"},
      {"op=W types=float", "'types=float' in its first line: types must be any, floats or integers"},
      {"op=W coefficient=yes", "'coefficient=yes' in its first line: coefficient must be 0 or 1"},
      {"op=W commutative=1", "'commutative=1' in its first line is unknown; the fields are op, numbers, types, "
                             "coefficient, inputs, params, outputs"},
      {"op=W inputs=6", "'inputs=6' in its first line: inputs must be 1, 2, 3, 4 or 5"},
      {"op=W params=5", "'params=5' in its first line: params must be 0, 1, 2, 3 or 4"},
      {"op=W outputs=3", "'outputs=3' in its first line: outputs must be 1 or 2"},
      {"op=W inputs=2 coefficient=1", "has both coefficient=1 and inputs=2; make the coefficient one of the inputs"},
      {"op=W params=1", "params=1 in its first line requires types=floats"},
      {"op=W op=W", "'op' is given twice"},
      {"op=W and more", "'and' in its first line is not field=value"},
  };
  char text[512];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = text_of(text, wrong[i].line, "")), wrong[i].message);
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = "template <class A>\n"),
         "its first line, 'template <class A>', does not begin with '// rowscan:'");
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = ""), "its first line, ''");
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.f32 = &by_larger), "field 'source': NULL");
  refuse(ROWSCAN_BAD_ARGUMENT, &(rowscan_operator){.source = ""},
         "field 'size': 0 is not a size of this struct; use ROWSCAN_OPERATOR");
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------- */

#define FILE_NAME "\"/etc/hostname\""

/* NVRTC 13.0 reads the file, or looks for it, in the first part of these; other compilers in others. */
START_TEST(a_text_reads_no_files) {
  static const struct {
    const char *text, *message;
  } wrong[] = {
      {"#include " FILE_NAME, "line 2: '#include' is rejected, even in a comment: an operator must not read files"},
      {"\n#include \"plus.h\"", "line 3: '#include'"},
      {"#include<math.h>", "'#include'"},
      {"  #  \t include " FILE_NAME, "'#include'"},
      {"\v#\finclude\r" FILE_NAME, "'#include'"},
      {"#include_next " FILE_NAME, "'#include'"},
      {"#define X " FILE_NAME "\n#include X", "line 3: '#include'"},
      {"%:include " FILE_NAME, "'#include'"},
      {"%\\\n: \\\n inc\\\nlude " FILE_NAME, "'#include'"},
      {"#inc\\\nlude " FILE_NAME, "'#include'"},
      {"#\\\r\ninc\\\r\n\\\r\nlude " FILE_NAME, "'#include'"},
      {"#/* */include " FILE_NAME, "line 2: a comment follows '#'"},
      {"# \\\n /\\\n*\n*/ include " FILE_NAME, "a comment follows '#'"},
      {"/*\n*/ #include " FILE_NAME, "line 3: '#include'"},
      {"const char *s = R\"x(*/)x\"; /*\n#include " FILE_NAME "\n*/", "'#include'"},
      {"#if __has_include(" FILE_NAME ")\n#endif", "'__has_include' is rejected"},
      {"#if __has_include_next(" FILE_NAME ")\n#endif", "'__has_include' is rejected"},
      {"#if __has_\\\ninclude(" FILE_NAME ")\n#endif", "'__has_include'"},
      {"#define H __has_include\n#if H(" FILE_NAME ")\n#endif", "'__has_include'"},
      {"#define C(a, b) a##b\n#if C(__has_, include)(" FILE_NAME ")\n#endif", "'__has_include'"},
      {"#define C(a, b) a%:%:b\n#if C(_, C(_has_inc, lude))(" FILE_NAME ")\n#endif", "'__has_include'"},
      {"?\?=include " FILE_NAME, "'#include'"},
      {"#inc?\?/\nlude " FILE_NAME, "'#include'"},
      {"#inc\\ \nlude " FILE_NAME, "'#include'"},
      {"#import " FILE_NAME, "'#import'"},
      {"int a[] = {\n#embed " FILE_NAME "\n};", "line 3: '#embed'"},
      {"#if __has_embed(" FILE_NAME ")\n#endif", "'__has_embed'"},
  };
  char text[512];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = text_of(text, "op=Reader", wrong[i].text)),
           wrong[i].message);
}
END_TEST

/* What is near to that is left alone. */
START_TEST(other_directives_are_served) {
  static const char rest[] = "#define EACH(x, y) x##y \\\n  + 1\n#if defined(EACH) && 1 % 2 ? 1 : 0\n#\n/* include */\n"
                             "#endif // it has one, as a text may include\n#pragma unroll\n#line 7 \"include\"\n"
                             "int include, import, embed, __has_builtin;\n#undef EACH\n#";
  char text[512];
  rowscan_op op;
  ck_assert_msg(!rowscan_op_create(&op, ROWSCAN_OPERATOR(.source = text_of(text, "op=NoReader", rest))), "%s",
                rowscan_last_error());
}
END_TEST

START_TEST(functions_that_are_wrong) {
  rowscan_op_functions some = by_larger;
  some.combine = NULL;
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = "// rowscan: op=Some", .u64 = &some),
         "field 'u64': its 'combine' is NULL");
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = "// rowscan: op=Some coefficient=1", .f64 = &by_larger),
         "field 'f64': its 'begin' is NULL, but the operator has coefficients");
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = "// rowscan: op=Some inputs=2", .f64 = &by_larger),
         "field 'f64': its 'begin' is NULL, but the operator has further inputs");
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = "// rowscan: op=Some outputs=2", .f32 = &by_larger),
         "field 'second_f32': NULL, but the operator has two outputs");
}
END_TEST

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

START_TEST(an_operator_is_one_for_good) {
  rowscan_spec spec = {.size = sizeof spec};
  ck_assert_int_eq(rowscan_op_by_name("Once"), -1);
  ck_assert_int_eq(rowscan_spec_parse(&spec, "op=Once length=10"), ROWSCAN_BAD_ARGUMENT);
  ck_assert_str_eq(rowscan_last_error(),
                   "spec: field 'op': 'Once' is not one of sum, prod, max, min, and, or, xor, linear_recurrence, "
                   "logsumexp, extended_prod, argmax, argmin, gae, weighted_recurrence, decayed_sum, sum_gradient, "
                   "extremum_gradient, logsumexp_gradient");
  rowscan_op once = create("op=Once\tnumbers=1  types=any coefficient=0 \r", &by_larger),
             twice = create("op=Twice", NULL);
  ck_assert_int_ne(once, twice);
  ck_assert_int_eq(create("op=Once\tnumbers=1  types=any coefficient=0 \r", &by_larger), once);
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = "// rowscan: op=Once"),
         "op=Once exists already, with other text");
  refuse(ROWSCAN_BAD_ARGUMENT, ROWSCAN_OPERATOR(.source = "// rowscan: op=Twice\n", .f32 = &by_larger),
         "op=Twice exists already, with other host functions");
  ck_assert_str_eq(rowscan_op_name(once), "Once");
  ck_assert_int_eq(rowscan_op_by_name("Once"), once);
  char *text;
  ck_assert(!rowscan_spec_parse(&spec, "op=Once length=10"));
  ck_assert_int_eq(spec.op, once);
  ck_assert(!rowscan_spec_text(&spec, &text));
  ck_assert_str_eq(text,
                   "op=Once in=f32 out=f32 acc=f32 mask=none reverse=0 exclusive=0 length=10 layout=rows row_rank=1");
  rowscan_free(text);
  spec.op = (rowscan_op)(twice + 1);
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_BAD_ARGUMENT);
}
END_TEST

enum { THREADS = 8, OPS = 8 };
static rowscan_op made[THREADS][OPS];
static pthread_barrier_t all_are_there;

static void *create_all(void *at) {
  rowscan_op *mine = at;
  char text[512], line[32], name[24];
  pthread_barrier_wait(&all_are_there);
  for (int i = 0; i < OPS; i++) {
    snprintf(name, sizeof name, "Crowd%d", i);
    snprintf(line, sizeof line, "op=%s", name);
    bool good = !rowscan_op_create(&mine[i], ROWSCAN_OPERATOR(.source = text_of(text, line, ""), .f32 = &by_larger));
    if (!good || strcmp(rowscan_op_name(mine[i]), name) != 0)
      mine[i] = ROWSCAN_SUM;
  }
  return NULL;
}

START_TEST(many_threads) {
  pthread_t thread[THREADS];
  ck_assert(!pthread_barrier_init(&all_are_there, NULL, THREADS));
  for (int t = 0; t < THREADS; t++)
    ck_assert(!pthread_create(&thread[t], NULL, create_all, made[t]));
  for (int t = 0; t < THREADS; t++)
    pthread_join(thread[t], NULL);
  for (int t = 0; t < THREADS; t++)
    for (int i = 0; i < OPS; i++) {
      ck_assert_int_ge(made[t][i], ROWSCAN_FIRST_CREATED);
      ck_assert_int_eq(made[t][i], made[0][i]);
    }
}
END_TEST

/* The last test, for the process has no room for others then. */
START_TEST(there_are_64_at_most) {
  char text[512], line[32];
  rowscan_op op;
  int count = 0;
  while (rowscan_op_name((rowscan_op)(ROWSCAN_FIRST_CREATED + count))[0] != 'u') /* unknown */
    count++;
  for (; count < 64; count++) {
    snprintf(line, sizeof line, "op=Of%d", count);
    ck_assert(!rowscan_op_create(&op, ROWSCAN_OPERATOR(.source = text_of(text, line, ""))));
    ck_assert_int_eq(op, ROWSCAN_FIRST_CREATED + count);
  }
  refuse(ROWSCAN_UNSUPPORTED, ROWSCAN_OPERATOR(.source = "// rowscan: op=Of64"),
         "Of64: the process has created 64 operators, which is the limit");
  ck_assert_int_eq(create("op=Of63", NULL), op);
}
END_TEST

/* ---- specs ------------------------------------------------------------------------------------------------------- */

static void refuse_spec(rowscan_spec spec, rowscan_status as, const char *message) {
  spec.size = sizeof spec;
  ck_assert_int_eq(rowscan_spec_complete(&spec), as);
  ck_assert_str_eq(rowscan_last_error(), message);
}

START_TEST(what_it_serves) {
  rowscan_op floats = create("op=Floats types=floats", NULL), integers = create("op=Integers types=integers", NULL);
  rowscan_op four = create("op=Four numbers=4", NULL), beside = create("op=Beside coefficient=1", NULL);
  refuse_spec((rowscan_spec){.op = floats, .in_type = ROWSCAN_I32}, ROWSCAN_BAD_ARGUMENT,
              "spec: field 'out': i64, but Floats computes in floats");
  refuse_spec((rowscan_spec){.op = integers}, ROWSCAN_BAD_ARGUMENT,
              "spec: field 'out': f32, but Integers computes in integers");
  refuse_spec((rowscan_spec){.op = four, .mask_mode = ROWSCAN_MASK_HEADS}, ROWSCAN_UNSUPPORTED,
              "spec: field 'mask_mode': heads of bool: a segmented total of Four needs 20 bytes, and the limit is 16; "
              "heads, keys of at most 32 bits and accumulators of 32 bits need fewer");
  refuse_spec((rowscan_spec){.op = four, .mask_mode = ROWSCAN_MASK_COEFFICIENT}, ROWSCAN_BAD_ARGUMENT,
              "spec: field 'mask_mode': coefficient requires an operator with coefficients, such as linear_recurrence, "
              "not Four");
  refuse_spec((rowscan_spec){.op = beside, .mask_mode = ROWSCAN_MASK_MULTIPLY}, ROWSCAN_BAD_ARGUMENT,
              "spec: field 'mask_mode': Beside rejects multiply; use select");
  rowscan_spec good = {.size = sizeof good, .op = beside};
  ck_assert(!rowscan_spec_complete(&good));
  ck_assert_int_eq(good.mask_mode, ROWSCAN_MASK_COEFFICIENT);
  ck_assert_int_eq(good.mask_type, ROWSCAN_F32);
  good = (rowscan_spec){.size = sizeof good, .op = beside, .mask_mode = ROWSCAN_MASK_SELECT};
  ck_assert(!rowscan_spec_complete(&good));
  ck_assert_int_eq(good.more_types[0], ROWSCAN_F32);
}
END_TEST

/* ---- the host engine --------------------------------------------------------------------------------------------- */

static const int64_t shape[] = {4};
static rowscan_status scan(rowscan_op op, rowscan_type type, const void *in, void *out) {
  return rowscan_scan_host(context,
                           ROWSCAN_PROBLEM(.op = op, .rank = 1, .shape = shape, .input = {.data = in, .type = type},
                                           .output = {.data = out, .type = type}));
}

START_TEST(it_scans) {
  const float in[] = {1, -3, 2, 4};
  float out[4];
  ck_assert(!scan(create("op=Scans types=floats", &by_larger), ROWSCAN_F32, in, out));
  ck_assert(out[0] == 1 && out[1] == 3 && out[2] == 3 && out[3] == 4);
}
END_TEST

START_TEST(it_has_a_carry) {
  rowscan_carry *carry;
  float in[] = {1, -3, 2, 4, -5, 4, 1, 2}, out[8];
  rowscan_op op = create("op=Carries", &by_larger);
  ck_assert(!rowscan_carry_create(&carry, context));
  for (int i = 0; i < 8; i += 4)
    ck_assert(!rowscan_carry_scan(carry,
                                  ROWSCAN_PROBLEM(.op = op, .rank = 1, .shape = shape,
                                                  .input = {.data = in + i, .type = ROWSCAN_F32},
                                                  .output = {.data = out + i, .type = ROWSCAN_F32}),
                                  NULL));
  ck_assert(out[0] == 1 && out[1] == 3 && out[3] == 4 && out[4] == 5 && out[7] == 5);
  rowscan_carry_destroy(carry);
}
END_TEST

START_TEST(without_functions_the_host_refuses) {
  static const char for_f64[] =
      "spec: field 'op': Single has no host functions for accumulators of f64; it runs only on "
      "GPUs";
  rowscan_op op = create("op=Single", &by_larger);
  double in[4] = {0}, out[4] = {0};
  rowscan_plan *plan;
  const rowscan_problem *problem =
      ROWSCAN_PROBLEM(.op = op, .rank = 1, .shape = shape, .input = {.data = in, .type = ROWSCAN_F64},
                      .output = {.data = out, .type = ROWSCAN_F64});
  const rowscan_spec *spec = ROWSCAN_SPEC(.op = op, .in_type = ROWSCAN_F64, .length = 4);
  ck_assert_int_eq(rowscan_scan_host(context, problem), ROWSCAN_UNSUPPORTED);
  ck_assert_str_eq(rowscan_last_error(), for_f64);
  ck_assert_int_eq(rowscan_scan(context, problem, NULL), ROWSCAN_UNSUPPORTED);
  ck_assert_int_eq(rowscan_prepare(context, problem), ROWSCAN_UNSUPPORTED);
  ck_assert_int_eq(rowscan_plan_create(&plan, context, spec), ROWSCAN_UNSUPPORTED);
  ck_assert_str_eq(rowscan_last_error(), for_f64);
}
END_TEST

/* ---- its text ---------------------------------------------------------------------------------------------------- */

static const char broken[] = "// rowscan: op=Broken\n"
                             "template <class A, class K> struct Broken {\n"
                             "  using Total = A;\n"
                             "  RS_METHOD static Total load(A x) { return y; }\n"
                             "};\n";

/* What follows the text has the numbers of its own lines again. */
START_TEST(lines_are_the_text_s) {
  rowscan_op op;
  ck_assert(!rowscan_op_create(&op, ROWSCAN_OPERATOR(.source = broken)));
  char *source;
  ck_assert(!rowscan_source(ROWSCAN_SPEC(.op = op, .length = 1000), "sm_90", 0, &source));
  const char *text = strstr(source, "#line 1 \"Broken\"\n// rowscan: op=Broken\n"),
             *back = strstr(source, "\"rowscan.cu\"");
  ck_assert_ptr_nonnull(text);
  ck_assert_ptr_nonnull(back);
  int line = 1, said = 0;
  for (const char *at = source; at < back; at++)
    line += *at == '\n';
  while (*back != '#')
    back--;
  ck_assert_int_eq(sscanf(back, "#line %d", &said), 1);
  ck_assert_int_eq(said, line + 1);
  rowscan_free(source);
}
END_TEST

START_TEST(errors_have_the_text_s_lines) {
  rowscan_op op;
  rowscan_plan *plan;
  ck_assert(!rowscan_op_create(&op, ROWSCAN_OPERATOR(.source = broken)));
  rowscan_status status = rowscan_plan_compile(&plan, context, ROWSCAN_SPEC(.op = op, .length = 1000), "sm_90");
  if (status == ROWSCAN_NO_COMPILER) {
    printf("no compiler: %s\n", rowscan_last_error());
    return;
  }
  ck_assert_int_eq(status, ROWSCAN_COMPILE_FAILED);
  const char *error = rowscan_last_error();
  ck_assert_msg(strstr(error, "Broken(4)") || strstr(error, "Broken:4:"), "%s", error); /* as NVRTC, or as g++ has it */
  ck_assert_msg(strstr(error, "\n   4    RS_METHOD static Total load(A x) { return y; }\n") != NULL, "%s", error);
}
END_TEST

/* NVRTC shows the text's own lines, whatever file these say that they are of. */
START_TEST(a_file_that_is_named_is_not_shown) {
  char name[] = "/tmp/rowscan-ops-XXXXXX", text[512], rest[256];
  rowscan_op op;
  rowscan_plan *plan;
  int file = mkstemp(name);
  ck_assert(file >= 0 && write(file, "secret\n", 7) == 7);
  close(file);
  snprintf(rest, sizeof rest, "#line 1 \"%s\"\nint x = what_is_this;\n", name);
  ck_assert(!rowscan_op_create(&op, ROWSCAN_OPERATOR(.source = text_of(text, "op=Named", rest))));
  rowscan_status status = rowscan_plan_compile(&plan, context, ROWSCAN_SPEC(.op = op, .length = 1000), "sm_90");
  ck_assert(status == ROWSCAN_NO_COMPILER || status == ROWSCAN_COMPILE_FAILED);
  ck_assert_msg(!strstr(rowscan_last_error(), "secret"), "%s", rowscan_last_error());
  unlink(name);
}
END_TEST

/* ---- whether it is associative ----------------------------------------------------------------------------------- */

static void expect_doubt(const char *line, const rowscan_op_functions *f32, const char *begin, const char *middle) {
  rs_text doubt = {0};
  ck_assert(!rs_associative(context, create(line, f32), ROWSCAN_F32, &doubt));
  if (!begin) {
    ck_assert_msg(!doubt.data, "%s", doubt.data);
    return;
  }
  ck_assert_ptr_nonnull(doubt.data);
  ck_assert_msg(strstr(doubt.data, begin) == doubt.data && strstr(doubt.data, middle), "%s", doubt.data);
  rs_text_free(&doubt);
}

START_TEST(triples_are_tried) {
  rs_text doubt = {0};
  expect_doubt("op=Larger", &by_larger, NULL, NULL);
  expect_doubt("op=Average", &by_average, "Average of f32 is not associative: for x = ", ", (x o y) o z is ");
  expect_doubt("op=LessOne", &by_less_one,
               "LessOne of f32 has a neutral element e that changes x: for x = ", ", e o x is ");
  ck_assert(!rs_associative(context, ROWSCAN_SUM, ROWSCAN_F32, &doubt));
  ck_assert_ptr_null(doubt.data);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("ops");
  TCase *cases = tcase_create("ops");
  tcase_set_timeout(cases, 120);
  tcase_add_checked_fixture(cases, open_host, close_host);
  tcase_add_test(cases, first_lines_that_are_wrong);
  tcase_add_test(cases, a_text_reads_no_files);
  tcase_add_test(cases, other_directives_are_served);
  tcase_add_test(cases, functions_that_are_wrong);
  tcase_add_test(cases, an_operator_is_one_for_good);
  tcase_add_test(cases, many_threads);
  tcase_add_test(cases, what_it_serves);
  tcase_add_test(cases, it_scans);
  tcase_add_test(cases, it_has_a_carry);
  tcase_add_test(cases, without_functions_the_host_refuses);
  tcase_add_test(cases, lines_are_the_text_s);
  tcase_add_test(cases, errors_have_the_text_s_lines);
  tcase_add_test(cases, a_file_that_is_named_is_not_shown);
  tcase_add_test(cases, triples_are_tried);
  tcase_add_test(cases, there_are_64_at_most);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
