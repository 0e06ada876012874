/*
 * npy.c - the header of .npy files
 * SPDX-License-Identifier: MIT
 *
 * A file is: "\x93NUMPY", major and minor version, the length of what follows (2 bytes in version 1, 4 in 2 and 3), and
 * a Python dict literal such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, then the data. The keys
 * may come in any order, but all three must be there and no other.
 */
#include "npy.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct dtype {
  const char *code; /* without its byte order */
  rowscan_type type;
  int bytes;
} dtype;

static const dtype dtypes[] = {
    {"f2", ROWSCAN_F16, 2},  {"V2", ROWSCAN_BF16, 2}, {"f4", ROWSCAN_F32, 4}, {"f8", ROWSCAN_F64, 8},
    {"i1", ROWSCAN_I8, 1},   {"u1", ROWSCAN_U8, 1},   {"i2", ROWSCAN_I16, 2}, {"u2", ROWSCAN_U16, 2},
    {"i4", ROWSCAN_I32, 4},  {"u4", ROWSCAN_U32, 4},  {"i8", ROWSCAN_I64, 8}, {"u8", ROWSCAN_U64, 8},
    {"b1", ROWSCAN_BOOL, 1},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static const dtype *dtype_of(rowscan_type type) {
  int i = 0;
  while (i < DTYPES - 1 && dtypes[i].type != type)
    i++;
  return &dtypes[i];
}

/* C's long and pointers are as wide as each other where rowscan is built. */
enum { LONG = sizeof(long) == 8 ? ROWSCAN_I64 : ROWSCAN_I32, ULONG = sizeof(long) == 8 ? ROWSCAN_U64 : ROWSCAN_U32 };

/* Other names that NumPy reads. Those of one letter may have a byte order before them. */
static const struct {
  const char *name;
  int type;
} aliases[] = {
    {"?", ROWSCAN_BOOL},
    {"bool", ROWSCAN_BOOL},
    {"bool_", ROWSCAN_BOOL},
    {"e", ROWSCAN_F16},
    {"half", ROWSCAN_F16},
    {"float16", ROWSCAN_F16},
    {"f", ROWSCAN_F32},
    {"single", ROWSCAN_F32},
    {"float32", ROWSCAN_F32},
    {"d", ROWSCAN_F64},
    {"double", ROWSCAN_F64},
    {"float", ROWSCAN_F64},
    {"float64", ROWSCAN_F64},
    {"b", ROWSCAN_I8},
    {"byte", ROWSCAN_I8},
    {"int8", ROWSCAN_I8},
    {"B", ROWSCAN_U8},
    {"ubyte", ROWSCAN_U8},
    {"uint8", ROWSCAN_U8},
    {"h", ROWSCAN_I16},
    {"short", ROWSCAN_I16},
    {"int16", ROWSCAN_I16},
    {"H", ROWSCAN_U16},
    {"ushort", ROWSCAN_U16},
    {"uint16", ROWSCAN_U16},
    {"i", ROWSCAN_I32},
    {"intc", ROWSCAN_I32},
    {"int32", ROWSCAN_I32},
    {"I", ROWSCAN_U32},
    {"uintc", ROWSCAN_U32},
    {"uint32", ROWSCAN_U32},
    {"q", ROWSCAN_I64},
    {"longlong", ROWSCAN_I64},
    {"int64", ROWSCAN_I64},
    {"Q", ROWSCAN_U64},
    {"ulonglong", ROWSCAN_U64},
    {"uint64", ROWSCAN_U64},
    {"l", LONG},
    {"p", LONG},
    {"long", LONG},
    {"int", LONG},
    {"int_", LONG},
    {"intp", LONG},
    {"L", ULONG},
    {"P", ULONG},
    {"ulong", ULONG},
    {"uint", ULONG},
    {"uintp", ULONG},
};
enum { ALIASES = sizeof aliases / sizeof *aliases };

/* What NumPy can store and rowscan cannot scan, by the letter of its code. */
static const struct {
  char letter;
  const char *what;
} strangers[] = {
    {'O', "Python objects"},  {'U', "strings"},   {'S', "byte strings"}, {'a', "byte strings"},
    {'c', "complex numbers"}, {'V', "raw bytes"}, {'M', "dates"},        {'m', "time spans"},
};
enum { STRANGERS = sizeof strangers / sizeof *strangers };

/* ---- reading a Python literal ------------------------------------------------------------------------------------ */

typedef struct reader {
  const char *at, *end;
  char *why; /* NPY_WHY_MAX */
} reader;

typedef struct slice {
  const char *at;
  size_t length;
} slice;

__attribute__((format(printf, 2, 3))) static bool fail(char *why, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(why, NPY_WHY_MAX, format, list);
  va_end(list);
  return false;
}

/* Bytes of a file as text that is safe to print: at most 40, odd ones as '?'. */
static const char *excerpt(char text[48], const char *at, const char *end) {
  size_t length = 0;
  while (at < end && *at != '\n' && length < 40) {
    text[length++] = *at >= ' ' && *at <= '~' ? *at : '?';
    at++;
  }
  while (length && text[length - 1] == ' ')
    length--;
  strcpy(text + length, length == 40 && at < end ? "..." : "");
  return text;
}

static bool fail_here(const reader *in, const char *field, const char *wanted) {
  char text[48];
  if (in->at == in->end)
    return fail(in->why, "%s: the header ends where %s should be", field, wanted);
  return fail(in->why, "%s: %s where %s should be", field, excerpt(text, in->at, in->end), wanted);
}

/* As Python has it, but that a carriage return needs its line feed: NumPy takes some without, and some not. */
static void skip_space(reader *in) {
  while (in->at < in->end && *in->at && strchr(" \t\r\n\f", *in->at) &&
         (*in->at != '\r' || (in->end - in->at > 1 && in->at[1] == '\n')))
    in->at++;
}

/* Takes the character, and the space around it, if it is next. */
static bool take_sign(reader *in, char wanted) {
  skip_space(in);
  if (in->at == in->end || *in->at != wanted)
    return false;
  in->at++;
  skip_space(in);
  return true;
}

static bool take_word(reader *in, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length))
    return false;
  in->at += length;
  return true;
}

