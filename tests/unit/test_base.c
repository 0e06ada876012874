/*
 * test_base.c - what the library and the command share: numbers of files, files that replace others, text that is shown
 * SPDX-License-Identifier: MIT
 *
 * A process whose standard streams are closed, or were when it began, has nothing written into its files; to be such a
 * process the suite starts itself again. A file that takes another's place keeps what that had, goes through links as
 * the kernel's protected_symlinks would, and is not put there if somebody cut it. Root sees more of this than others.
 */
#include "../support/cache_help.h"

#include <endian.h>
#include <grp.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/descriptor.h"
#include "base/plain.h"
#include "base/squeeze.h"
#include "base/whole.h"
#include "rowscan.h"

enum { OTHER = 12345, NOBODY = 65534 };

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void close_standard(int set) {
  for (int number = 0; number < 3; number++)
    if (set >> number & 1)
      close(number);
}

/* In a child, which says by its exit status whether all was right. */
static bool in_child(bool (*check)(int set, const char *path), int set, const char *path) {
  int status;
  pid_t child = fork();
  if (child == 0)
    _exit(check(set, path) ? 0 : 1);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool are_closed(int set) {
  int closed = 0;
  for (int number = 0; number < 3; number++)
    if (fcntl(number, F_GETFD) < 0)
      closed |= 1 << number;
  return closed == set;
}

static bool opens_above(int set, const char *path) {
  close_standard(set);
  int writes = rs_openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0600), reads = rs_openat(AT_FDCWD, path, O_RDONLY, 0);
  return writes >= 3 && reads >= 3 && are_closed(set) && fcntl(writes, F_GETFD) == FD_CLOEXEC &&
         fcntl(reads, F_GETFD) == FD_CLOEXEC;
}

/* As it was: who reads or writes there fails. */
static bool is_filled(int set, const char *path) {
  char byte = 0;
  close_standard(set);
  bool filled = rs_fill_standard() && are_closed(0);
  filled = filled && (!(set & 1) || read(0, &byte, 1) < 0);
  for (int number = 1; number < 3; number++)
    filled = filled && (!(set >> number & 1) || write(number, &byte, 1) < 0);
  return filled && rs_openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0600) >= 3;
}

START_TEST(files_are_no_standard_streams) {
  ck_assert_msg(in_child(opens_above, _i, fresh()), "closed: %d", _i);
  ck_assert_msg(in_child(is_filled, _i, fresh()), "closed: %d", _i);
}
END_TEST

/* ---- a program whose standard error is closed -------------------------------------------------------------------- */

/* The file of the program's data gets number 2, as the first one that it opens. */
static int be_program(const char *file, const char *cache, bool closes_on_exec) {
  int data = open(file, O_RDWR | O_CREAT | (closes_on_exec ? O_CLOEXEC : 0), 0600);
  rowscan_context *context;
  rowscan_options options = {.size = sizeof options, .engine = ROWSCAN_ENGINE_HOST, .cache_dir = cache};
  if (data != STDERR_FILENO || rowscan_open(&context, &options) != ROWSCAN_OK)
    return 2;
  rowscan_close(context);
  return lseek(data, 0, SEEK_END) == 0 ? 0 : 1;
}

static bool stderr_closed_before(int before, const char *path) {
  char *cache = path_of("%s-cache", path);
  setenv("ROWSCAN_LOG", "loud", 1);
  setenv("ROWSCAN_CACHE", "nonsense", 1);
  close(STDERR_FILENO);
  if (!before)
    return be_program(path, cache, true) == 0;
  execl("/proc/self/exe", "test_base", path, cache, NULL);
  return false;
}

START_TEST(the_log_is_not_written_into_a_file_of_data) {
  ck_assert(in_child(stderr_closed_before, true, fresh()));
  ck_assert(in_child(stderr_closed_before, false, fresh()));
}
END_TEST

