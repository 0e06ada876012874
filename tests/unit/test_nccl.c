/*
 * test_nccl.c - rowscan_nccl.h, on ranks that are threads, without NCCL and without a GPU
 * SPDX-License-Identifier: MIT
 *
 * The header is compiled with the fakes of tests/support/fake_nccl, and scans rows on the host engine. Looked at are
 * the bits, the memory that it takes, the current device, and what each rank returns when a call of one rank fails.
 */
#include "rowscan_nccl.h"

#include <check.h>
#include <stdio.h>

#include "../support/fake_nccl/calls.h"
#include "../support/run_tests.h"

enum { FEW = 3, MANY = 400, LENGTH = 61, ELSEWHERE = 99, FIRST_DEVICE = 10, MOST_MESSAGE = 256, WORD = 4096 };

static rowscan_context *context;
static float elements[MANY][LENGTH], results[MANY][LENGTH];

/* Numbers of many sizes, so that the order of adding shows. */
static void fill_elements(void) {
  uint32_t random = 1;
  for (int i = 0; i < MANY * LENGTH; i++) {
    random = random * 1664525 + 1013904223;
    elements[i / LENGTH][i % LENGTH] = (float)(random >> 8) / (float)(1 << random % 24);
  }
}

static void open_all(void) {
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)));
  fill_elements();
}

static void close_all(void) {
  rowscan_close(context);
  ck_assert_int_eq(fake_memory.count, 0);
}

/* Elements [begin, end) of each row. */
static rowscan_status scan(float (*x)[LENGTH], const int64_t *shape, int64_t begin, const rowscan_comm *comm) {
  static const int64_t strides[] = {LENGTH, 1};
  rowscan_problem problem = *ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = shape,
                                             .input = {.data = &x[0][begin], .type = ROWSCAN_F32, .strides = strides},
                                             .output = {.data = &x[0][begin], .type = ROWSCAN_F32, .strides = strides});
  return comm ? rowscan_shard_scan(context, &problem, comm, NULL) : rowscan_scan(context, &problem, NULL);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

typedef struct rank {
  int rows;
  int64_t begin, end;
  rowscan_nccl nccl;
  struct ncclComm comm;
  struct CUstream_st stream;
  fake_fault fault;
  int opened, current; /* what rowscan_nccl_comm returned; the current device afterwards */
  rowscan_status status;
  char message[MOST_MESSAGE];
} rank;

typedef struct ranks {
  fake_group group;
  rank of[FAKE_MOST_RANKS];
} ranks;

static void *run_rank(void *user) {
  rank *own = user;
  rowscan_comm comm;
  fake_current = ELSEWHERE;
  own->opened = rowscan_nccl_comm(&comm, &own->nccl);
  fake_fails = own->fault;
  own->status =
      own->opened ? ROWSCAN_OK : scan(results, (int64_t[]){own->rows, own->end - own->begin}, own->begin, &comm);
  fake_fails = (fake_fault){FAKE_NOTHING, 0, 0};
  snprintf(own->message, sizeof own->message, "%s", own->status ? rowscan_last_error() : "");
  if (own->status)
    fake_leave(own->comm.group);
  own->current = fake_current;
  return NULL;
}

/* New communicators and streams; what rowscan_nccl has of memory stays. The second part has no elements. */
static void connect(ranks *all, int count, int rows, bool late) {
  all->group = (fake_group){.lock = PTHREAD_MUTEX_INITIALIZER, .ranks = count};
  for (int r = 0; r < count; r++) {
    rank *own = &all->of[r];
    own->rows = rows;
    own->begin = r == 2 ? all->of[1].end : LENGTH * r / count;
    own->end = r == 1 && count > 2 ? own->begin : LENGTH * (r + 1) / count;
    own->comm = (struct ncclComm){.group = &all->group, .rank = r, .device = FIRST_DEVICE + r, .late = late};
    own->stream = (struct CUstream_st){.device = FIRST_DEVICE + r};
    own->nccl.comm = &own->comm;
    own->nccl.stream = &own->stream;
    own->fault = (fake_fault){FAKE_NOTHING, 0, 0};
  }
}

static void run_ranks(ranks *all) {
  pthread_t threads[FAKE_MOST_RANKS];
  memcpy(results, elements, sizeof results);
  for (int r = 0; r < all->group.ranks; r++)
    ck_assert(!pthread_create(&threads[r], NULL, run_rank, &all->of[r]));
  for (int r = 0; r < all->group.ranks; r++)
    pthread_join(threads[r], NULL);
  for (int r = 0; r < all->group.ranks; r++) {
    ck_assert_int_eq(all->of[r].opened, 0);
    ck_assert_int_eq(all->of[r].current, ELSEWHERE);
  }
}

