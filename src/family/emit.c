/*
 * emit.c - (spec, geometry) to a source that names templates of kernels/
 * SPDX-License-Identifier: MIT
 */
#include "family.h"

#include <string.h>

#include "spec/developer.h"
#include "spec/types.h"
#include "tune.h"

/* `bool` is a word of the language. */
static const char *element_type(rowscan_type type) {
  return type == ROWSCAN_BOOL ? "boolean" : rowscan_type_name(type);
}

/* Halves are computed with as f32. Integers wrap, whatever their sign, and take no fewer than 32 bits. */
static const char *register_type(rowscan_type type) {
  bool wide = rowscan_type_bytes(type) == 8;
  if (rs_type_kind(type) == RS_FLOAT)
    return wide ? "f64" : "f32";
  return wide ? "u64" : "u32";
}

static const char *word(bool so) {
  return so ? "true" : "false";
}

/* A kernel for any length serves inclusive scans and exclusive ones, and is named as the former. */
static rowscan_spec compiled_for(const rowscan_spec *spec) {
  rowscan_spec shared = *spec;
  if (spec->length == RS_ANY_LENGTH)
    shared.flags &= ~(unsigned)ROWSCAN_EXCLUSIVE;
  return shared;
}

/* Whether a kernel finds out by neighbouring flags or keys, in the place of a mask, where segments begin. */
static bool asks_neighbours(const rowscan_spec *spec, const rs_shape *shape) {
  bool has_them = shape->made_of == RS_TEMPLATE_TILES || (shape->made_of == RS_TEMPLATE_ROW_STREAM && shape->words);
  return has_them && rs_spec_has_segments(spec) && rs_spec_asks_neighbours(spec) && !rs_spec_has_further(spec);
}

static const char *told_of(const rowscan_spec *spec) {
  return rs_spec_segments(spec) == ROWSCAN_MASK_KEYS ? "KEY_CHANGES"
         : rs_spec_marks_last(spec)                  ? "MARKED_BEFORE"
                                                     : "MARKED_ITSELF";
}

/* An operator in segments whose totals are kept as they are. */
static void emit_stated(const rowscan_spec *spec, const char *op, rs_text *source) {
  bool numbers = rs_op_is_of_numbers(rs_op_of(spec->op)), keys = spec->mask_mode == ROWSCAN_MASK_KEYS;
  const char *kept = numbers ? element_type(rs_kept_type(spec->acc_type)) : "void";
  const char *key = rs_spec_mask_bytes(spec) == 8 ? "u64" : "u32";
  if (keys)
    rs_text_add(source, "  using Op = StatedSegments<ByKeys<%s, %s>, %s, %s, %s>;\n", op, key, op, kept, key);
  else
    rs_text_add(source, "  using Op = StatedSegments<ByFlags<%s, %s, true>, %s, %s>;\n", op,
                word(rs_spec_marks_last(spec)), op, kept);
}

static void emit_segments(const rowscan_spec *spec, const rs_shape *shape, const char *op, rs_text *source) {
  bool shows = spec->flags & ROWSCAN_EXCLUSIVE || spec->length == RS_ANY_LENGTH;
  bool states = spec->flags & ROWSCAN_PART_STATES;
  if (states && rs_spec_has_segments(spec))
    emit_stated(spec, op, source);
  else if (asks_neighbours(spec, shape))
    rs_text_add(source, "  using Op = ByFlags<%s, false, %s>;\n  static constexpr Told told = %s;\n", op, word(shows),
                told_of(spec));
  else if (spec->mask_mode == ROWSCAN_MASK_KEYS)
    rs_text_add(source, "  using Op = ByKeys<%s, %s>;\n", op, rs_spec_mask_bytes(spec) == 8 ? "u64" : "u32");
  else if (rs_spec_has_segments(spec))
    rs_text_add(source, "  using Op = ByFlags<%s, %s, %s>;\n", op, word(rs_spec_marks_last(spec)), word(shows));
  else if (spec->segment_mode && rs_op_resets(rs_op_of(spec->op)))
    rs_text_add(source, "  using Op = Resetting<%s>;\n", op);
  else if (spec->segment_mode)
    rs_text_add(source, "  using Op = ByFlags<%s, false, false>;\n", op);
  else
    rs_text_add(source, states ? "  using Op = Stated<%s>;\n" : "  using Op = %s;\n", op);
}