/* The files of the cache, while a log is asked for and number 2 is free. */
static bool keeps_its_files_clean(int set, const char *path) {
  setenv("ROWSCAN_LOG", "debug", 1);
  close_standard(set);
  rs_store *store = rs_store_open(&(rs_store_options){.dir = path});
  rs_part parts[RS_STORE_PARTS] = {{"text", 4}};
  rs_entry entry;
  bool kept = rs_store_put(store, "a=1\nb=2\n", parts) && rs_store_get(store, "a=1\nb=2\n", RS_STORE_PARTS, &entry);
  rs_entry_free(&entry);
  rs_store_close(store);
  return kept && are_closed(set);
}

START_TEST(a_store_works_without_standard_streams) {
  ck_assert(in_child(keeps_its_files_clean, _i, fresh()));
}
END_TEST

/* ---- files that replace others ----------------------------------------------------------------------------------- */

static const char text[] = "new and longer";

/* What is wrong; NULL: nothing. */
static const char *replace(const char *path) {
  rs_whole whole;
  int before = descriptors();
  bool done = rs_whole_find(&whole, path) && rs_whole_create(&whole, 0666);
  if (done)
    ck_assert_int_eq(write(whole.file, text, sizeof text), sizeof text);
  done = done && rs_whole_commit(&whole, sizeof text);
  ck_assert_int_eq(descriptors(), before);
  return done ? NULL : whole.wrong;
}

static bool is_new(const char *path) {
  size_t bytes;
  char *found = (char *)slurp(path, &bytes);
  bool same = bytes == sizeof text && memcmp(found, text, bytes) == 0;
  free(found);
  return same;
}

static char *old_file(const char *dir, mode_t mode) {
  char *path = path_of("%s/old", dir);
  spill(path, "old", 3);
  ck_assert_int_eq(chmod(path, mode), 0);
  return path;
}

START_TEST(a_file_appears_as_the_umask_has_it) {
  char *path = fresh();
  umask(027);
  ck_assert_ptr_null(replace(path));
  ck_assert(is_new(path));
  ck_assert_int_eq(mode_of(path), 0640);
  ck_assert_int_eq(names_in(parent_of(path), ""), 1);
}
END_TEST