static bool read_string(reader *in, const char *field, slice *string) {
  skip_space(in);
  if (in->at == in->end || (*in->at != '\'' && *in->at != '"'))
    return fail_here(in, field, "a string");
  const char *start = in->at + 1, *end = start;
  while (end < in->end && *end != *in->at && *end != '\\' && *end != '\n')
    end++;
  if (end == in->end || *end != *in->at)
    return fail_here(in, field, "a plain string");
  *string = (slice){start, (size_t)(end - start)};
  in->at = end + 1;
  return true;
}

/* A number that is no negative one; Python 2 wrote 3L for 3. */
static bool read_dimension(reader *in, int64_t *dimension) {
  const char *start = in->at;
  char text[48];
  int64_t value = 0;
  bool fits = true;
  for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
    fits = fits && !__builtin_mul_overflow(value, 10, &value) && !__builtin_add_overflow(value, *in->at - '0', &value);
  if (!fits)
    return fail(in->why, "field 'shape': %s is too large a dimension", excerpt(text, start, in->at));
  if (in->at == start)
    return fail_here(in, "field 'shape'", "a dimension of 0 or more");
  if (value && *start == '0')
    return fail(in->why, "field 'shape': %s begins with a zero, which Python doesn't allow",
                excerpt(text, start, in->at));
  take_sign(in, 'L');
  *dimension = value;
  return true;
}

/* ---- the fields -------------------------------------------------------------------------------------------------- */

static bool read_shape(reader *in, npy_header *header) {
  char text[48];
  const char *start = in->at;
  if (!take_sign(in, '('))
    return fail_here(in, "field 'shape'", "a tuple");
  header->rank = 0;
  bool comma = true;
  while (!take_sign(in, ')')) {
    if (!comma)
      return fail_here(in, "field 'shape'", "',' or ')'");
    if (header->rank == NPY_RANK_MAX)
      return fail(in->why, "field 'shape': %s has more than %d dimensions", excerpt(text, start, in->end),
                  NPY_RANK_MAX);
    if (!read_dimension(in, &header->shape[header->rank]))
      return false;
    header->rank++;
    comma = take_sign(in, ',');
  }
  if (header->rank == 1 && !comma)
    return fail(in->why, "field 'shape': %s is a number, not a tuple", excerpt(text, start, in->at));
  return true;
}

static bool read_order(reader *in, npy_header *header) {
  header->fortran = take_word(in, "True");
  return header->fortran || take_word(in, "False") || fail_here(in, "field 'fortran_order'", "True or False");
}

static bool is(slice string, const char *word) {
  return string.length == strlen(word) && !memcmp(string.at, word, string.length);
}

/* By its code; else, without a byte order, by any name, with one by a letter. NULL: there is none. */
static const dtype *dtype_named(slice name, bool ordered) {
  for (int i = 0; i < DTYPES; i++)
    if (is(name, dtypes[i].code))
      return &dtypes[i];
  for (int i = 0; i < ALIASES && (!ordered || name.length == 1); i++)
    if (is(name, aliases[i].name))
      return dtype_of((rowscan_type)aliases[i].type);
  return NULL;
}

/* NumPy's long double has the bytes that C's has on the machine: 16, 12 or 8. */
static bool is_long_double(slice code) {
  return is(code, "f16") || is(code, "f12") || is(code, "g") || is(code, "longdouble") || is(code, "float128") ||
         is(code, "float96");
}

