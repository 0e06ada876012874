/*
 * ledger.c - how much the store holds, as far as it is known without looking
 * SPDX-License-Identifier: MIT
 *
 * The file begins with what the last survey found, and grows by a byte for each 4096 that are to be put since. Putting
 * appends, which needs no lock, and says how many bytes there are with one's own: so of many who put at the same moment
 * each knows its place. What is noted and not put, or put over what is there, makes it too much until the next survey,
 * never too little, but for what is under way when a survey begins: an entry a process.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

enum {
  UNIT = 4096,               /* bytes put for a byte in the ledger; this file must stay small, and a put counts */
  AT_BYTES = 0,              /* u64 */
  AT_SURVEY = AT_BYTES + 8,  /* u64: names the survey, not 0 */
  AT_DIGEST = AT_SURVEY + 8, /* of these two: a crash may tear them */
  HEAD = AT_DIGEST + RS_ENTRY_DIGEST
};

static const char ledger_name[] = "ledger";

typedef struct head {
  int64_t bytes;
  uint64_t survey;
} head;

static bool read_ledger_head(int fd, head *found) {
  unsigned char bytes[HEAD], digest[RS_ENTRY_DIGEST];
  if (!rs_file_read_at(fd, bytes, sizeof bytes, 0))
    return false;
  rs_entry_digest(bytes, AT_DIGEST, digest);
  uint64_t held = rs_get_number(bytes + AT_BYTES, 8);
  *found = (head){(int64_t)held, rs_get_number(bytes + AT_SURVEY, 8)};
  return memcmp(digest, bytes + AT_DIGEST, sizeof digest) == 0 && held <= RS_LEDGER_UNKNOWN && found->survey;
}

static bool write_head(int fd, head what) {
  unsigned char bytes[HEAD];
  rs_put_number(bytes + AT_BYTES, (uint64_t)what.bytes, 8);
  rs_put_number(bytes + AT_SURVEY, what.survey, 8);
  rs_entry_digest(bytes, AT_DIGEST, bytes + AT_DIGEST);
  return lseek(fd, 0, SEEK_SET) == 0 && rs_file_write(fd, bytes, sizeof bytes);
}

/* A size that would be more than any store holds is that of another file. */
static int64_t since(off_t end) {
  return end <= HEAD ? 0 : end - HEAD < RS_LEDGER_UNKNOWN / UNIT ? (int64_t)(end - HEAD) * UNIT : RS_LEDGER_UNKNOWN;
}

/* ---- a put ------------------------------------------------------------------------------------------------------- */

static bool append_units(int fd, int64_t units) {
  static const char zeros[64];
  for (; units > 0; units -= (int64_t)sizeof zeros)
    if (!rs_file_write(fd, zeros, units < (int64_t)sizeof zeros ? (size_t)units : sizeof zeros))
      return false;
  return true;
}

/* The end is that of one's own bytes: what others append after them is theirs to count. */
static bool note(int fd, off_t size, int64_t bytes, uint64_t *noted, rs_ledger *known) {
  head found;
  *known = (rs_ledger){RS_LEDGER_UNKNOWN, 0};
  if (size < HEAD) /* nobody has surveyed */
    return true;
  if (!*noted || !read_ledger_head(fd, &found) || found.survey != *noted) {
    *noted = 0;
    if (!append_units(fd, bytes / UNIT + 1))
      return false;
    size = lseek(fd, 0, SEEK_CUR);
  }
  if (!read_ledger_head(fd, &found) || found.bytes == RS_LEDGER_UNKNOWN)
    return true;
  *noted = found.survey;
  *known = (rs_ledger){found.bytes + since(size), since(size)};
  return true;
}

bool rs_ledger_note(const rs_store *store, int64_t bytes, uint64_t *noted, rs_ledger *known) {
  struct stat status;
  int fd = rs_file_open(store->dir, ledger_name, O_RDWR | O_APPEND | O_CREAT, &status, NULL);
  if (fd < 0)
    return false;
  bool done = note(fd, status.st_size, bytes, noted, known);
  close(fd);
  return done;
}

/* ---- a survey ---------------------------------------------------------------------------------------------------- */

static uint64_t name_survey(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t nanoseconds = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
  return (nanoseconds ^ (uint64_t)getpid() << 44) | 1;
}

/* Who appends between the look at the size and the cut finds it unknown, and notes again. */
static bool begin_survey(int fd, uint64_t survey) {
  head before;
  struct stat status;
  bool is_known = read_ledger_head(fd, &before) && before.bytes != RS_LEDGER_UNKNOWN;
  if (!write_head(fd, (head){RS_LEDGER_UNKNOWN, survey}) || fstat(fd, &status) != 0 || !rs_file_resize(fd, HEAD))
    return false;
  int64_t sum = is_known ? before.bytes + since(status.st_size) : RS_LEDGER_UNKNOWN;
  return sum >= RS_LEDGER_UNKNOWN || write_head(fd, (head){sum, survey});
}

rs_ledger_survey rs_ledger_begin(const rs_store *store, bool make) {
  rs_ledger_survey none = {-1, 0}, survey = none;
  if (store->dir >= 0)
    survey.fd = rs_file_open(store->dir, ledger_name, O_RDWR | (make ? O_CREAT : 0), NULL, NULL);
  survey.name = name_survey();
  if (survey.fd < 0 || begin_survey(survey.fd, survey.name))
    return survey;
  rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "%s/%s: %m", store->path, ledger_name);
  close(survey.fd);
  return none;
}

/* A survey that began later has cut off what this one has not seen. */
void rs_ledger_end(const rs_ledger_survey *survey, int64_t bytes) {
  head found;
  if (survey->fd < 0)
    return;
  if (read_ledger_head(survey->fd, &found) && found.survey == survey->name)
    write_head(survey->fd, (head){bytes, survey->name});
  close(survey->fd);
}