/* What elements are computed with. In fixed point that is what they are, unless a mask multiplies: f64 has all of it.
 */
static rowscan_type numbers_of(const rowscan_spec *spec) {
  if (rs_op_of(spec->op)->kind == RS_INDEX)
    return spec->in_type;
  if (!rs_is_fixed(spec->acc_type))
    return spec->acc_type;
  return spec->in_type == ROWSCAN_F64 || spec->mask_mode == ROWSCAN_MASK_MULTIPLY ? ROWSCAN_F64 : ROWSCAN_F32;
}

static void emit_op(const rowscan_spec *spec, const rs_shape *shape, const rs_op *op, rs_text *source) {
  bool omits = spec->flags & ROWSCAN_OMIT_NAN, index = op->kind == RS_INDEX, fixed = rs_is_fixed(spec->acc_type);
  rowscan_type number = numbers_of(spec);
  rs_text name = {0};
  if (omits)
    rs_text_add(&name, "Omitting<");
  if (op->ordered)
    rs_text_add(&name, "Ordered<");
  if (op->source)
    rs_text_add(&name, "Created<caller::%s<%s, %s>, %s, %d", op->kernel, register_type(number), element_type(number),
                register_type(number), op->numbers);
  else
    rs_text_add(&name, "%s%s<%s, %s", fixed ? "Fixed" : "", op->kernel, register_type(number), element_type(number));
  if (fixed)
    rs_text_add(&name, ", %d", rs_point_of(spec->acc_type));
  if (index)
    rs_text_add(&name, ", %s, %s", word(spec->flags & ROWSCAN_TIES_FIRST), word(spec->flags & ROWSCAN_REVERSE));
  rs_text_add(&name, ">%s%s", omits ? ">" : "", op->ordered ? ">" : "");
  if (name.failed)
    source->failed = true;
  else
    emit_segments(spec, shape, name.data, source);
  rs_text_free(&name);
}

static int lines_of(const rs_text *text) {
  int lines = 0;
  for (size_t i = 0; i < text->length; i++)
    lines += text->data[i] == '\n';
  return lines;
}

/* In a name space, where it may have names that kernels have, and as a file of its own to the compiler's messages. A
 * source may have several kernels. */
static void emit_text(const rs_op *op, rs_text *source) {
  rs_text_add(source, "#ifndef RS_HAS_%s\n#define RS_HAS_%s\nnamespace caller {\n#line 1 \"%s\"\n", op->name, op->name,
              op->name);
  rs_text_append(source, op->source, strlen(op->source));
  rs_text_add(source, "\n#line %d \"rowscan.cu\"\n", lines_of(source) + 3);
  rs_text_add(source, "}\n#endif\n");
}

static const char *type_or_nothing(rowscan_type type) {
  return type ? element_type(type) : "Nothing";
}

static void emit_further(const rowscan_spec *spec, rs_text *source) {
  rowscan_mask_mode mode = spec->segment_mode;
  const char *number = register_type(numbers_of(spec));
  rs_text_add(source, "  struct Further {\n    using Inputs = Pack<");
  for (int i = 0; i < RS_MOST_MORE && spec->more_types[i]; i++)
    rs_text_add(source, "%s%s", i ? ", " : "", element_type(spec->more_types[i]));
  rs_text_add(source, ">;\n    using Params = Pack<");
  for (int i = 0; i < rs_op_of(spec->op)->params; i++)
    rs_text_add(source, "%s%s", i ? ", " : "", number);
  rs_text_add(source, ">;\n    using Second = %s;\n", type_or_nothing(spec->second_type));
  rs_text_add(source, "    using Segment = %s;\n", type_or_nothing(spec->segment_type));
  rs_text_add(source, "    static constexpr Told told = %s;\n", mode ? told_of(spec) : "NOT_TOLD");
  rs_text_add(source, "    static constexpr bool weighs = %s;\n  };\n", word(rs_op_of(spec->op)->weighs));
}

