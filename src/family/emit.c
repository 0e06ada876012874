/*
 * emit.c - (spec, geometry) to a source that names templates of kernels/
 * SPDX-License-Identifier: MIT
 */
#include "emit.h"

#include "spec/developer.h"
#include "spec/types.h"

/* `bool` is a word of the language. */
static const char *element_type(rowscan_type type) {
  return type == ROWSCAN_BOOL ? "boolean" : rowscan_type_name(type);
}

/* Integers wrap, whatever their sign, and take no fewer than 32 bits. */
static const char *register_type(rowscan_type acc) {
  if (rs_type_kind(acc) == RS_FLOAT)
    return rowscan_type_name(acc);
  return rowscan_type_bytes(acc) == 8 ? "u64" : "u32";
}

static void emit_problem(const rowscan_spec *spec, rs_text *source) {
  static const char *const masks[] = {"NO_MASK", "SELECT", "MULTIPLY"};
  const rs_op *op = rs_op_of(spec->op);
  if (op->source)
    rs_text_add(source, "%s", op->source);
  rs_text_add(source, "struct P {\n");
  rs_text_add(source, "  using Op = %s<%s, %s>;\n", op->kernel, register_type(spec->acc_type),
              element_type(spec->acc_type));
  rs_text_add(source, "  using Acc = Op::Total;\n");
  rs_text_add(source, "  using In = %s;\n", element_type(spec->in_type));
  rs_text_add(source, "  using Out = %s;\n", element_type(spec->out_type));
  rs_text_add(source, "  using Mask = %s;\n", element_type(spec->mask_mode ? spec->mask_type : spec->in_type));
  rs_text_add(source, "  using Kept = %s;\n", element_type(spec->acc_type));
  rs_text_add(source, "  static constexpr MaskMode mask = %s;\n", masks[spec->mask_mode]);
  rs_text_add(source, "  static constexpr bool reverse = %s, exclusive = %s;\n",
              spec->flags & ROWSCAN_REVERSE ? "true" : "false", spec->flags & ROWSCAN_EXCLUSIVE ? "true" : "false");
  rs_text_add(source, "  static constexpr i64 length = %lld;\n", (long long)spec->length);
  rs_text_add(source, "  static constexpr int rank = %d;\n", spec->row_rank);
  rs_text_add(source, "};\n");
}

static const char *header(rs_template made_of) {
  static const char *const headers[] = {
      [RS_TEMPLATE_ROWS] = "row.cuh",
      [RS_TEMPLATE_SLAB] = "short.cuh",
      [RS_TEMPLATE_RING] = "ring.cuh",
      [RS_TEMPLATE_TILES] = "tiles.cuh",
      [RS_TEMPLATE_STREAM] = "stream.cuh",
      [RS_TEMPLATE_COLUMNS] = "columns.cuh",
      [RS_TEMPLATE_WIDE] = "wide.cuh",
      [RS_TEMPLATE_ASKEW] = "askew.cuh",
      [RS_TEMPLATE_RING_ANY] = "ring_any.cuh",
      [RS_TEMPLATE_GATHER] = "gather.cuh",
      [RS_TEMPLATE_AT_ONCE] = "at_once.cuh",
      [RS_TEMPLATE_STREAM_COLUMNS] = "stream_columns.cuh",
      [RS_TEMPLATE_STREAM_ANY] = "stream_any.cuh",
      [RS_TEMPLATE_SHORT_COLUMNS] = "short_columns.cuh",
      [RS_TEMPLATE_PAIRS] = "pairs.cuh",
      [RS_TEMPLATE_COLUMNS_AT_ONCE] = "columns_at_once.cuh",
  };
  return headers[made_of];
}

/* Where a template makes two kernels: whether this is the one for rows on multiples of 16 bytes. */
static const char *aligned(rs_kernel kernel) {
  return kernel == RS_KERNEL_ANY || kernel == RS_KERNEL_LONG_ANY ? "false" : "true";
}

