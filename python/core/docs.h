/*
 * docs.h - the manual of what Python users call in C, for help() and inspect.signature()
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_DOCS_H
#define RP_DOCS_H

extern const char rp_cumsum_doc[], rp_cumprod_doc[], rp_devices_doc[], rp_archs_doc[], rp_set_threads_doc[];

#endif