/* All ranks scan their parts, and rows have the bits of one scan. */
static void check_bits(ranks *all) {
  static float should[MANY][LENGTH];
  int rows = all->of[0].rows;
  memcpy(should, elements, sizeof should);
  ck_assert(!scan(should, (int64_t[]){rows, LENGTH}, 0, NULL));
  run_ranks(all);
  for (int r = 0; r < all->group.ranks; r++)
    ck_assert_msg(!all->of[r].status, "rank %d: %s", r, all->of[r].message);
  ck_assert(!memcmp(results, should, sizeof results));
}

static void free_all(ranks *all) {
  for (int r = 0; r < all->group.ranks; r++) {
    rowscan_nccl *nccl = &all->of[r].nccl;
    ck_assert_int_eq(rowscan_nccl_free(nccl), 0);
    ck_assert(!nccl->host && !nccl->device && !nccl->bytes);
  }
  ck_assert_int_eq(fake_memory.count, 0);
}

/* ---- what works -------------------------------------------------------------------------------------------------- */

static const int counts[] = {1, 2, 5};

/* Records of few rows travel with the words; those of many take a third gather, and more memory, which stays. */
static void check_memory(ranks *all, int count, bool late) {
  size_t few = (size_t)WORD * (size_t)(count + 1) * (count > 1);
  int gathers = count > 1 ? 2 : 0, blocks = count > 1 ? 2 * count : 0;
  connect(all, count, FEW, late);
  check_bits(all);
  ck_assert_int_eq(fake_memory.count, blocks);
  ck_assert_int_eq(fake_memory.taken, blocks);
  for (int r = 0; r < count; r++) {
    ck_assert_int_eq(all->of[r].comm.gathers, gathers);
    ck_assert_uint_eq(all->of[r].nccl.bytes, few);
  }
  check_bits(all);
  ck_assert_int_eq(fake_memory.taken, blocks);
  connect(all, count, MANY, late);
  check_bits(all);
  ck_assert_int_eq(fake_memory.count, blocks);
  ck_assert_int_eq(fake_memory.taken, 2 * blocks);
  for (int r = 0; r < count && count > 1; r++) {
    ck_assert_int_eq(all->of[r].comm.gathers, gathers + 1);
    ck_assert_uint_gt(all->of[r].nccl.bytes, few);
  }
  connect(all, count, FEW, late);
  check_bits(all);
  ck_assert_int_eq(fake_memory.taken, 2 * blocks);
}

START_TEST(ranks_have_the_bits_of_one_scan) {
  static ranks all;
  bool late = _i % 2; /* the communicators do not block */
  int count = counts[_i / 2];
  check_memory(&all, count, late);
  free_all(&all);
  free_all(&all);
  fake_memory.taken = 0;
  check_memory(&all, count, late); /* the structures may be used again */
  free_all(&all);
}
END_TEST

/* rowscan calls no all_gather of one rank; others may. */
START_TEST(one_rank_gathers) {
  static ranks all;
  rowscan_comm comm;
  uint64_t sent[] = {3, 1, 4, 1, 5}, received[5] = {0};
  connect(&all, 1, FEW, _i);
  fake_current = ELSEWHERE;
  ck_assert_int_eq(rowscan_nccl_comm(&comm, &all.of[0].nccl), 0);
  ck_assert_uint_eq(comm.size, sizeof comm);
  ck_assert_int_eq(comm.ranks, 1);
  ck_assert_int_eq(comm.rank, 0);
  ck_assert_int_eq(comm.all_gather(comm.user, sent, received, sizeof sent), 0);
  ck_assert(!memcmp(sent, received, sizeof sent));
  ck_assert_int_eq(fake_current, ELSEWHERE);
  free_all(&all);
}
END_TEST

START_TEST(no_communicator_no_ranks) {
  static ranks all;
  rowscan_comm comm;
  connect(&all, 2, FEW, false);
  fake_fails = (fake_fault){FAKE_COUNT, 1, ncclInvalidArgument};
  ck_assert_int_eq(rowscan_nccl_comm(&comm, &all.of[1].nccl), ncclInvalidArgument);
  ck_assert_int_eq(rowscan_nccl_comm(&comm, &all.of[1].nccl), 0);
  ck_assert_int_eq(comm.rank, 1);
}
END_TEST