static bool fail_dtype(char *why, const char *name, slice code) {
  char letter = code.length ? *code.at : '?';
  if (is_long_double(code))
    return fail(why, "field 'descr': '%s': long doubles cannot be scanned; convert them in NumPy, with .astype('f8')",
                name);
  for (int i = 0; i < STRANGERS; i++)
    if (strangers[i].letter == letter)
      return fail(why, "field 'descr': '%s': %s cannot be scanned", name, strangers[i].what);
  return fail(why, "field 'descr': '%s' is not a type that rowscan supports", name);
}

static bool find_dtype(npy_header *header, slice descr, bool allow_bf16, char *why) {
  char name[48];
  excerpt(name, descr.at, descr.at + descr.length);
  bool ordered = descr.length && strchr("<>=|", *descr.at) && *descr.at;
  char order = ordered ? *descr.at : '=';
  slice code = {descr.at + ordered, descr.length - ordered};
  const dtype *found = dtype_named(code, ordered);
  if (!found)
    return fail_dtype(why, name, code);
  bool bf16 = found->type == ROWSCAN_BF16;
  if (bf16 && !allow_bf16)
    return fail(why, "field 'descr': '%s': 2 raw bytes; if they are bfloat16, pass --type bf16", name);
  if (order == '>' && found->bytes > 1)
    return fail(why, "field 'descr': '%s' is big-endian; rowscan reads little-endian arrays", name);
  if (order == '|' && found->bytes > 1 && !bf16)
    return fail(why, "field 'descr': '%s' does not specify its byte order", name);
  header->type = found->type;
  strcpy(header->descr, name);
  return true;
}

