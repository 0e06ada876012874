/*
 * shard.h - scans of arrays that are cut over the ranks of a communicator
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_SHARD_H
#define RP_SHARD_H

#include "kinds.h"

/*
 * sharded(call, gather, ranks, rank): call(), all of whose scans by this thread are those of this rank's part. There
 * must be one. gather(bytes) returns what all ranks have sent, one after another, as bytes; what it raises is raised.
 */
PyObject *rp_sharded(PyObject *self, PyObject *args);

/* shard_tell(gather, ranks, rank, message): takes part in a scan that the other ranks call, which raises this there. */
PyObject *rp_shard_tell(PyObject *self, PyObject *args);

/* is_sharded(): whether this thread is in sharded(). */
PyObject *rp_is_sharded(PyObject *self, PyObject *unused);

/* rowscan_scan, or in sharded() rowscan_shard_scan. Without the GIL. */
rowscan_status rp_shard_scan(rowscan_context *context, const rowscan_problem *problem, void *stream);

/*
 * record_bytes(op, flags, in_type, out_type, acc_type, mask_mode, mask_type, shape, dim, begin, end): of the record of
 * elements [begin, end) of each row of a scan.
 */
PyObject *rp_record_bytes(PyObject *self, PyObject *args);

#endif
