/*
 * squeeze.h - bytes in fewer bytes: for kernels of many kinds, which have much in common over megabytes
 * SPDX-License-Identifier: MIT
 *
 * A sequence of steps, each a token, literals, and a copy of what came before:
 *   token     bits 7-6: literals, 3: 3 and more; bits 5-3: the distance, 0: a new one, else one of the last seven; bits
 *             2-0: bytes to copy beyond the fewest, 7: 7 and more. The fewest are 4 of a new distance, else 2
 *   more      of literals, and after these of bytes to copy: bytes of 255 and a last one, all added
 *   distance  a new one, after the literals: 7 bits a byte, the lowest first, bit 7: there are more. An even number is
 *             half of it in units of 16 bytes, of instructions; an odd one half of it in bytes
 * The last step may have no copy. A distance that is used becomes the first of the last seven.
 */
#ifndef RS_SQUEEZE_H
#define RS_SQUEEZE_H

#include <stdbool.h>
#include <stddef.h>

/* To be freed; NULL: out of memory, or 2 GB and more. */
unsigned char *rs_squeeze(const unsigned char *bytes, size_t count, size_t *squeezed);

/*
 * Bytes that are expanded from the first one on, as far as they are asked for. to: room for all of them, `count`, which
 * stays in its place.
 */
typedef struct rs_expansion {
  unsigned char *to;
  size_t count, done;
  const unsigned char *at, *end; /* of what was squeezed, what is left */
  size_t recent[7];
  bool failed;
} rs_expansion;
rs_expansion rs_expand_begin(unsigned char *to, size_t count, const unsigned char *squeezed, size_t size);

/* Expands so many bytes, or more. False: this, or a call before, found what rs_squeeze does not make of `count`. */
bool rs_expand_until(rs_expansion *all, size_t bytes);

/* All at once. False: they are not what rs_squeeze makes of so many. */
bool rs_expand(unsigned char *to, size_t count, const unsigned char *squeezed, size_t size);

#endif