/* The template that a kernel instantiates, with its arguments. */
static void emit_call(const rs_shape *s, rs_kernel kernel, rs_text *source) {
  switch (s->made_of) {
  case RS_TEMPLATE_ROWS:
    rs_text_add(source, "scan_rows<P, Shape<%d, %d, %d, %d>, %d, %s>", s->warps, s->chunks, s->lanes, s->vector,
                s->threads, aligned(kernel));
    break;
  case RS_TEMPLATE_SLAB:
    rs_text_add(source, "scan_slab<P, SlabShape<%d, %d, %d, %d, %d>>", s->rows, s->threads, s->lanes, s->vector,
                s->word);
    break;
  case RS_TEMPLATE_RING:
  case RS_TEMPLATE_RING_ANY:
    rs_text_add(source, "scan_ring%s<P, Shape<%d, %d, %d, %d>, %d, %d>",
                s->made_of == RS_TEMPLATE_RING_ANY ? "_any" : "", s->warps, s->chunks, s->lanes, s->vector, s->stages,
                s->buffers);
    break;
  case RS_TEMPLATE_TILES:
    rs_text_add(source, "scan_tiles<P, TileShape<%d, %d, %d>, %s>", s->warps, s->chunks, s->vector, aligned(kernel));
    break;
  case RS_TEMPLATE_STREAM:
  case RS_TEMPLATE_STREAM_ANY:
    rs_text_add(source, "scan_stream%s<P, Shape<%d, %d, %d, %d>, %d, %d>",
                s->made_of == RS_TEMPLATE_STREAM_ANY ? "_any" : "", s->warps, s->chunks, s->lanes, s->vector,
                s->reducers, s->stages);
    break;
  case RS_TEMPLATE_GATHER:
  case RS_TEMPLATE_AT_ONCE:
  case RS_TEMPLATE_PAIRS:
    rs_text_add(source, "scan_%s<P, Shape<%d, %d, %d, %d>>",
                s->made_of == RS_TEMPLATE_GATHER    ? "gather"
                : s->made_of == RS_TEMPLATE_AT_ONCE ? "at_once"
                                                    : "pairs",
                s->warps, s->chunks, s->lanes, s->vector);
    break;
  case RS_TEMPLATE_COLUMNS:
    rs_text_add(source, "scan_column_tiles<P, %d, %d, %d>", s->threads, s->steps, s->lanes);
    break;
  case RS_TEMPLATE_STREAM_COLUMNS:
    rs_text_add(source, "scan_stream_columns<P, %d>", s->steps);
    break;
  case RS_TEMPLATE_SHORT_COLUMNS:
    rs_text_add(source, "scan_short_columns<P, %d, %d>", s->threads, s->steps);
    break;
  case RS_TEMPLATE_WIDE:
    rs_text_add(source, "scan_wide_tiles<P, %d, %d, %d, %d, %d>", s->threads, s->vector, s->steps, s->width, s->lanes);
    break;
  case RS_TEMPLATE_ASKEW:
    rs_text_add(source, "scan_askew_tiles<P, %d, %d, %d, %d>", s->threads, s->vector, s->steps, s->lanes);
    break;
  case RS_TEMPLATE_COLUMNS_AT_ONCE:
    rs_text_add(source, "scan_columns_at_once<P, %d, %d, %d>", s->threads, s->steps, s->rows);
    break;
  case RS_TEMPLATE_NONE:
    break;
  }
}

/* Of a second parameter; NULL: there is none. */
static const char *cut_type(rs_template made_of) {
  switch (made_of) {
  case RS_TEMPLATE_COLUMNS:
    return "ColumnCut";
  case RS_TEMPLATE_STREAM_COLUMNS:
    return "StreamCut";
  case RS_TEMPLATE_SHORT_COLUMNS:
    return "ShortCut";
  case RS_TEMPLATE_WIDE:
  case RS_TEMPLATE_ASKEW:
    return "WideCut";
  case RS_TEMPLATE_COLUMNS_AT_ONCE:
    return "AtOnceCut";
  default:
    return NULL;
  }
}

void rs_emit(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, rs_text *source) {
  const rs_shape *shape = &geometry->shape[kernel];
  const char *cut = cut_type(shape->made_of);
  rs_text_add(source, "// rowscan, %s, regime %s: ", rs_kernel_name(kernel),
              rowscan_regime_name(rs_kernel_regime(geometry, kernel)));
  rs_spec_describe(spec, source);
  rs_text_add(source, "\n");
  if (spec->flags & ROWSCAN_DELAYS)
    rs_text_add(source, "#define RS_DELAYS\n");
  if (rs_spec_loops(spec))
    rs_text_add(source, "#define RS_LOOP_DIMENSIONS\n");
  rs_text_add(source, "#include \"%s\"\n", header(shape->made_of));
  if (shape->prefetch)
    rs_text_add(source, "#include \"prefetch.cuh\"\n");
  emit_problem(spec, source);
  rs_text_add(source, "RS_KERNEL(%d, %d) %s(RS_PARAMETER(Rows<%d>, rows)", shape->threads, shape->min_blocks,
              rs_kernel_symbol(kernel), spec->row_rank);
  if (cut)
    rs_text_add(source, ", RS_PARAMETER(%s, cut)", cut);
  rs_text_add(source, ") {\n");
  if (shape->prefetch)
    rs_text_add(source, "  prefetch_first<P, %d, %s>(rows);\n", shape->prefetch,
                spec->layout == ROWSCAN_LAYOUT_COLUMNS ? "true" : "false");
  rs_text_add(source, "  await_dependencies();\n  ");
  emit_call(shape, kernel, source);
  rs_text_add(source, "(rows%s);\n}\n", cut ? ", cut" : "");
}

void rs_kernel_canonical(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, rs_text *text) {
  rs_spec_text(spec, text);
  rs_kernel_text(geometry, kernel, text);
}
