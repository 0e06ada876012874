/*
 * build.h - source to PTX and CUBIN: asks the cache, else NVRTC
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_BUILD_H
#define RS_BUILD_H

#include "base/text.h"
#include "cache/store.h"
#include "facts.h"
#include "nvrtc.h"

/* What makes code in one context: the compiler and the store, where it counts. Serves many threads at once. */
typedef struct rs_builder rs_builder;

/* Takes over store and nvrtc (may not be NULL) and closes them in rs_builder_close, or at once if it fails. */
rs_builder *rs_builder_open(rs_store *store, rs_nvrtc *nvrtc, const rs_log *log);
void rs_builder_close(rs_builder *builder);

/* From now on what the store lacks is not compiled, but NOT_CACHED. `by`: whose wish that is, a constant string. */
void rs_builder_forbid(rs_builder *builder, const char *by);

/* From now on what is compiled is kept in memory alone, or on disk, too, as at first: for kernels that are tried. */
void rs_builder_try(rs_builder *builder, bool trying);

/*
 * From now on what is built for an architecture, that of the GPU at hand, need not be a CUBIN: where NVRTC does not
 * know it, and the store has nothing of another NVRTC that does, it is PTX of an older one, which the driver compiles.
 */
void rs_builder_serve(rs_builder *builder, int arch);

/* From now on plans have the geometries of another architecture, where theirs can hold them; see rs_tuned_arch. */
void rs_builder_tune_for(rs_builder *builder, int arch);
int rs_builder_tuned_for(const rs_builder *builder); /* 0: none was named */

/* The store, which is opened now if that was put off. */
rs_store *rs_builder_store(rs_builder *builder);
rs_nvrtc *rs_builder_nvrtc(rs_builder *builder);

/* Where was looked in vain, after "not in": "the cache (/x) nor in 2 packs (pack /y is not used: a reason)". */
void rs_builder_where(rs_builder *builder, rs_text *text);

/*
 * What can be compiled for an architecture, as far as the name of the NVRTC at hand tells, without loading it: nothing
 * if it is forbidden or there is none. Before CUDA 12 NVRTC knows sm_90, but no bulk copies, and nothing newer, for
 * which it makes PTX if the store has nothing better (rs_builder_serve).
 */
typedef enum rs_makes { RS_MAKES_NOTHING, RS_MAKES_OLD_PTX, RS_MAKES_NO_BULK_COPIES, RS_MAKES_ALL } rs_makes;
rs_makes rs_builder_makes(rs_builder *builder, int arch);

/* The key under which rs_build looks for a source. Errors: those of rs_nvrtc_id; OUT_OF_MEMORY. */
rowscan_status rs_builder_key(rs_builder *builder, const char *canonical, const char *source, int arch, rs_text *key);

/* The same without its last line, which says which compiler it is. */
rowscan_status rs_builder_stem(const char *canonical, const char *source, int arch, rs_text *stem);

/*
 * Whether an entry serves whichever compiler made it, for nothing can be compiled: no compiler that may be used knows
 * the architecture. It is loaded to be asked.
 */
bool rs_builder_serves_any(rs_builder *builder, int arch);

/* The key of an entry that serves whichever compiler made it, to be freed: that one, or a pack's. NULL: there is none.
 */
char *rs_builder_served(rs_builder *builder, const char *stem, int arch);

/*
 * Makes of an entry's parts what a pack has of them: how long the compile took, which is another time each time, is
 * left out, so that the same kernels make the same bytes; and PTX, if it is to be. The parts point into `facts` then,
 * which is the caller's to free. False: out of memory.
 */
bool rs_binary_pack(rs_part part[RS_STORE_PARTS], bool without_ptx, rs_text *facts);

/* A built source. ptx and cubin point into `entry`; both are followed by a NUL byte and start on 16 bytes. */
typedef struct rs_binary {
  rs_entry entry;
  const char *ptx;   /* NULL: rs_build_to_load left it on disk, or a pack has none */
  const void *cubin; /* NULL: there is PTX alone (rs_builder_serve) */
  size_t ptx_bytes, cubin_bytes;
  rs_facts facts; /* its compile took compile_us of these now or then */
  double milliseconds;
  bool cached;              /* not compiled by this call; after a call with `fresh`: never */
  bool stored;              /* the store has it, or had it a moment ago */
  char name[RS_STORE_NAME]; /* of its entry there; "": not known */
} rs_binary;

/*
 * Builds a source that includes headers of kernels/ for an architecture (90 for sm_90). `canonical` is the text that
 * the key starts with (the spec and geometry, one field=value a line). Within a process and, where locks work, between
 * processes, one of those who ask for the same key compiles; the others wait. What the store does not keep, the builder
 * does, up to a small number of binaries. fresh: do not ask the cache, compile and publish anew (an entry that the
 * driver rejected). Errors: NO_COMPILER, COMPILE_FAILED (with log and numbered source), OUT_OF_MEMORY; NOT_CACHED,
 * whose message ends with the architecture, so that the caller can add what was to be built.
 */
rowscan_status rs_build(rs_builder *builder, rs_binary *binary, const char *canonical, const char *source, int arch,
                        bool fresh);

/* The same for who will load it, not fresh: PTX, which few need, stays on disk if the store's directory has it. */
rowscan_status rs_build_to_load(rs_builder *builder, rs_binary *binary, const char *canonical, const char *source,
                                int arch);

/* The same if it need not be compiled. */
bool rs_build_if_cached(rs_builder *builder, rs_binary *binary, const char *canonical, const char *source, int arch);

/* All of what rs_build_to_load had from the store. False: it is not there any more. It counts as no use. */
bool rs_builder_whole(rs_builder *builder, rs_binary *binary, const char *canonical, const char *source, int arch);
void rs_binary_free(rs_binary *binary);

#endif