/* ---- what fails -------------------------------------------------------------------------------------------------- */

/* On one rank, in a scan of few rows or of many. */
static const struct failure {
  fake_fault fault;
  int rows;
} failures[] = {
    {{FAKE_COUNT, 1, ncclInvalidArgument}, FEW},
    {{FAKE_CU_DEVICE, 1, ncclInvalidArgument}, FEW},
    {{FAKE_GET_DEVICE, 1, cudaErrorInvalidValue}, FEW},
    {{FAKE_SET_DEVICE, 1, cudaErrorInvalidValue}, FEW},
    {{FAKE_MALLOC_HOST, 1, cudaErrorMemoryAllocation}, FEW},
    {{FAKE_MALLOC, 1, cudaErrorMemoryAllocation}, FEW},
    {{FAKE_COPY, 1, cudaErrorIllegalAddress}, FEW},
    {{FAKE_COPY, 2, cudaErrorIllegalAddress}, FEW},
    {{FAKE_COPY, 3, cudaErrorIllegalAddress}, FEW},
    {{FAKE_QUERY, 1, cudaErrorIllegalAddress}, FEW},
    {{FAKE_GATHER, 1, ncclSystemError}, FEW},
    {{FAKE_GATHER, 2, ncclUnhandledCudaError}, FEW},
    {{FAKE_ASYNC, 1, ncclInvalidUsage}, FEW},
    {{FAKE_ASYNC_ERROR, 1, ncclInternalError}, FEW},
    {{FAKE_FREE, 1, cudaErrorIllegalAddress}, MANY},
    {{FAKE_MALLOC_HOST, 1, cudaErrorMemoryAllocation}, MANY},
    {{FAKE_MALLOC, 1, cudaErrorMemoryAllocation}, MANY},
    {{FAKE_GATHER, 3, ncclSystemError}, MANY},
};

static void check_message(const rank *one, int error) {
  char words[MOST_MESSAGE];
  snprintf(words, sizeof words, "bytes returned %d", error);
  ck_assert_int_eq(one->status, ROWSCAN_COMM_FAILED);
  size_t has = strlen(one->message), ends = strlen(words);
  ck_assert_msg(has > ends && !strcmp(one->message + has - ends, words), "%s, not %s", one->message, words);
}

/* It returns its own error, the others the one that NCCL has for them. Nothing is written. New communicators work. */
START_TEST(one_rank_that_fails_fails_all) {
  static ranks all;
  const struct failure *one = &failures[_i / 2];
  bool late = _i % 2;
  if (one->rows == MANY) { /* so that memory grows once, in the third gather */
    connect(&all, 3, FEW, late);
    check_bits(&all);
  }
  connect(&all, 3, one->rows, late);
  all.of[1].fault = one->fault;
  run_ranks(&all);
  for (int r = 0; r < 3; r++)
    check_message(&all.of[r], r == 1 ? one->fault.error : ncclRemoteError);
  ck_assert(!memcmp(results, elements, sizeof results));
  connect(&all, 3, one->rows, late);
  check_bits(&all);
  ck_assert_int_eq(fake_memory.count, 6);
  free_all(&all);
}
END_TEST

/* The error of freeing is told, and the memory is given back nevertheless. */
START_TEST(freeing_that_fails_says_so) {
  static ranks all;
  connect(&all, 2, FEW, false);
  check_bits(&all);
  fake_fails = (fake_fault){FAKE_FREE, 1, cudaErrorIllegalAddress};
  ck_assert_int_eq(rowscan_nccl_free(&all.of[0].nccl), cudaErrorIllegalAddress);
  free_all(&all);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("nccl");
  TCase *cases = tcase_create("nccl");
  tcase_add_checked_fixture(cases, open_all, close_all);
  tcase_set_timeout(cases, 60);
  tcase_add_loop_test(cases, ranks_have_the_bits_of_one_scan, 0, 2 * (int)(sizeof counts / sizeof *counts));
  tcase_add_loop_test(cases, one_rank_gathers, 0, 2);
  tcase_add_test(cases, no_communicator_no_ranks);
  tcase_add_loop_test(cases, one_rank_that_fails_fails_all, 0, 2 * (int)(sizeof failures / sizeof *failures));
  tcase_add_test(cases, freeing_that_fails_says_so);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
