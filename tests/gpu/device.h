/*
 * device.h - the GPU as a user of the library has it: memory, streams and graphs, by the driver's own calls
 * SPDX-License-Identifier: MIT
 *
 * A call that fails ends the program: after it nothing on the device can be trusted.
 */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

struct CUstream_st;
typedef struct CUstream_st *device_stream;
typedef struct device_graph device_graph; /* ready to be launched */
struct CUevent_st;
typedef struct CUevent_st *device_event;

/* NULL, or why there is nothing to test on. Makes the device current in this thread. */
const char *device_open(void);
void device_close(void);

/* Whether there is one. Asked in a child: a driver that was started does not survive the forks of a suite's tests. */
bool device_there(void);
void device_use(void); /* in a further thread */

/* What a failed call happened in; told before the program ends. */
void device_doing(const char *what);

bool device_simulated(void);
bool device_sanitized(void); /* by compute-sanitizer */
/* Of the driver, by this name (NULL: by any), so far, by all of this program; -1: not known, since it isn't simulated.
 */
long device_calls(const char *symbol);
int device_multiprocessors(void);
int device_arch(void); /* 90 for sm_90 */
size_t device_free_bytes(void);

void *device_alloc(size_t bytes);
void device_free(void *memory);
void *device_pinned(size_t bytes); /* of the host */
void device_pinned_free(void *memory);

/* Queued on a stream. */
void device_upload(void *to, const void *from, size_t bytes, device_stream stream);
void device_download(void *to, const void *from, size_t bytes, device_stream stream);
void device_fill(void *to, unsigned char value, size_t bytes, device_stream stream);

device_stream device_stream_new(void);
void device_stream_free(device_stream stream);
void device_wait(device_stream stream);
void device_wait_all(void); /* for streams that were freed too */

/* What is queued on a stream so far; it is waited for by what is queued on another after this. */
device_event device_mark(device_stream stream);
void device_after(device_stream stream, device_event event);
void device_event_free(device_event event);

void device_capture(device_stream stream);
device_graph *device_captured(device_stream stream);
void device_launch(device_graph *graph, device_stream stream);
void device_graph_free(device_graph *graph);

/*
 * Another program's kernel that has all but so many multiprocessors, for at most 30 seconds. Returns when it has them.
 * What waits for the whole device waits for it.
 */
typedef struct device_hold device_hold;
device_hold *device_hold_all_but(int left);
bool device_holds(const device_hold *hold); /* still */
void device_let_go(device_hold *hold);

#endif
