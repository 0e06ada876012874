/*
 * docs.h - the manual of what Python users call in C, for help() and inspect.signature()
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_DOCS_H
#define RP_DOCS_H

#include "call.h"

#define X(name, op) extern const char rp_##name##_doc[];
RP_SCANS(X)
#undef X
extern const char rp_scan_doc[], rp_devices_doc[], rp_archs_doc[], rp_set_threads_doc[];

#endif