START_TEST(links_stay_and_what_they_lead_to_is_replaced) {
  char *dir = parent_of(fresh()), *there = path_of("%s/there", dir), *link = path_of("%s/link", dir);
  ck_assert_int_eq(mkdir(there, 0700), 0);
  char *old = old_file(there, 0600), *second = path_of("%s/second", there), *far = path_of("%s/far", dir);
  ck_assert_int_eq(symlink("there/second", link), 0);
  ck_assert_int_eq(symlink("../there/old", second), 0);
  ck_assert_int_eq(symlink(link, far), 0); /* absolute */
  ck_assert_ptr_null(replace(far));
  ck_assert(is_new(old));
  ck_assert_int_eq(names_in(dir, ""), 3);
  ck_assert_int_eq(names_in(there, ""), 2);
  struct stat status;
  ck_assert(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
  ck_assert(lstat(second, &status) == 0 && S_ISLNK(status.st_mode));
}
END_TEST

START_TEST(what_is_no_file_is_not_replaced) {
  char *dir = parent_of(fresh()), *fifo = path_of("%s/fifo", dir), *none = path_of("%s/none", dir);
  char *loop = path_of("%s/loop", dir), *link = path_of("%s/link", dir), *null = path_of("%s/null", dir);
  ck_assert_int_eq(mkfifo(fifo, 0600), 0);
  ck_assert_int_eq(symlink("nowhere", none), 0);
  ck_assert_int_eq(symlink("loop", loop), 0);
  ck_assert_int_eq(symlink("fifo", link), 0);
  ck_assert_int_eq(symlink("/dev/null", null), 0);
  int names = names_in(dir, "");
  ck_assert_str_eq(replace(fifo), "is not a regular file");
  ck_assert_str_eq(replace(link), "is not a regular file");
  ck_assert_str_eq(replace("/dev/null"), "is not a regular file");
  ck_assert_str_eq(replace(null), "is not a regular file");
  ck_assert(replace(none) && errno == ENOENT);
  ck_assert(replace(loop) && errno == ELOOP);
  ck_assert(replace(dir) && errno == EISDIR);
  ck_assert(replace(path_of("%s/", dir)) && errno == EISDIR);
  ck_assert(replace("") && errno == EISDIR);
  ck_assert(replace(path_of("%s/none/below", dir)) && errno == ENOENT);
  ck_assert(replace(path_of("%s/%0300d", dir, 1)) && errno == ENAMETOOLONG);
  ck_assert_int_eq(names_in(dir, ""), names);
}
END_TEST

/* Links of /proc lead to open files, whatever they say: here to one that was removed, and whose name another took. */
START_TEST(a_link_without_a_name_is_not_followed) {
  char *dir = parent_of(fresh()), *old = old_file(dir, 0600);
  int fd = open(old, O_RDWR | O_CLOEXEC);
  ck_assert(fd >= 0 && unlink(old) == 0);
  spill(path_of("%s (deleted)", old), "x", 1);
  ck_assert_str_eq(replace(path_of("/proc/self/fd/%d", fd)), "is a symbolic link to a file without a name");
  close(fd);
}
END_TEST

/* ---- other users' links ------------------------------------------------------------------------------------------ */

static const struct {
  mode_t dir_mode;
  uid_t dir, link;
  bool followed;
} links[] = {
    {01777, 0, OTHER, false}, {01777, OTHER, OTHER, true}, {01777, NOBODY, OTHER, false},
    {01777, OTHER, 0, true},  {0777, 0, OTHER, true},      {01775, 0, OTHER, true},
};

START_TEST(links_of_others_are_not_followed_where_all_may_write) {
  if (geteuid() != 0)
    return;
  char *dir = fresh(), *victim = old_file(parent_of(dir), 0600), *link = path_of("%s/link", dir);
  ck_assert_int_eq(mkdir(dir, 0700), 0);
  ck_assert_int_eq(chmod(dir, links[_i].dir_mode), 0);
  ck_assert_int_eq(chown(dir, links[_i].dir, 0), 0);
  ck_assert_int_eq(symlink(victim, link), 0);
  ck_assert_int_eq(lchown(link, links[_i].link, 0), 0);
  const char *wrong = replace(link);
  ck_assert_int_eq(!wrong, links[_i].followed);
  ck_assert_int_eq(is_new(victim), links[_i].followed);
  ck_assert(!wrong || strstr(wrong, "symbolic link of another user"));
  /* Above the last component links are the kernel's business. */
  char *below = path_of("%s/dirs", dir);
  ck_assert_int_eq(symlink(parent_of(dir), below), 0);
  ck_assert_int_eq(lchown(below, links[_i].link, 0), 0);
  int before = open(path_of("%s/probe", below), O_WRONLY | O_CREAT, 0600);
  ck_assert_int_eq(!replace(path_of("%s/made", below)), before >= 0);
  close(before);
}
END_TEST

/* ---- owners, permissions and lists ------------------------------------------------------------------------------- */

START_TEST(owner_group_and_permissions_stay) {
  static const mode_t modes[] = {0600, 0640, 0666, 0755, 0400 | 0200};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    char *old = old_file(parent_of(fresh()), modes[i]);
    if (geteuid() == 0)
      ck_assert_int_eq(chown(old, OTHER, OTHER + 1), 0);
    ck_assert_ptr_null(replace(old));
    struct stat status;
    ck_assert_int_eq(stat(old, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, modes[i]);
    if (geteuid() == 0)
      ck_assert(status.st_uid == OTHER && status.st_gid == OTHER + 1);
  }
}
END_TEST

static bool replaces_as_nobody(int unused, const char *path) {
  (void)unused;
  return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0 && !replace(path);
}

/* A group that the file did not have may do no more than all others. */
START_TEST(another_group_gets_no_more_than_all) {
  if (geteuid() != 0)
    return;
  char *dir = parent_of(fresh()), *old = old_file(dir, 0676);
  ck_assert_int_eq(chmod(dir, 0777), 0);
  ck_assert_int_eq(chmod(top, 0755), 0);
  ck_assert(in_child(replaces_as_nobody, 0, old));
  struct stat status;
  ck_assert_int_eq(stat(old, &status), 0);
  ck_assert(is_new(old) && status.st_uid == NOBODY && status.st_gid == NOBODY);
  ck_assert_int_eq(status.st_mode & 0777, 0666);
}
END_TEST

/* A list as the kernel has it: the owner, one more user, the owning group, a mask, and all others. */
typedef struct acl_entry {
  uint16_t tag, may;
  uint32_t id;
} acl_entry;
typedef struct acl {
  uint32_t version;
  acl_entry entry[5];
} acl;
enum { MASK_OF_ALL = 6 };

static acl make_acl(int may_group, int may_mask) {
  return (acl){htole32(2),
               {{htole16(0x01), htole16(6), htole32(UINT32_MAX)},
                {htole16(0x02), htole16(4), htole32(OTHER)},
                {htole16(0x04), htole16((uint16_t)may_group), htole32(UINT32_MAX)},
                {htole16(0x10), htole16((uint16_t)may_mask), htole32(UINT32_MAX)},
                {htole16(0x20), htole16(0), htole32(UINT32_MAX)}}};
}

static bool set_list(const char *path, const char *which, int may_group) {
  acl list = make_acl(may_group, MASK_OF_ALL);
  if (setxattr(path, which, &list, sizeof list, 0) == 0)
    return true;
  ck_assert(errno == EOPNOTSUPP || errno == ENOSYS);
  return false;
}

static const char access_list[] = "system.posix_acl_access", default_list[] = "system.posix_acl_default";

/* The mode's group bits are then the mask: without the list the group could do what only one user may. */
START_TEST(a_list_stays) {
  char *old = old_file(parent_of(fresh()), 0600);
  if (!set_list(old, access_list, 0)) {
    printf("SKIP: no access control lists here\n");
    return;
  }
  acl before = make_acl(0, MASK_OF_ALL), after;
  ck_assert_ptr_null(replace(old));
  ck_assert_int_eq(getxattr(old, access_list, &after, sizeof after), sizeof after);
  ck_assert(is_new(old) && memcmp(&before, &after, sizeof after) == 0);
  ck_assert_int_eq(mode_of(old), 0660);
}
END_TEST

START_TEST(no_list_is_added) {
  char *dir = parent_of(fresh()), *old = old_file(dir, 0640), *new = path_of("%s/new", dir);
  acl after;
  if (!set_list(dir, default_list, 6))
    return;
  ck_assert_ptr_null(replace(old));
  ck_assert_int_lt(getxattr(old, access_list, &after, sizeof after), 0);
  ck_assert_int_eq(mode_of(old), 0640);
  ck_assert_ptr_null(replace(new));
  ck_assert_int_gt(getxattr(new, access_list, &after, sizeof after), 0);
}
END_TEST

START_TEST(another_group_gets_no_more_by_a_list) {
  char *dir = parent_of(fresh()), *old = old_file(dir, 0600);
  acl after, list = make_acl(6, MASK_OF_ALL);
  list.entry[1].id = htole32(NOBODY);
  list.entry[1].may = htole16(6);
  if (geteuid() != 0 || setxattr(old, access_list, &list, sizeof list, 0) != 0)
    return;
  ck_assert(chmod(dir, 0777) == 0 && chmod(top, 0755) == 0);
  ck_assert(in_child(replaces_as_nobody, 0, old));
  ck_assert_int_eq(getxattr(old, access_list, &after, sizeof after), sizeof after);
  ck_assert_int_eq(le16toh(after.entry[2].may), 0);
  ck_assert_int_eq(le16toh(after.entry[1].may), 6);
}
END_TEST

START_TEST(others_may_not_write_a_private_file) {
  char *path = fresh();
  rs_whole whole;
  umask(0);
  ck_assert(rs_whole_find(&whole, path) && rs_whole_create(&whole, 0666) && rs_whole_private(&whole));
  ck_assert(rs_whole_commit(&whole, 0));
  ck_assert_int_eq(mode_of(path), 0644);
}
END_TEST

/* ---- files that somebody else changes ---------------------------------------------------------------------------- */

START_TEST(a_file_of_another_size_is_not_put_in_place) {
  for (int size = 0; size < 3; size++) {
    char *dir = parent_of(fresh()), *old = old_file(dir, 0600);
    rs_whole whole;
    ck_assert(rs_whole_find(&whole, old) && rs_whole_create(&whole, 0666));
    ck_assert_int_eq(write(whole.file, "1", 1), 1);
    ck_assert_int_eq(truncate(path_of("%s/%s", dir, whole.temporary), size), 0);
    ck_assert_int_eq(rs_whole_commit(&whole, 1), size == 1);
    ck_assert(size == 1 || (strstr(whole.wrong, "does not have the size") && errno == 0));
    ck_assert_int_eq(names_in(dir, ""), 1);
    size_t bytes;
    free(slurp(old, &bytes));
    ck_assert_int_eq(bytes, size == 1 ? 1 : 3);
  }
}
END_TEST

START_TEST(an_abandoned_file_leaves_nothing) {
  char *dir = parent_of(fresh()), *old = old_file(dir, 0600);
  int before = descriptors();
  rs_whole whole = RS_WHOLE_NONE;
  rs_whole_abandon(&whole);
  ck_assert(rs_whole_find(&whole, old));
  rs_whole_abandon(&whole);
  ck_assert(rs_whole_find(&whole, old) && rs_whole_create(&whole, 0666));
  rs_whole_abandon(&whole);
  rs_whole_abandon(&whole);
  ck_assert_int_eq(names_in(dir, ""), 1);
  ck_assert_int_eq(descriptors(), before);
}
END_TEST

/* ---- text -------------------------------------------------------------------------------------------------------- */

START_TEST(text_does_not_control_a_terminal) {
  static const char *const cases[][2] = {
      {"", ""},
      {"plain \\ text", "plain \\ text"},
      {"\303\274\342\202\254\360\237\230\200", "\303\274\342\202\254\360\237\230\200"},
      {"a\x1b[31mb", "a\\x1b[31mb"},
      {"two\nlines\r", "two\\x0alines\\x0d"},
      {"\x7f\t\x01", "\\x7f\\x09\\x01"},
      {"\302\233m \302\240", "\\xc2\\x9bm \302\240"},
      {"\303 \xff \300\200 \355\240\200", "\\xc3 \\xff \\xc0\\x80 \\xed\\xa0\\x80"},
      {"cut\342\202", "cut\\xe2\\x82"},
  };
  char to[100];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_str_eq(rs_plain(to, sizeof to, cases[i][0], false), cases[i][1]);
    strcpy(to, cases[i][0]);
    rs_plain_in_place(to, sizeof to, false);
    ck_assert_str_eq(to, cases[i][1]);
  }
  ck_assert_str_eq(rs_plain(to, sizeof to, "a\n\tb\x1b", true), "a\n\tb\\x1b");
  ck_assert_str_eq(rs_plain(to, 6, "ab\ncd", false), "ab");
  ck_assert_str_eq(rs_plain(to, 7, "ab\ncd", false), "ab\\x0a");
  strcpy(to, "ab\ncd");
  rs_plain_in_place(to, 7, false);
  ck_assert_str_eq(to, "ab\\x0a");
}
END_TEST

