/*
 * packs.h - entries of the cache into packs, by what their keys say, and out of them
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PACKS_H
#define RS_PACKS_H

#include "cache/store.h"
#include "rowscan.h"

/* rowscan_cache_export_memory and rowscan_cache_export. */
rowscan_status rs_packs_export(rs_store *store, const rowscan_cache_filter *filter, void **pack, size_t *bytes,
                               rowscan_cache_exported *exported);
rowscan_status rs_packs_export_file(rs_store *store, const rowscan_cache_filter *filter, const char *file,
                                    rowscan_cache_exported *exported);

/* rowscan_cache_import_memory and, with a file, rowscan_cache_import. */
rowscan_status rs_packs_import(rs_store *store, const char *file, const void *pack, size_t bytes,
                               rowscan_cache_imported *imported);

#endif
