/*
 * scan.c - rowscan scan: from .npy to .npy
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "commands.h"
#include "json.h"
#include "npy.h"
#include "op_file.h"
#include "options.h"
#include "output.h"
#include "parts.h"
#include "ranks.h"
#include "say.h"
#include "session.h"
#include "spec/half.h"

/* ---- arrays in files --------------------------------------------------------------------------------------------- */

/* An .npy file in memory, mapped, so that it may be larger than memory; starts as {0}. */
typedef struct cli_array {
  const char *name; /* as messages have it */
  npy_header header;
  int64_t strides[NPY_RANK_MAX]; /* in elements */
  const void *data;              /* from take_part on the part's, aligned to its type */
  void *map, *copy;
  size_t map_bytes, copy_bytes;
} cli_array;

enum { MOST_BYTES = 1 << 30 }; /* of what is read at a time */

/* Lets go of the memory; {0} is nothing. */
static void array_close(cli_array *array) {
  if (array->map)
    munmap(array->map, array->map_bytes);
  if (array->copy)
    munmap(array->copy, array->copy_bytes);
  array->map = array->copy = NULL;
  array->map_bytes = array->copy_bytes = 0;
}

/* Maps the whole file; one without a byte is not mapped, and left to the parser to refuse. */
static int map(cli_array *array, int file, off_t bytes) {
  if (!bytes)
    return EXIT_OK;
  void *start = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED)
    return say_failed("%s: %lld bytes cannot be mapped: %s", array->name, (long long)bytes, strerror(errno));
  array->map = start;
  array->map_bytes = (size_t)bytes;
  guard_map(start, array->map_bytes, array->name, "cannot be read to its end: was it truncated, or did the disk fail?");
  return EXIT_OK;
}

static int make_room(cli_array *array, size_t bytes) {
  void *start = array->map ? mremap(array->map, array->map_bytes, bytes, MREMAP_MAYMOVE)
                           : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return say_failed("%s: out of memory for %zu bytes: %s", array->name, bytes, strerror(errno));
  array->map = start;
  array->map_bytes = bytes;
  return EXIT_OK;
}

/* Until the room is full; *bytes: that are there, fewer if no more come. */
static int fill(cli_array *array, int file, size_t *bytes) {
  while (*bytes < array->map_bytes) {
    size_t room = array->map_bytes - *bytes;
    ssize_t got = read(file, (char *)array->map + *bytes, room < MOST_BYTES ? room : MOST_BYTES);
    if (got == 0)
      return EXIT_OK;
    if (got < 0 && errno == EAGAIN)
      poll(&(struct pollfd){.fd = file, .events = POLLIN}, 1, -1);
    else if (got < 0 && errno != EINTR)
      return say_failed("%s: cannot be read: %s", array->name, strerror(errno));
    *bytes += got > 0 ? (size_t)got : 0;
  }
  return EXIT_OK;
}

/* The header, and as many bytes as it tells of; what comes after them is not read. As many are then mapped. */
static int read_whole_stream(cli_array *array, int file, bool allow_bf16) {
  size_t bytes = 0, wanted;
  int status = EXIT_OK;
  while (status == EXIT_OK && bytes == array->map_bytes &&
         bytes < (wanted = npy_wanted(array->map, bytes, allow_bf16))) {
    status = make_room(array, wanted);
    if (status == EXIT_OK)
      status = fill(array, file, &bytes);
  }
  if (bytes)
    return status == EXIT_OK ? make_room(array, bytes) : status;
  array_close(array);
  return status;
}

/* Of a file with a name nothing but regular ones: a pipe would make us wait for who knows what. */
static int take_file(cli_array *array, int file, bool is_standard, bool allow_bf16) {
  struct stat facts;
  if (fstat(file, &facts))
    return say_failed("%s: cannot be read: %s", array->name, strerror(errno));
  if (S_ISDIR(facts.st_mode))
    return say_failed("%s: is a directory", array->name);
  if (is_standard && isatty(file))
    return say_failed("%s: is a terminal; pass a file or a pipe", array->name);
  if (S_ISREG(facts.st_mode) && (!is_standard || lseek(file, 0, SEEK_CUR) == 0))
    return map(array, file, facts.st_size);
  return is_standard ? read_whole_stream(array, file, allow_bf16)
                     : say_failed("%s: is not a regular file; pass a pipe as standard input, -", array->name);
}

/* The part alone, in memory of its own. */
static int copy_part(cli_array *array, const cli_part *part) {
  int64_t shape[NPY_RANK_MAX];
  const npy_header *header = &array->header;
  size_t bytes = rowscan_type_bytes(header->type);
  memcpy(shape, header->shape, sizeof shape);
  shape[part->dim] = part->end - part->begin;
  for (int d = 0; d < header->rank; d++)
    bytes *= (size_t)shape[d];
  npy_strides(array->strides, header->rank, shape, header->fortran);
  array->data = array->map; /* of no elements: never read, but a page is aligned */
  if (!bytes)
    return EXIT_OK;
  array->copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (array->copy == MAP_FAILED) {
    array->copy = NULL;
    return say_failed("%s: the data starts at byte %zu, which is not a multiple of the element size, and there is no "
                      "memory for an aligned copy of %zu bytes",
                      array->name, header->data_start, bytes);
  }
  array->copy_bytes = bytes;
  part_copy(array->copy, part, (const char *)array->map + header->data_start, header);
  array->data = array->copy;
  return EXIT_OK;
}