/* ---- squeezed ---------------------------------------------------------------------------------------------------- */

/* Some of it random, some repeated from anywhere before with a byte changed here and there, as kernels are. */
static void fill_alike(unsigned char *bytes, size_t count, unsigned seed) {
  srand(seed);
  for (size_t at = 0; at < count;) {
    size_t length = (size_t)rand() % 300, from = at ? (size_t)rand() % at : 0;
    if (rand() % 3 == 0)
      from = from / 16 * 16;
    for (size_t i = 0; i < length && at < count; i++, at++)
      bytes[at] = at && rand() % 40 && seed % 3 ? bytes[from + i] : (unsigned char)rand();
  }
}

START_TEST(squeezed_bytes_expand_to_what_they_were) {
  static const size_t counts[] = {0, 1, 2, 3, 4, 5, 17, 300, 5000, 70001, 3000000};
  for (unsigned seed = 0; seed < 6; seed++)
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      size_t count = counts[i], size;
      unsigned char *bytes = malloc(count + 1), *again = malloc(count + 1);
      fill_alike(bytes, count, seed);
      unsigned char *squeezed = rs_squeeze(bytes, count, &size);
      ck_assert_ptr_nonnull(squeezed);
      ck_assert(rs_expand(again, count, squeezed, size));
      ck_assert(memcmp(bytes, again, count) == 0);
      ck_assert(!count || !rs_expand(again, count - 1, squeezed, size));
      ck_assert(!rs_expand(again, count + 1, squeezed, size));
      ck_assert_msg(seed % 3 == 0 || count < 5000 || size < count / 2, "%zu of %zu", size, count);
      free(squeezed);
      free(again);
      free(bytes);
    }
}
END_TEST

