/*
 * emit.c - (spec, geometry) to a source that names templates of kernels/
 * SPDX-License-Identifier: MIT
 */
#include "emit.h"

#include "types.h"

const char *const rs_kernel_names[RS_KERNELS] = {
    [RS_KERNEL_ANY] = "rowscan_any",
    [RS_KERNEL_VECTORED] = "rowscan_vectored",
    [RS_KERNEL_RING] = "rowscan_ring",
    [RS_KERNEL_TOTALS] = "rowscan_totals",
    [RS_KERNEL_TOTALS_VECTORED] = "rowscan_totals_vectored",
    [RS_KERNEL_PREFIXES] = "rowscan_prefixes",
};

bool rs_emits(const rowscan_spec *spec, const rs_geometry *g, rs_kernel kernel) {
  bool tiled_long = g->regime == ROWSCAN_REGIME_LONG;
  switch (kernel) {
  case RS_KERNEL_ANY:
    return true;
  case RS_KERNEL_VECTORED: /* beside a ring for rows of a mask that do not begin on multiples of 16 bytes */
    return g->vector > 1 && (!g->stages || spec->mask_mode);
  case RS_KERNEL_RING:
    return g->stages > 0;
  case RS_KERNEL_TOTALS:
  case RS_KERNEL_PREFIXES:
    return tiled_long;
  case RS_KERNEL_TOTALS_VECTORED:
    return tiled_long && g->vector > 1;
  default:
    return false;
  }
}

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
  rs_text_add(source, "struct P {\n");
  rs_text_add(source, "  using Acc = %s;\n", register_type(spec->acc));
  rs_text_add(source, "  using Op = %s<Acc>;\n", rs_op_kernel(spec->op));
  rs_text_add(source, "  using In = %s;\n", element_type(spec->in));
  rs_text_add(source, "  using Out = %s;\n", element_type(spec->out));
  rs_text_add(source, "  using Mask = %s;\n", element_type(spec->mask_mode ? spec->mask_type : spec->in));
  rs_text_add(source, "  using Kept = %s;\n", element_type(spec->acc));
  rs_text_add(source, "  static constexpr MaskMode mask = %s;\n", masks[spec->mask_mode]);
  rs_text_add(source, "  static constexpr bool reverse = %s, exclusive = %s;\n",
              spec->flags & ROWSCAN_REVERSE ? "true" : "false", spec->flags & ROWSCAN_EXCLUSIVE ? "true" : "false");
  rs_text_add(source, "  static constexpr i64 length = %lld;\n", (long long)spec->length);
  rs_text_add(source, "  static constexpr int rank = %d;\n", spec->row_rank);
  rs_text_add(source, "};\n");
}

/* The template that a kernel instantiates, with its arguments. */
static void emit_call(const rs_geometry *g, rs_kernel kernel, rs_text *source) {
  bool vectored = kernel == RS_KERNEL_VECTORED || kernel == RS_KERNEL_TOTALS_VECTORED;
  const char *flag = vectored ? "true" : "false";
  if (kernel == RS_KERNEL_PREFIXES)
    rs_text_add(source, "long_prefixes<P, S>");
  else if (kernel == RS_KERNEL_TOTALS || kernel == RS_KERNEL_TOTALS_VECTORED)
    rs_text_add(source, "long_totals<P, S, %s>", flag);
  else if (kernel == RS_KERNEL_RING)
    rs_text_add(source, "scan_ring<P, S, %d, %d>", g->stages, g->buffers);
  else if (g->regime == ROWSCAN_REGIME_LONG)
    rs_text_add(source, "long_scan<P, S, %s>", flag);
  else if (g->regime == ROWSCAN_REGIME_COLUMN)
    rs_text_add(source, "scan_columns<P, %d, %d>", g->threads, g->steps);
  else
    rs_text_add(source, "scan_rows<P, %s, %d, %s>", kernel == RS_KERNEL_ANY && g->stages ? "Any" : "S", g->threads,
                flag);
}

void rs_emit(const rowscan_spec *spec, const rs_geometry *g, rs_text *source) {
  static const char *const headers[] = {[ROWSCAN_REGIME_ROW] = "row.cuh",
                                        [ROWSCAN_REGIME_SHORT] = "row.cuh",
                                        [ROWSCAN_REGIME_LONG] = "long.cuh",
                                        [ROWSCAN_REGIME_COLUMN] = "column.cuh"};
  rs_text_add(source, "// rowscan, regime %s: ", rowscan_regime_name(g->regime));
  rs_spec_describe(spec, source);
  rs_text_add(source, "\n#include \"%s\"\n", headers[g->regime]);
  if (g->stages)
    rs_text_add(source, "#include \"ring.cuh\"\n");
  emit_problem(spec, source);
  if (g->warps)
    rs_text_add(source, "using S = Shape<%d, %d, %d, %d>;\n", g->warps, g->chunks, g->lanes, g->vector);
  if (g->stages) /* beside a ring, the kernel for any strides is small, so that it compiles in half the time */
    rs_text_add(source, "using Any = Shape<%d, 1, %d, %d>;\n", g->warps, g->lanes, g->vector);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++) {
    if (!rs_emits(spec, g, (rs_kernel)kernel))
      continue;
    rs_text_add(source, "RS_KERNEL(%d, %d) %s(RS_PARAMETER(Rows<%d>, rows)) {\n  ", g->threads,
                kernel == RS_KERNEL_RING ? g->min_blocks : 1, rs_kernel_names[kernel], spec->row_rank);
    emit_call(g, kernel, source);
    rs_text_add(source, "(rows);\n}\n");
  }
}