static void emit_problem(const rowscan_spec *spec, const rs_shape *shape, rs_text *source) {
  static const char *const masks[] = {"NO_MASK",  "SELECT",   "MULTIPLY", "COEFFICIENT",
                                      "SEGMENTS", "SEGMENTS", "SEGMENTS"};
  const rs_op *op = rs_op_of(spec->op);
  bool states = spec->flags & ROWSCAN_PART_STATES;
  if (op->source)
    emit_text(op, source);
  rs_text_add(source, "struct P {\n");
  emit_op(spec, shape, op, source);
  rs_text_add(source, "  using Acc = Op::Total;\n");
  rs_text_add(source, "  using In = %s;\n", element_type(spec->in_type));
  rs_text_add(source, "  using Out = %s;\n", element_type(spec->out_type));
  rs_text_add(source, "  using Mask = %s;\n", element_type(spec->mask_mode ? spec->mask_type : spec->in_type));
  rs_text_add(source, "  using Kept = %s;\n", states ? "Op::KeptNumber" : element_type(rs_kept_type(spec->acc_type)));
  rs_text_add(source, "  static constexpr MaskMode mask = %s;\n", masks[spec->mask_mode]);
  rs_text_add(source, "  static constexpr bool reverse = %s", word(spec->flags & ROWSCAN_REVERSE));
  if (spec->length == RS_ANY_LENGTH)
    rs_text_add(source, ";\n  static constexpr i64 length = RS_ANY_LENGTH, most = %lld;\n", (long long)rs_most(shape));
  else
    rs_text_add(source, ", exclusive = %s;\n  static constexpr i64 length = %lld;\n",
                word(spec->flags & ROWSCAN_EXCLUSIVE), (long long)spec->length);
  rs_text_add(source, "  static constexpr int rank = %d;\n", spec->row_rank);
  if (rs_spec_has_further(spec))
    emit_further(spec, source);
  rs_text_add(source, "};\n");
  if (states)
    rs_text_add(source, "static_assert(sizeof(P::Kept) == %lld, \"as tune_totals.c says\");\n",
                (long long)rs_tune_states(spec).bytes);
}

/* Whether vectors go whole: of further arrays those that can, each array for itself (kernels/further.cuh). */
static bool is_vectored(const rowscan_spec *spec, rs_kernel kernel) {
  return rs_spec_has_further(spec) ? spec->layout == ROWSCAN_LAYOUT_ROWS
                                   : kernel != RS_KERNEL_ANY && kernel != RS_KERNEL_LONG_ANY;
}

/* A universal operator of kernels/universal.cuh. */
static void emit_universal_op(const rowscan_spec *spec, rs_text *source) {
  const rs_op *op = rs_op_of(spec->op);
  const char *number = register_type(spec->in_type);
  if (rs_is_fixed(spec->acc_type))
    rs_text_add(source, "UniversalFixed");
  else if (op->kind == RS_ORDER)
    rs_text_add(source, "UniversalExtreme<%s>", number);
  else if (op->kind == RS_INDEX)
    rs_text_add(source, "UniversalIndex<%s, %s>", number, word(spec->flags & ROWSCAN_TIES_FIRST));
  else if (op->kind == RS_BITS)
    rs_text_add(source, "UniversalBits<%s<%s, %s>>", op->kernel, number, number);
  else if (op->kind == RS_LOGARITHM)
    rs_text_add(source, "UniversalLogSumExp<%s>", number);
  else if (op->kind == RS_RECURRENCE) /* integers have coefficients alone, and some inputs stand beside segments */
    rs_text_add(source, "UniversalRecurrence<%s, %d>", number,
                rs_type_kind(spec->acc_type) != RS_FLOAT ? 1
                : spec->segment_mode                     ? RS_MOST_MORE
                                                         : 2);
  else
    rs_text_add(source, "UniversalNumbers<%s<%s, %s>, %s>", op->kernel, number, number,
                word(op->kind == RS_ARITHMETIC || op->kind == RS_EXTENDED));
}