/* Nothing is read or written beyond its end: under a sanitizer, and by what follows the room. */
START_TEST(damaged_bytes_expand_to_nothing_else) {
  enum { COUNT = 4000, TIMES = 3000 };
  unsigned char bytes[COUNT], again[COUNT + 64];
  size_t size;
  fill_alike(bytes, COUNT, 1);
  unsigned char *squeezed = rs_squeeze(bytes, COUNT, &size);
  for (int i = 0; i < TIMES; i++) {
    size_t cut = i % 2 ? size : (size_t)rand() % (size + 1);
    unsigned char *damaged = malloc(cut + 1);
    memcpy(damaged, squeezed, cut);
    for (int k = rand() % 3; cut && k >= 0; k--)
      damaged[(size_t)rand() % cut] = (unsigned char)rand();
    memset(again, 0xc7, sizeof again);
    bool same = rs_expand(again, COUNT, damaged, cut) && memcmp(bytes, again, COUNT) == 0;
    ck_assert(!same || cut == size);
    for (size_t k = COUNT; k < sizeof again; k++)
      ck_assert_int_eq(again[k], 0xc7);
    free(damaged);
  }
  free(squeezed);
}
END_TEST

static Suite *make_suite(void) {
  Suite *suite = suite_create("base");
  TCase *numbers = add_case(suite, "numbers");
  tcase_add_loop_test(numbers, files_are_no_standard_streams, 0, 8);
  tcase_add_test(numbers, the_log_is_not_written_into_a_file_of_data);
  tcase_add_loop_test(numbers, a_store_works_without_standard_streams, 0, 8);
  TCase *whole = add_case(suite, "files that replace others");
  tcase_add_test(whole, a_file_appears_as_the_umask_has_it);
  tcase_add_test(whole, links_stay_and_what_they_lead_to_is_replaced);
  tcase_add_test(whole, what_is_no_file_is_not_replaced);
  tcase_add_test(whole, a_link_without_a_name_is_not_followed);
  tcase_add_loop_test(whole, links_of_others_are_not_followed_where_all_may_write, 0, sizeof links / sizeof *links);
  tcase_add_test(whole, owner_group_and_permissions_stay);
  tcase_add_test(whole, another_group_gets_no_more_than_all);
  tcase_add_test(whole, a_list_stays);
  tcase_add_test(whole, no_list_is_added);
  tcase_add_test(whole, another_group_gets_no_more_by_a_list);
  tcase_add_test(whole, others_may_not_write_a_private_file);
  tcase_add_test(whole, a_file_of_another_size_is_not_put_in_place);
  tcase_add_test(whole, an_abandoned_file_leaves_nothing);
  TCase *plain = add_case(suite, "text");
  tcase_add_test(plain, text_does_not_control_a_terminal);
  TCase *squeezed = add_case(suite, "squeezed");
  tcase_add_test(squeezed, squeezed_bytes_expand_to_what_they_were);
  tcase_add_test(squeezed, damaged_bytes_expand_to_nothing_else);
  return suite;
}

/* Given a file and a directory, it is the program that the_log_is_not_written_into_a_file_of_data starts. */
int main(int argc, char **argv) {
  if (argc == 3)
    return be_program(argv[1], argv[2], false);
  return run_suite(make_suite());
}
