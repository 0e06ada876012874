/*
 * must_return.h - functions of the program's that the library calls must return
 * SPDX-License-Identifier: MIT
 *
 * One that is left by an exception, or by pthread_exit(), leaves locks held, seats taken and rows unwritten, of which
 * the next call would know nothing. C has no noexcept. But the unwinder asks the personality of each frame that it
 * passes, before it changes any, and rs_must_return is one that says no: then C++ calls std::terminate(), and
 * pthread_exit() of glibc abort(). Where compilers write no tables for the unwinder, exceptions get no further either,
 * but pthread_exit() ends the thread. Cleanups of -fexceptions would come later, and need libgcc_s.
 */
#ifndef RS_MUST_RETURN_H
#define RS_MUST_RETURN_H

/* In a function, before it calls one that must return; it must do something after that, or its frame may be gone. */
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define RS_MUST_RETURN __asm__ volatile(".cfi_personality 0x1b, rs_must_return") /* pcrel | sdata4 */
#else
#define RS_MUST_RETURN (void)0
#endif

/* Keeps what is said of its frame from others': no part of it is put into them, or apart. */
#ifdef __has_attribute
#if __has_attribute(noipa)
#define RS_OWN_FRAME __attribute__((noipa))
#endif
#endif
#ifndef RS_OWN_FRAME
#define RS_OWN_FRAME __attribute__((noinline))
#endif

#endif