static void emit_universal(const rowscan_spec *spec, const rs_shape *shape, rs_kernel kernel, rs_text *source) {
  if (spec->flags & ROWSCAN_DELAYS)
    rs_text_add(source, "#define RS_DELAYS\n");
  rs_text_add(source, "#define RS_LOOP_DIMENSIONS\n#include \"universal.cuh\"\nusing P = UniversalProblem<");
  emit_universal_op(spec, source);
  rs_text_add(source, ", %s>;\n", word(spec->segment_mode));
  rs_text_add(source, "RS_KERNEL(%d, %d) %s(RS_PARAMETER(UniversalRows, rows)) {\n  await_dependencies();\n  ",
              shape->threads, shape->min_blocks, rs_kernel_symbol(kernel));
  rs_family_call(shape, true, source);
  rs_text_add(source, "(rows);\n}\n");
}

void rs_emit(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, rs_text *source) {
  const rowscan_spec shared = compiled_for(spec);
  const rs_shape *shape = &geometry->shape[kernel];
  const rs_family *family = rs_family_of(shape);
  rs_text_add(source, "// rowscan, %s, regime %s: ", rs_kernel_name(kernel),
              rowscan_regime_name(rs_kernel_regime(geometry, kernel)));
  rs_spec_describe(&shared, source);
  rs_text_add(source, spec->length == RS_ANY_LENGTH ? ", or exclusive\n" : "\n");
  if (spec->flags & ROWSCAN_UNIVERSAL) {
    emit_universal(spec, shape, kernel, source);
    return;
  }
  if (spec->flags & ROWSCAN_DELAYS)
    rs_text_add(source, "#define RS_DELAYS\n");
  if (rs_spec_loops(spec))
    rs_text_add(source, "#define RS_LOOP_DIMENSIONS\n");
  rs_text_add(source, "#include \"%s\"\n", family->header);
  if (rs_op_of(spec->op)->ordered)
    rs_text_add(source, "#include \"ordered.cuh\"\n");
  if (spec->flags & ROWSCAN_PART_STATES)
    rs_text_add(source, "#include \"states.cuh\"\n");
  if (shape->prefetch)
    rs_text_add(source, "#include \"prefetch.cuh\"\n");
  emit_problem(spec, shape, source);
  rs_text_add(source, "RS_KERNEL(%d, %d) %s(RS_PARAMETER(%s<%d>, rows)", shape->threads, shape->min_blocks,
              rs_kernel_symbol(kernel),
              rs_spec_has_further(spec)       ? "FurtherRows"
              : spec->length == RS_ANY_LENGTH ? "AnyRows"
                                              : "Rows",
              spec->row_rank);
  if (family->cut)
    rs_text_add(source, ", RS_PARAMETER(%s, cut)", family->cut);
  rs_text_add(source, ") {\n");
  if (shape->prefetch)
    rs_text_add(source, "  prefetch_first<P, %d, %s>(rows);\n", shape->prefetch,
                spec->layout == ROWSCAN_LAYOUT_COLUMNS ? "true" : "false");
  rs_text_add(source, "  await_dependencies();\n  ");
  rs_family_call(shape, is_vectored(spec, kernel), source);
  rs_text_add(source, "(rows%s);\n}\n", family->cut ? ", cut" : "");
}

void rs_kernel_canonical(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, rs_text *text) {
  const rowscan_spec shared = compiled_for(spec);
  rs_spec_text(&shared, text);
  rs_kernel_text(geometry, kernel, text);
}
