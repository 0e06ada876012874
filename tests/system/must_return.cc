/*
 * must_return.cc - functions of the program's that throw, or end their thread, where they must return
 * SPDX-License-Identifier: MIT
 *
 * Each ends the process, whoever would catch the exception: of a scan that was left so, the next one would write some
 * rows only. Each case is a process of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "rowscan.h"

namespace {

enum class Leaves { never, by_exception, by_exit };
enum class Who { load_of_caller, load_of_other, parallel_for, load_in_parallel_for, progress };

Leaves leaves;
Who who;
pthread_t caller;
bool armed;
std::atomic<bool> other_came;

void leave() {
  if (armed && leaves == Leaves::by_exception)
    throw std::runtime_error("left");
  if (armed && leaves == Leaves::by_exit)
    pthread_exit(nullptr);
}

bool is_caller() {
  return pthread_equal(pthread_self(), caller) != 0;
}

extern "C" {
static void load(void *total, const void *x, const void *) {
  *static_cast<float *>(total) = *static_cast<const float *>(x);
  if (!armed || *static_cast<const float *>(x) == 1)
    return;
  if (who == Who::load_in_parallel_for || (who == Who::load_of_caller && is_caller()))
    leave();
  if (who == Who::load_of_other && !is_caller()) {
    other_came = true;
    leave();
  }
  while (who == Who::load_of_other && !other_came)
    sched_yield();
}

static void combine(void *total, const void *left, const void *right) {
  *static_cast<float *>(total) = *static_cast<const float *>(left) + *static_cast<const float *>(right);
}

static void store(void *y, const void *total) {
  *static_cast<float *>(y) = *static_cast<const float *>(total);
}

static void neutral(void *total) {
  *static_cast<float *>(total) = -0.0f;
}

static void progress(void *, int64_t, int64_t) {
  if (who == Who::progress)
    leave();
}

/* As libraries of tasks do, whose threads catch what a task throws. */
static void parallel_for(void *, int64_t count, void (*body)(void *, int64_t), void *data) {
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < count; i++)
    threads.emplace_back([=] {
      try {
        body(data, i);
      } catch (std::exception &) {
      }
    });
  try {
    body(data, 0);
  } catch (std::exception &) {
  }
  for (auto &thread : threads)
    thread.join();
  if (who == Who::parallel_for)
    leave();
}
}

rowscan_op make_op() {
  static const rowscan_op_functions functions = {load, combine, store, neutral, nullptr, nullptr};
  rowscan_operator given = {};
  given.size = sizeof given;
  given.source = "// rowscan: op=Adder types=floats\n";
  given.f32 = &functions;
  rowscan_op op = ROWSCAN_SUM;
  if (rowscan_op_create(&op, &given) != ROWSCAN_OK)
    fprintf(stderr, "%s\n", rowscan_last_error());
  return op;
}

/* Whether rows of ones, with twos in each, are scanned right. */
bool scan(rowscan_context *context, rowscan_op op, int64_t rows) {
  enum { LENGTH = 1000 };
  std::vector<float> x(static_cast<size_t>(rows * LENGTH), 1), y(x.size());
  for (size_t i = 0; i < x.size(); i += 100)
    x[i] = 2;
  const int64_t shape[] = {rows, LENGTH};
  rowscan_problem problem = {};
  problem.size = sizeof problem;
  problem.op = op;
  problem.rank = 2;
  problem.dim = 1;
  problem.shape = shape;
  problem.input.data = x.data();
  problem.output.data = y.data();
  rowscan_status status =
      who == Who::progress ? rowscan_scan_host(context, &problem) : rowscan_scan(context, &problem, nullptr);
  if (status != ROWSCAN_OK)
    fprintf(stderr, "%s\n", rowscan_last_error());
  for (int64_t r = 0; r < rows; r++)
    if (y[static_cast<size_t>((r + 1) * LENGTH - 1)] != LENGTH + LENGTH / 100)
      return false;
  return status == ROWSCAN_OK;
}

/* In a thread, which may end. */
void *scan_twice(void *rows) {
  caller = pthread_self();
  rowscan_options options = {};
  options.size = sizeof options;
  options.engine = ROWSCAN_ENGINE_HOST;
  options.threads = 4;
  options.progress = progress;
  options.parallel_for = who == Who::parallel_for || who == Who::load_in_parallel_for ? parallel_for : nullptr;
  rowscan_context *context;
  if (rowscan_open(&context, &options) != ROWSCAN_OK)
    _exit(2);
  rowscan_op op = make_op();
  armed = true;
  for (int i = 0; i < 2; i++)
    try {
      if (!scan(context, op, *static_cast<int64_t *>(rows)))
        _exit(3);
    } catch (std::exception &) {
      armed = false;
    }
  rowscan_close(context);
  return nullptr;
}

[[noreturn]] void run(int64_t rows) {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  int nowhere = open("/dev/null", O_WRONLY);
  if (leaves != Leaves::never)
    dup2(nowhere, STDERR_FILENO); /* C++ says what was thrown */
  alarm(120);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, scan_twice, &rows) != 0)
    _exit(2);
  pthread_join(thread, nullptr);
  _exit(0);
}

const char *const names[] = {"load in the caller's thread", "load in another thread", "parallel_for",
                             "load in parallel_for", "progress"};
const char *const ways[] = {"returning", "throwing", "ending its thread"};

/* 0: as it should be. */
int check(int64_t rows) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0)
    run(rows);
  int status = 0;
  waitpid(child, &status, 0);
  bool right = leaves == Leaves::never ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  if (right)
    return 0;
  printf("%s, %s, %lld rows: ends with %s %d\n", names[static_cast<int>(who)], ways[static_cast<int>(leaves)],
         static_cast<long long>(rows), WIFSIGNALED(status) ? "signal" : "status",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return 1;
}

} // namespace

int main() {
  const Who all[] = {Who::load_of_caller, Who::load_of_other, Who::parallel_for, Who::load_in_parallel_for,
                     Who::progress};
  std::vector<Leaves> how = {Leaves::never, Leaves::by_exception};
#ifdef __GLIBC__ /* musl's leaves frames alone */
  how.push_back(Leaves::by_exit);
#endif
  int wrong = 0;
  for (Leaves one : how)
    for (Who each : all)
      for (int64_t rows : {1, 600}) {
        leaves = one;
        who = each;
        bool alone = rows == 1 && (who == Who::load_of_other || who == Who::parallel_for);
        wrong += alone ? 0 : check(rows); /* a row is scanned by its caller */
      }
  return wrong ? 1 : 0;
}