static bool read_dtype(reader *in, npy_header *header, bool allow_bf16) {
  char text[48];
  slice descr;
  if (in->at < in->end && *in->at == '[')
    return fail(in->why, "field 'descr': %s: structured types cannot be scanned", excerpt(text, in->at, in->end));
  return read_string(in, "field 'descr'", &descr) && find_dtype(header, descr, allow_bf16, in->why);
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static int field_of(slice key) {
  return is(key, "descr") ? HAS_DESCR : is(key, "fortran_order") ? HAS_ORDER : is(key, "shape") ? HAS_SHAPE : 0;
}

static bool read_field(reader *in, npy_header *header, bool allow_bf16, int *seen) {
  char text[48];
  slice key;
  if (!read_string(in, "header", &key))
    return false;
  int field = field_of(key);
  excerpt(text, key.at, key.at + key.length);
  if (!field)
    return fail(in->why, "field '%s' is not one of 'descr', 'fortran_order', 'shape'", text);
  if (*seen & field)
    return fail(in->why, "field '%s' is given twice", text);
  *seen |= field;
  if (!take_sign(in, ':'))
    return fail_here(in, "header", "':'");
  return field == HAS_DESCR   ? read_dtype(in, header, allow_bf16)
         : field == HAS_ORDER ? read_order(in, header)
                              : read_shape(in, header);
}

static bool read_dict(reader *in, npy_header *header, bool allow_bf16) {
  int seen = 0;
  bool comma = true;
  while (in->at < in->end && (*in->at == ' ' || *in->at == '\t')) /* no lines: Python takes the next for indented */
    in->at++;
  if (in->at == in->end || *in->at != '{')
    return fail_here(in, "header", "'{'");
  take_sign(in, '{');
  while (!take_sign(in, '}')) {
    if (!comma)
      return fail_here(in, "header", "',' or '}'");
    if (!read_field(in, header, allow_bf16, &seen))
      return false;
    comma = take_sign(in, ',');
  }
  if (seen != HAS_ALL)
    return fail(in->why, "field '%s' is missing",
                !(seen & HAS_DESCR)   ? "descr"
                : !(seen & HAS_ORDER) ? "fortran_order"
                                      : "shape");
  return in->at == in->end || fail_here(in, "header", "its end");
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

enum { MOST_HEADER = 1 << 20 }; /* bytes, of which NumPy reads 10000 */

/* Finds the dict in the file. Until so many of its bytes are there, *wanted is that number. */
static bool find_dict(reader *in, const unsigned char *file, size_t size, size_t *wanted) {
  static const char magic[] = "\x93NUMPY";
  *wanted = 0;
  if (size >= 2 && !memcmp(file, "PK", 2))
    return fail(in->why, "not an .npy file (an .npz archive? unzip it first)");
  if (size && memcmp(file, magic, size < 6 ? size : 6))
    return fail(in->why, "not an .npy file: it does not begin with \\x93NUMPY");
  *wanted = 10;
  if (!size)
    return fail(in->why, "not an .npy file: it is empty");
  if (size < *wanted)
    return fail(in->why, "truncated header: the file has %zu bytes", size);
  if (file[6] < 1 || file[6] > 3 || file[7])
    return fail(in->why, "field 'version': %d.%d is not one of 1.0, 2.0, 3.0", file[6], file[7]);
  size_t start = *wanted = file[6] == 1 ? 10 : 12;
  if (size < start)
    return fail(in->why, "truncated header: the file has %zu bytes", size);
  size_t length = (size_t)file[8] | (size_t)file[9] << 8;
  if (start == 12)
    length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
  if (length > MOST_HEADER)
    return fail(in->why, "field 'header length': %zu exceeds %d", length, MOST_HEADER);
  *wanted = start + length;
  if (length > size - start)
    return fail(in->why, "truncated header: field 'header length' is %zu bytes, of which the file has %zu", length,
                size - start);
  in->at = (const char *)file + start;
  in->end = in->at + length;
  return true;
}

/*
 * As in NumPy, a dimension of 0 does not excuse the others from fitting. The limit is that of the widest type, so that
 * the output of a scan fits as well.
 */
static bool measure_array(npy_header *header, char *why) {
  char text[NPY_SHAPE_TEXT_MAX];
  int64_t count = 1, bytes;
  bool empty = false;
  for (int d = 0; d < header->rank; d++) {
    empty |= !header->shape[d];
    if (header->shape[d] && __builtin_mul_overflow(count, header->shape[d], &count))
      count = INT64_MAX;
  }
  if (__builtin_mul_overflow(count, 8, &bytes))
    return fail(why, "field 'shape': %.400s: the number of elements overflows",
                npy_shape_text(text, header->rank, header->shape));
  header->count = empty ? 0 : count;
  header->bytes = header->count * dtype_of(header->type)->bytes;
  return true;
}

/* All but the data. */
static bool parse_header(npy_header *header, const void *file, size_t size, bool allow_bf16, char *why,
                         size_t *wanted) {
  reader in = {.why = why};
  *header = (npy_header){0};
  if (!find_dict(&in, file, size, wanted) || !read_dict(&in, header, allow_bf16) || !measure_array(header, why))
    return false;
  header->data_start = (size_t)(in.end - (const char *)file);
  *wanted = header->data_start + (size_t)header->bytes;
  return true;
}

size_t npy_wanted(const void *file, size_t size, bool allow_bf16) {
  npy_header header;
  char why[NPY_WHY_MAX];
  size_t wanted;
  parse_header(&header, file, size, allow_bf16, why, &wanted);
  return wanted;
}

bool npy_parse(npy_header *header, const void *file, size_t size, bool allow_bf16, char why[NPY_WHY_MAX]) {
  char text[NPY_SHAPE_TEXT_MAX];
  size_t wanted;
  if (!parse_header(header, file, size, allow_bf16, why, &wanted))
    return false;
  if ((uint64_t)header->bytes > size - header->data_start)
    return fail(why, "truncated data: field 'shape' %.300s of '%s' requires %lld bytes, of which the file has %zu",
                npy_shape_text(text, header->rank, header->shape), header->descr, (long long)header->bytes,
                size - header->data_start);
  return true;
}

size_t npy_format(char header[NPY_HEADER_MAX], rowscan_type type, int rank, const int64_t *shape) {
  char text[NPY_SHAPE_TEXT_MAX];
  const dtype *found = dtype_of(type);
  int length = snprintf(header + 10, NPY_HEADER_MAX - 10, "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }",
                        found->bytes == 1 ? '|' : '<', found->code, npy_shape_text(text, rank, shape));
  size_t total = ((size_t)length + 11 + 63) / 64 * 64; /* 11: a line ends the header */
  memset(header + 10 + length, ' ', total - 10 - (size_t)length);
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)((total - 10) & 255);
  header[9] = (char)((total - 10) >> 8);
  header[total - 1] = '\n';
  return total;
}

void npy_strides(int64_t *strides, int rank, const int64_t *shape, bool fortran) {
  int64_t stride = 1;
  for (int i = 0; i < rank; i++) {
    int d = fortran ? i : rank - 1 - i;
    strides[d] = stride;
    stride *= shape[d] ? shape[d] : 1;
  }
}

const char *npy_shape_text(char text[NPY_SHAPE_TEXT_MAX], int rank, const int64_t *shape) {
  size_t length = 0;
  text[length++] = '(';
  for (int d = 0; d < rank; d++)
    length += (size_t)snprintf(text + length, NPY_SHAPE_TEXT_MAX - length, d ? ", %lld" : "%lld", (long long)shape[d]);
  strcpy(text + length, rank == 1 ? ",)" : ")");
  return text;
}