/*
 * Lets the data begin at the part; one number for all elements has no file. Engines want elements aligned to their
 * size. NumPy pads headers to 64 bytes (16 in old versions), others need not.
 */
static int take_part(cli_array *array, const cli_part *part) {
  if (!array->map)
    return EXIT_OK;
  size_t bytes = rowscan_type_bytes(array->header.type);
  if ((uintptr_t)array->data % bytes)
    return copy_part(array, part);
  array->data = (const char *)array->data + part->begin * array->strides[part->dim] * (int64_t)bytes;
  return EXIT_OK;
}

static int parse(cli_array *array, bool allow_bf16) {
  char why[NPY_WHY_MAX];
  if (!npy_parse(&array->header, array->map, array->map_bytes, allow_bf16, why))
    return say_failed("%s: %s", array->name, why);
  npy_strides(array->strides, array->header.rank, array->header.shape, array->header.fortran);
  array->data = (const char *)array->map + array->header.data_start;
  return EXIT_OK;
}

/*
 * Opens the file; "-" is standard input: an array that comes through a pipe is read into memory. Returns EXIT_OK, or
 * EXIT_FAILED having said why.
 */
static int array_open(cli_array *array, const char *name, bool allow_bf16) {
  bool is_standard = !strcmp(name, "-");
  array->name = is_standard ? "standard input" : name;
  int file = is_standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return say_failed("%s: cannot be opened: %s", name, strerror(errno));
  int status = take_file(array, file, is_standard, allow_bf16);
  if (!is_standard)
    close(file);
  return status == EXIT_OK ? parse(array, allow_bf16) : status;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/*
 * What may lie beside the elements, a mask and one of the others: its option, its mode, and what messages call one of
 * its elements.
 */
enum { MASK, HEADS, TAILS, KEYS, BESIDE_KINDS };
static const struct {
  const char *option;
  rowscan_mask_mode mode;
  const char *one;
} beside_kinds[BESIDE_KINDS] = {{"mask", ROWSCAN_MASK_SELECT, "a mask"},
                                {"heads", ROWSCAN_MASK_HEADS, "a flag"},
                                {"tails", ROWSCAN_MASK_TAILS, "a flag"},
                                {"keys", ROWSCAN_MASK_KEYS, "a key"}};

/* An array beside the elements, or one number for all of it; without data there is none. */
typedef struct cli_beside {
  cli_array array;
  uint64_t number;
} cli_beside;

typedef struct scan_job {
  /* as asked for */
  const char *in_name, *out_name, *second_name, *beside_names[BESIDE_KINDS], *op_file;
  const char *coefficient, *more_names[RS_MOST_MORE]; /* numbers or files */
  const char *params_text, *devices;
  rowscan_op op;
  rowscan_type type, out_type, acc;
  rowscan_mask_mode mask_mode;
  int dim;
  bool reverse, exclusive, include_initial, omit_nan, ties_first, quiet, verbose, json, mpi;
  cli_session session;
  /* as found */
  int segment_kind; /* of flags or keys; 0: none */
  cli_array in;
  cli_beside mask, segments, more[RS_MOST_MORE]; /* mask: or coefficients, which beside one are more[0] */
  double params[RS_MOST_PARAMS];
  cli_output out;
  char out_header[NPY_HEADER_MAX];
  int64_t out_shape[NPY_RANK_MAX], out_bytes;
  size_t out_start; /* of the data in the output */
  rowscan_type second_type;
  char *second; /* the file of the second output, in memory until the first one is written */
  size_t second_start, second_bytes;
  cli_ranks ranks;
  cli_part part;                    /* of the elements, which this process scans: without ranks all of them */
  int64_t part_shape[NPY_RANK_MAX]; /* of the inputs */
  cli_shared shared, shared_second; /* with ranks, in the place of out and of the file in second */
  char *part_out;                   /* this rank's elements of it; those of the other are `second` */
  const char *engine;
  double seconds, total_seconds;
} scan_job;

/* Which of them are given, and the mask's mode. */
static int choose_beside(scan_job *job) {
  const char *const *names = job->beside_names, *mode = rs_mask_mode_values.words[job->mask_mode];
  for (int i = HEADS; i < BESIDE_KINDS; i++) {
    if (names[i] && job->segment_kind)
      return say_usage("--%s: '%s', but --%s is given too, '%s'; choose one of the two", beside_kinds[i].option,
                       names[i], beside_kinds[job->segment_kind].option, names[job->segment_kind]);
    if (names[i])
      job->segment_kind = i;
  }
  if (job->coefficient && job->mask_mode == ROWSCAN_MASK_MULTIPLY)
    return say_usage("--mask-mode: %s rejects multiply; use select", rowscan_op_name(job->op));
  if (job->mask_mode > ROWSCAN_MASK_MULTIPLY)
    return say_usage("--mask-mode: %s is an option of its own; use --%s", mode, mode);
  if (job->mask_mode && !names[MASK])
    return say_usage("--mask-mode: %s requires --mask", mode);
  if (names[MASK] && !job->mask_mode)
    job->mask_mode = ROWSCAN_MASK_SELECT;
  return OPTIONS_READ;
}

/* Numbers between commas, as many as the operator has. */
static int read_params(scan_job *job, int wanted) {
  const char *at = job->params_text;
  int count = 0;
  for (char *end; at && count < RS_MOST_PARAMS; count++) {
    job->params[count] = strtod(at, &end);
    if (end == at || (*end && *end != ','))
      return say_usage("--params: '%s' is not a list of numbers", job->params_text);
    at = *end ? end + 1 : NULL;
  }
  if (count != wanted || at)
    return say_usage("--params: %s%s%s, but %s has %d parameter%s", job->params_text ? "'" : "",
                     job->params_text ? job->params_text : "not given", job->params_text ? "'" : "",
                     rowscan_op_name(job->op), wanted, wanted == 1 ? "" : "s");
  return OPTIONS_READ;
}

/* Further inputs and the second output, as the operator has them. */
static int check_further(scan_job *job) {
  const rs_op *op = rs_op_of(job->op);
  for (int i = 0; i < RS_MOST_MORE; i++)
    if (!job->more_names[i] != (i >= op->more))
      return say_usage("--more%d: %s%s%s, but %s has %d further input%s", i + 1, job->more_names[i] ? "'" : "",
                       job->more_names[i] ? job->more_names[i] : "not given", job->more_names[i] ? "'" : "", op->name,
                       op->more, op->more == 1 ? "" : "s");
  if (job->second_name && !op->second)
    return say_usage("--second: '%s', but %s has one output", job->second_name, op->name);
  return read_params(job, op->params);
}

/* What ranks cannot do. They scan on the host engine. */
static int check_ranks(scan_job *job) {
  static const char only_host[] = "but --mpi, which is given too, scans on the host engine";
  if (!job->mpi)
    return OPTIONS_READ;
  if (!ranks_served())
    return say_failed("--mpi: this command was built without MPI; to build one with it, pass --with-mpi to configure");
  if (!strcmp(job->in_name, "-") || !strcmp(job->out_name, "-"))
    return say_usage("--mpi: %s is '-', but ranks read and write files that all of them can open",
                     strcmp(job->in_name, "-") ? "OUT.npy" : "IN.npy");
  if (job->op_file)
    return say_usage("--op-file: '%s' is an operator for GPUs, %s", job->op_file, only_host);
  if (job->session.engine == ROWSCAN_ENGINE_CUDA)
    return say_usage("--engine: cuda, %s", only_host);
  if (job->session.device >= 0)
    return say_usage("--device: %d is the number of a GPU, %s", job->session.device, only_host);
  if (job->devices)
    return say_usage("--devices: '%s' are numbers of GPUs, %s", job->devices, only_host);
  job->session.engine = ROWSCAN_ENGINE_HOST;
  return OPTIONS_READ;
}

static int read_scan_options(scan_job *job, int argc, char **argv) {
  cli_kind mask_mode = kind_mask_mode; /* of its words those that others have options for are not offered */
  mask_mode.value = "select|multiply";
  mask_mode.expected = "select, multiply";
  const cli_option options[] = {
      {"op", 0, &kind_op, &job->op, "the operator (sum)"},
      OP_FILE_OPTION(job->op_file),
      {"dim", 0, &kind_int, &job->dim, "dimension to scan along; negative numbers count from the last (-1)"},
      {"axis", 0, &kind_int, &job->dim, "another name of --dim, as in NumPy"},
      {"reverse", 0, &kind_switch, &job->reverse, "scan from the last element to the first"},
      {"exclusive", 0, &kind_switch, &job->exclusive, "leave each element out of its own result"},
      {"include-initial", 0, &kind_switch, &job->include_initial,
       "write one more element before the others: 0 (1 for a product)"},
      {"omit-nan", 0, &kind_switch, &job->omit_nan,
       "skip NaN: it counts as 0 in a sum, 1 in a product, -inf in a maximum"},
      {"ties-first", 0, &kind_switch, &job->ties_first, "argmax, argmin: the index of the first of equal elements"},
      {"mask", 0, &kind_file, &job->beside_names[MASK], "an .npy file of IN's shape: bool, u8 or IN's type"},
      {"mask-mode", 0, &mask_mode, &job->mask_mode, "skip elements whose mask is 0 (select), or multiply by the mask"},
      {"coefficient", 0, &kind_file, &job->coefficient,
       "linear_recurrence, --op-file: a number, or a file as for --mask"},
      {"heads", 0, &kind_file, &job->beside_names[HEADS],
       "a file as for --mask: the scan restarts at each flag that is not 0"},
      {"tails", 0, &kind_file, &job->beside_names[TAILS],
       "a file as for --mask: the scan restarts after each flag that is not 0"},
      {"keys", 0, &kind_file, &job->beside_names[KEYS],
       "a file of integers or bool: the scan restarts where the key changes"},
      {"more1", 0, &kind_file, &job->more_names[0],
       "the second input, as for --coefficient: values (gae), coefficients, a mask"},
      {"more2", 0, &kind_file, &job->more_names[1], "the third input: values of the next step (gae), weights, results"},
      {"more3", 0, &kind_file, &job->more_names[2],
       "gae: steps into a terminal state (flags); --op-file: the fourth input"},
      {"more4", 0, &kind_file, &job->more_names[3],
       "gae: steps that end an episode (flags); --op-file: the fifth input"},
      {"params", 0, &kind_list, &job->params_text,
       "gae: gamma and lambda, such as 0.99,0.95; decayed_sum: its coefficient"},
      {"second", 0, &kind_file, &job->second_name,
       "write the second output: elements (argmax, argmin), returns (gae), sums"},
      {"type", 0, &kind_type, &job->type, "type of IN: required for bf16, 2 raw bytes in NumPy; else checked"},
      {"dtype", 0, &kind_type, &job->out_type, "type of OUT (IN's type; for integers i64 or u64)"},
      {"acc", 0, &kind_acc, &job->acc, "accumulator (f32; f64 for f64; OUT's type for integers), or fixed point"},
      SESSION_OPTIONS(job->session),
      {"devices", 0, &kind_list, &job->devices, "numbers of GPUs that share the work, such as 0,1"},
      {"mpi", 0, &kind_switch, &job->mpi, "under mpirun: each process scans a part of the array, on the CPU"},
      {"json", 0, &kind_switch, &job->json, "print a summary as a JSON object"},
      {"verbose", 'v', &kind_switch, &job->verbose, "print a summary in words, on standard error"},
      {"quiet", 'q', &kind_switch, &job->quiet, "no progress line"},
  };
  const cli_syntax syntax = {
      .name = "scan",
      .operands = "IN.npy OUT.npy",
      .operand_count = 2,
      .about =
          "Scans the array in IN.npy along one dimension and writes the result to OUT.npy, in C order. OUT appears\n"
          "whole or not at all; it may be the same file as IN. IN and OUT may be -, for standard input and output:\n"
          "both arrays are then held in memory. Types: f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64,\n"
          "bool, or a NumPy name that says its width (float32, not float).",
      .options = options,
      .option_count = COUNT_OF(options),
  };
  const char *operands[2];
  int status = options_read(&syntax, argc, argv, operands);
  if (status == OPTIONS_READ)
    status = op_file_read(&job->op, job->op_file);
  if (status == OPTIONS_READ)
    status = devices_read(&job->session, job->devices);
  if (status != OPTIONS_READ)
    return status;
  for (int i = 0; i < 2; i++)
    if (!kind_stream.read(&kind_stream, operands[i], i ? &job->out_name : &job->in_name))
      return say_usage("%s: '%s' is not %s", i ? "OUT.npy" : "IN.npy", operands[i], kind_stream.expected);
  if (job->json && !strcmp(job->out_name, "-"))
    return say_usage("--json: OUT.npy is '-', which already uses standard output");
  if (job->exclusive && job->include_initial)
    return say_usage("--include-initial: --exclusive, which is given too, starts with the initial element and leaves "
                     "out the total; choose one of the two");
  if (rs_op_has_coefficient(job->op) && !job->coefficient)
    return say_usage("--%s: %s requires --coefficient", job->op_file ? "op-file" : "op", rowscan_op_name(job->op));
  if (job->coefficient && !rs_op_has_coefficient(job->op))
    return say_usage("--coefficient: '%s', but %s accepts no coefficient; linear_recurrence does", job->coefficient,
                     rowscan_op_name(job->op));
  status = check_further(job);
  if (status == OPTIONS_READ)
    status = choose_beside(job);
  return status == OPTIONS_READ ? check_ranks(job) : status;
}

/* ---- the inputs -------------------------------------------------------------------------------------------------- */

static int open_in(scan_job *job) {
  char text[NPY_SHAPE_TEXT_MAX];
  int status = array_open(&job->in, job->in_name, job->type == ROWSCAN_BF16);
  if (status != EXIT_OK)
    return status;
  const npy_header *header = &job->in.header;
  if (job->type && job->type != header->type)
    return say_failed("%s: field 'descr': '%s' is %s, but --type is %s", job->in.name, header->descr,
                      rowscan_type_name(header->type), rowscan_type_name(job->type));
  if (!header->rank)
    return say_failed("%s: field 'shape': () has no dimension to scan along", job->in.name);
  if (job->dim < -header->rank || job->dim >= header->rank)
    return say_failed("%s: --dim: %d is not between %d and %d; field 'shape' is %s", job->in.name, job->dim,
                      -header->rank, header->rank - 1, npy_shape_text(text, header->rank, header->shape));
  job->dim += job->dim < 0 ? header->rank : 0;
  return EXIT_OK;
}

/* Bool, u8 or the input's type; of keys bool or an integer. */
static bool type_fits(const scan_job *job, rowscan_type type, bool key) {
  if (key)
    return rs_type_kind(type) != RS_FLOAT;
  return type == ROWSCAN_BOOL || type == ROWSCAN_U8 || type == job->in.header.type;
}

/* One of its elements is called so in messages. */
static int open_array(scan_job *job, cli_beside *beside, const char *name, const char *one, bool key) {
  char text[NPY_SHAPE_TEXT_MAX], wanted[NPY_SHAPE_TEXT_MAX];
  const npy_header *in = &job->in.header, *own = &beside->array.header;
  int status = array_open(&beside->array, name, in->type == ROWSCAN_BF16);
  if (status != EXIT_OK)
    return status;
  if (own->rank != in->rank || memcmp(own->shape, in->shape, (size_t)in->rank * sizeof *in->shape))
    return say_failed("%s: field 'shape': %s, but that of %s is %s", beside->array.name,
                      npy_shape_text(text, own->rank, own->shape), job->in.name,
                      npy_shape_text(wanted, in->rank, in->shape));
  if (type_fits(job, own->type, key))
    return EXIT_OK;
  if (key)
    return say_failed("%s: field 'descr': '%s' is %s; %s must be an integer or bool", beside->array.name, own->descr,
                      rowscan_type_name(own->type), one);
  return say_failed("%s: field 'descr': '%s' is %s; %s must be bool, u8 or of the input's type, %s", beside->array.name,
                    own->descr, rowscan_type_name(own->type), one, rowscan_type_name(in->type));
}

/* The same of integers, which a double has not all of. */
static bool read_whole(uint64_t *element, rowscan_type type, const char *text) {
  char *end;
  bool sign = rs_type_kind(type) == RS_SIGNED;
  int unused = 64 - 8 * (int)rowscan_type_bytes(type);
  errno = 0;
  *element = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
  if (errno || *end || (*text == '-' && !sign))
    return false;
  if (type == ROWSCAN_BOOL)
    return *element <= 1;
  int64_t whole = (int64_t)*element;
  if (sign)
    return (*text == '-' || whole >= 0) && whole >= INT64_MIN >> unused && whole <= INT64_MAX >> unused;
  return *element <= UINT64_MAX >> unused;
}

/* A number as an element; false: the text is none, or the type has no such number. */
static bool read_element(uint64_t *element, rowscan_type type, const char *text) {
  char *end;
  double real = strtod(text, &end);
  if (end == text || *end)
    return false;
  if (rs_type_kind(type) != RS_FLOAT)
    return read_whole(element, type, text);
  rs_put_float(element, type, real);
  return true;
}

/* One for all elements, or an array of them. */
static int open_numbers(scan_job *job, cli_beside *beside, const char *option, const char *text, const char *one) {
  char *end;
  rowscan_type type = job->in.header.type;
  strtod(text, &end);
  if (end == text || *end)
    return open_array(job, beside, text, one, false);
  if (!read_element(&beside->number, type, text))
    return say_failed("--%s: '%s' is not a number of the input's type, %s", option, text, rowscan_type_name(type));
  beside->array.header.type = type;
  beside->array.data = &beside->number;
  return EXIT_OK;
}

static int open_beside(scan_job *job) {
  static const char *const options[RS_MOST_MORE] = {"more1", "more2", "more3", "more4"};
  const char *mask = job->beside_names[MASK];
  int kind = job->segment_kind, status = EXIT_OK;
  if (job->coefficient)
    status = open_numbers(job, mask ? &job->more[0] : &job->mask, "coefficient", job->coefficient, "a coefficient");
  if (status == EXIT_OK && mask)
    status = open_array(job, &job->mask, mask, beside_kinds[MASK].one, false);
  if (status == EXIT_OK && kind)
    status = open_array(job, &job->segments, job->beside_names[kind], beside_kinds[kind].one, kind == KEYS);
  for (int i = 0; i < RS_MOST_MORE && status == EXIT_OK && job->more_names[i]; i++)
    status = open_numbers(job, &job->more[i], options[i], job->more_names[i], "a further input's element");
  return status;
}

static int take_parts(scan_job *job) {
  const npy_header *in = &job->in.header;
  job->part = part_of(&job->ranks.comm, job->dim, in->shape[job->dim], job->reverse);
  memcpy(job->part_shape, in->shape, sizeof in->shape);
  job->part_shape[job->dim] = job->part.end - job->part.begin;
  int status = take_part(&job->in, &job->part);
  if (status == EXIT_OK)
    status = take_part(&job->mask.array, &job->part);
  if (status == EXIT_OK)
    status = take_part(&job->segments.array, &job->part);
  for (int i = 0; i < RS_MOST_MORE && status == EXIT_OK; i++)
    status = take_part(&job->more[i].array, &job->part);
  return status;
}

/* ---- the output -------------------------------------------------------------------------------------------------- */

static unsigned flags_of(const scan_job *job) {
  return (job->reverse ? ROWSCAN_REVERSE : 0) | (job->exclusive ? ROWSCAN_EXCLUSIVE : 0) |
         (job->omit_nan ? ROWSCAN_OMIT_NAN : 0) | (job->ties_first ? ROWSCAN_TIES_FIRST : 0);
}

/* The library fills in the types that were not asked for. */
static int complete_types(scan_job *job) {
  rowscan_spec spec = {
      .size = sizeof spec,
      .op = job->op,
      .in_type = job->in.header.type,
      .out_type = job->out_type,
      .acc_type = job->acc,
      .mask_mode = job->mask_mode,
      .mask_type = job->mask.array.header.type, /* of none: the default */
      .flags = flags_of(job),
      .length = job->in.header.shape[job->dim],
  };
  if (job->segment_kind && !job->mask_mode && !job->coefficient) { /* in the place of a mask */
    spec.mask_mode = beside_kinds[job->segment_kind].mode;
    spec.mask_type = job->segments.array.header.type;
  } else if (job->segment_kind) {
    spec.segment_mode = beside_kinds[job->segment_kind].mode;
    spec.segment_type = job->segments.array.header.type;
  }
  for (int i = 0; i < RS_MOST_MORE; i++)
    spec.more_types[i] = job->more[i].array.header.type;
  rowscan_status status = rowscan_spec_complete(&spec);
  if (status != ROWSCAN_OK)
    return say_library(job->in.name, status);
  job->out_type = spec.out_type;
  job->acc = spec.acc_type;
  job->second_type = rs_op_of(job->op)->kind == RS_INDEX ? spec.in_type : spec.out_type;
  return EXIT_OK;
}

static int shape_out(scan_job *job) {
  char text[NPY_SHAPE_TEXT_MAX];
  const npy_header *in = &job->in.header;
  job->out_bytes = (int64_t)rowscan_type_bytes(job->out_type);
  bool fits = true;
  for (int d = 0; d < in->rank; d++) {
    job->out_shape[d] = in->shape[d] + (job->include_initial && d == job->dim);
    fits = fits && !__builtin_mul_overflow(job->out_bytes, job->out_shape[d], &job->out_bytes);
  }
  return fits ? EXIT_OK
              : say_failed("%s: an array of shape %s is too large", job->out_name,
                           npy_shape_text(text, in->rank, job->out_shape));
}

/* The bytes of a part of an array; its shape is that of the inputs, or with `more` one element longer. */
static size_t part_bytes(const scan_job *job, rowscan_type type, bool more) {
  size_t bytes = rowscan_type_bytes(type);
  for (int d = 0; d < job->in.header.rank; d++)
    bytes *= (size_t)(job->part_shape[d] + (more && d == job->dim));
  return bytes;
}

/* Of a file that all ranks write; more: it has the initial elements. */
static cli_shared shared_of(const scan_job *job, rowscan_type type, const int64_t *shape, bool more) {
  cli_shared file = {.output = OUTPUT_NONE,
                     .type = type,
                     .rank = job->in.header.rank,
                     .dim = job->dim,
                     .more = more,
                     .reverse = job->reverse};
  memcpy(file.shape, shape, sizeof file.shape);
  return file;
}

static int open_shared(scan_job *job) {
  size_t bytes = part_bytes(job, job->out_type, job->include_initial);
  job->part_out = malloc(bytes + 1);
  int status = job->part_out ? EXIT_OK : say_failed("%s: out of memory for %zu bytes", job->out_name, bytes);
  status = ranks_agree(&job->ranks, status);
  if (status != EXIT_OK)
    return status;
  job->shared = shared_of(job, job->out_type, job->out_shape, job->include_initial);
  status = shared_open(&job->shared, &job->ranks, job->out_name);
  if (status == EXIT_OK && job->second_name)
    status = ranks_agree(
        &job->ranks, job->ranks.comm.rank ? EXIT_OK : output_apart(&job->shared.output, "--second", job->second_name));
  return status;
}

static int open_out(scan_job *job) {
  if (job->mpi)
    return open_shared(job);
  job->out_start = npy_format(job->out_header, job->out_type, job->in.header.rank, job->out_shape);
  int status = output_open(&job->out, job->out_name);
  if (status == EXIT_OK)
    status = output_map(&job->out, job->out_start + (size_t)job->out_bytes);
  if (status == EXIT_OK)
    memcpy(job->out.map, job->out_header, job->out_start);
  if (status == EXIT_OK && job->second_name)
    status = output_apart(&job->out, "--second", job->second_name);
  return status;
}

/* The second output has the shape of the input, and this process its part. */
static int make_second(scan_job *job) {
  int64_t bytes = (int64_t)rowscan_type_bytes(job->second_type);
  const npy_header *in = &job->in.header;
  if (!job->second_name)
    return EXIT_OK;
  char header[NPY_HEADER_MAX];
  job->second_start = npy_format(header, job->second_type, in->rank, in->shape);
  for (int d = 0; d < in->rank; d++) /* fewer than the first one has, or as many, which are counted */
    bytes *= in->shape[d];
  job->second_bytes = job->second_start + (size_t)bytes;
  size_t held = job->second_start + part_bytes(job, job->second_type, false);
  job->second = malloc(held);
  if (!job->second)
    return say_failed("%s: out of memory for %zu bytes", job->second_name, held);
  memcpy(job->second, header, job->second_start);
  return EXIT_OK;
}

/* ---- the work ---------------------------------------------------------------------------------------------------- */

static rowscan_input input_of(const cli_beside *beside) {
  if (!beside->array.data)
    return (rowscan_input){NULL};
  return (rowscan_input){
      .data = beside->array.data, .type = beside->array.header.type, .strides = beside->array.strides};
}

static int scan(scan_job *job, rowscan_context *context) {
  int64_t shape[NPY_RANK_MAX], strides[NPY_RANK_MAX];
  const npy_header *header = &job->in.header;
  char *out = job->mpi ? job->part_out : (char *)job->out.map + job->out_start;
  memcpy(shape, job->part_shape, sizeof shape);
  shape[job->dim] += job->include_initial;
  npy_strides(strides, header->rank, shape, false);
  rowscan_problem problem = {
      .size = sizeof problem,
      .op = job->op,
      .flags = flags_of(job) | (job->include_initial ? ROWSCAN_INCLUDE_INITIAL : 0),
      .rank = header->rank,
      .dim = job->dim,
      .shape = job->part_shape,
      .input = {.data = job->in.data, .type = header->type, .strides = job->in.strides},
      .output = {.data = out, .type = job->out_type, .strides = strides},
      .mask_mode = job->mask_mode,
      .acc_type = job->acc,
  };
  problem.mask = input_of(&job->mask);
  problem.segments = input_of(&job->segments);
  problem.segment_mode = job->segment_kind ? beside_kinds[job->segment_kind].mode : ROWSCAN_MASK_NONE;
  for (int i = 0; i < RS_MOST_MORE; i++)
    problem.more[i] = input_of(&job->more[i]);
  memcpy(problem.params, job->params, sizeof job->params);
  if (job->second)
    problem.second = (rowscan_output){.data = job->second + job->second_start, .type = job->second_type};
  double start = rs_now_seconds();
  rowscan_status status =
      job->mpi ? rowscan_shard_scan(context, &problem, &job->ranks.comm, NULL) : rowscan_scan_host(context, &problem);
  job->seconds = rs_now_seconds() - start;
  progress_end();
  return status == ROWSCAN_OK ? EXIT_OK : say_library(job->in.name, status);
}

static int scan_in_context(scan_job *job) {
  rowscan_context *context = NULL;
  int status = ranks_agree(&job->ranks, session_open(&context, &job->session));
  if (status == EXIT_OK) {
    job->engine = session_engine_name(context);
    if (job->session.progress)
      progress_start();
    status = ranks_agree(&job->ranks, scan(job, context));
  }
  rowscan_close(context);
  return status;
}

static int commit_shared(scan_job *job) {
  cli_ranks *ranks = &job->ranks;
  int status = shared_commit(&job->shared, ranks, job->part_out);
  if (status != EXIT_OK || !job->second)
    return status;
  status =
      ranks_agree(ranks, ranks->comm.rank ? EXIT_OK : output_apart(&job->shared.output, "--second", job->second_name));
  if (status == EXIT_OK) {
    job->shared_second = shared_of(job, job->second_type, job->in.header.shape, false);
    status = shared_open(&job->shared_second, ranks, job->second_name);
  }
  if (status == EXIT_OK)
    status = shared_commit(&job->shared_second, ranks, job->second + job->second_start);
  return status;
}

static int commit(scan_job *job) {
  if (job->mpi)
    return commit_shared(job);
  progress_writing();
  int status = output_commit(&job->out);
  if (status == EXIT_OK && job->second)
    status = output_apart(&job->out, "--second", job->second_name);
  if (status == EXIT_OK && job->second)
    status = output_file(job->second_name, job->second, job->second_bytes);
  progress_end();
  return status;
}

static int open_inputs(scan_job *job) {
  int status = open_in(job);
  if (status == EXIT_OK)
    status = open_beside(job);
  if (status == EXIT_OK)
    status = complete_types(job);
  if (status == EXIT_OK)
    status = shape_out(job);
  return status == EXIT_OK ? take_parts(job) : status;
}

/* Whether all ranks have found arrays of the same shape; of the same types is what the scan asks. */
static int compare_inputs(scan_job *job) {
  int64_t facts[NPY_RANK_MAX + 1] = {job->in.header.rank};
  memcpy(facts + 1, job->in.header.shape, sizeof job->in.header.shape);
  return ranks_agree_on(&job->ranks, job->in.name, "found another array than rank 0; all ranks must see the same files",
                        facts, sizeof facts);
}

static int run_scan(scan_job *job) {
  double start = rs_now_seconds();
  int status = ranks_agree(&job->ranks, open_inputs(job));
  if (status == EXIT_OK)
    status = compare_inputs(job);
  if (status == EXIT_OK)
    status = open_out(job);
  if (status == EXIT_OK)
    status = ranks_agree(&job->ranks, make_second(job));
  if (status == EXIT_OK)
    status = scan_in_context(job);
  if (status == EXIT_OK)
    status = commit(job);
  output_abandon(&job->out);
  shared_abandon(&job->shared);
  shared_abandon(&job->shared_second);
  job->total_seconds = rs_now_seconds() - start;
  return status;
}

/* ---- the summary ------------------------------------------------------------------------------------------------- */

/* Bytes read and written in a second of the scan alone. */
static double gbs(const scan_job *job) {
  double bytes = (double)job->in.header.bytes + (double)job->mask.array.header.bytes + (double)job->out_bytes +
                 (double)job->segments.array.header.bytes + (double)job->second_bytes;
  for (int i = 0; i < RS_MOST_MORE; i++)
    bytes += (double)job->more[i].array.header.bytes;
  return job->seconds > 0 ? 1e-9 * bytes / job->seconds : 0;
}

static void print_scan_json(const scan_job *job) {
  json_writer json = {.file = stdout};
  json_object(&json, NULL);
  json_text(&json, "in", job->in_name);
  json_text(&json, "out", job->out_name);
  json_text(&json, "mask", job->beside_names[MASK]);
  if (job->segment_kind)
    json_text(&json, beside_kinds[job->segment_kind].option, job->beside_names[job->segment_kind]);
  if (job->coefficient)
    json_text(&json, "coefficient", job->coefficient);
  if (job->second_name)
    json_text(&json, "second", job->second_name);
  json_array(&json, "shape");
  for (int d = 0; d < job->in.header.rank; d++)
    json_integer(&json, NULL, job->in.header.shape[d]);
  json_end(&json);
  json_integer(&json, "dim", job->dim);
  json_text(&json, "op", rowscan_op_name(job->op));
  json_bool(&json, "reverse", job->reverse);
  json_bool(&json, "exclusive", job->exclusive);
  json_bool(&json, "include_initial", job->include_initial);
  if (job->omit_nan)
    json_bool(&json, "omit_nan", true);
  json_text(&json, "type", rowscan_type_name(job->in.header.type));
  json_text(&json, "out_type", rowscan_type_name(job->out_type));
  json_text(&json, "acc", rowscan_type_name(job->acc));
  json_text(&json, "engine", job->engine);
  if (job->mpi)
    json_integer(&json, "ranks", job->ranks.comm.ranks);
  json_number(&json, "seconds", job->seconds);
  json_number(&json, "gbs", gbs(job));
  json_number(&json, "total_seconds", job->total_seconds);
  json_end(&json);
}

static void print_scan_summary(const scan_job *job) {
  char text[NPY_SHAPE_TEXT_MAX], ranks[40] = "";
  if (job->mpi)
    snprintf(ranks, sizeof ranks, " of %d rank%s", job->ranks.comm.ranks, job->ranks.comm.ranks == 1 ? "" : "s");
  say_note("%s: %s of %s %s along dimension %d, %s out, on the %s engine%s: %.3f s, %.2f GB/s; %.3f s with the files",
           job->mpi ? job->out_name : job->out.name, rowscan_op_name(job->op), rowscan_type_name(job->in.header.type),
           npy_shape_text(text, job->in.header.rank, job->in.header.shape), job->dim, rowscan_type_name(job->out_type),
           job->engine, ranks, job->seconds, gbs(job), job->total_seconds);
}

static void print_scan(const scan_job *job) {
  if (job->json)
    print_scan_json(job);
  if (job->verbose)
    print_scan_summary(job);
}

static void close_job(scan_job *job) {
  guard_map(NULL, 0, NULL, NULL);
  free(job->second);
  free(job->part_out);
  array_close(&job->mask.array);
  array_close(&job->segments.array);
  for (int i = 0; i < RS_MOST_MORE; i++)
    array_close(&job->more[i].array);
  array_close(&job->in);
}

int command_scan(int argc, char **argv) {
  scan_job job = {.dim = -1, .session = SESSION_DEFAULT, .out = OUTPUT_NONE, .ranks = RANKS_ALONE};
  job.shared.output = job.shared_second.output = job.out;
  int status = ranks_start(&job.ranks, argc, argv);
  job.mpi = job.ranks.comm.all_gather != NULL;
  if (status == EXIT_OK)
    status = ranks_agree(&job.ranks, read_scan_options(&job, argc, argv));
  if (status == OPTIONS_READ) {
    if (job.json)
      output_prints();
    if (!job.quiet && !job.mpi && progress_possible()) /* the engine works in smaller pieces if it has to tell */
      job.session.progress = progress_show;
    status = run_scan(&job);
    say_rank(-1);
    if (status == EXIT_OK && job.ranks.comm.rank == 0)
      print_scan(&job);
    close_job(&job);
  }
  return ranks_finish(&job.ranks, status);
}
