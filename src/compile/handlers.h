/*
 * handlers.h - the program's signal handlers, which a compile must not change
 * SPDX-License-Identifier: MIT
 *
 * NVRTC (11.8 to 13.0 at least) takes handlers of its own while it compiles, and puts the program's back by signal(),
 * which loses their flags and masks.
 */
#ifndef RS_HANDLERS_H
#define RS_HANDLERS_H

/* Around a compile, on any thread: what was before the first of those under way is there again after the last. */
void rs_handlers_keep(void);
void rs_handlers_restore(void);

#endif
