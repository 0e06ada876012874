/*
 * buildid.c - which build a shared library's file is
 * SPDX-License-Identifier: MIT
 *
 * The linker puts a build-id into a note. Program headers (PT_NOTE) lead to it, and so do section headers, which may be
 * stripped; but in libraries that went through patchelf, as the wheels of NVRTC 12.4 and older did, they alone do.
 */
#include "buildid.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digest.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#else
#define MACHINE EM_NONE /* any */
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

/* More than any library has; a forged header must not keep us busy. */
enum { MOST_SEGMENTS = 256, MOST_SECTIONS = 1024, MOST_NOTES = 64 };

/* Header, program headers and note mostly lie at the very beginning, which is read at once. */
typedef struct file {
  int fd;
  size_t begun; /* bytes in `begin` */
  unsigned char begin[1024];
} file;

/* As many bytes as there are, up to `count`. */
static size_t read_some(int fd, uint64_t at, void *bytes, size_t count) {
  size_t done = 0;
  while (done < count && at <= (uint64_t)INT64_MAX - count) {
    ssize_t got = pread(fd, (char *)bytes + done, count - done, (off_t)(at + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    done += (size_t)got;
  }
  return done;
}

/* False as well where the file ends before that. */
static bool read_at(const file *from, uint64_t at, void *bytes, size_t count) {
  if (at > from->begun || count > from->begun - at)
    return read_some(from->fd, at, bytes, count) == count;
  memcpy(bytes, from->begin + at, count);
  return true;
}

static uint64_t round_up(uint32_t bytes) {
  return ((uint64_t)bytes + 3) & ~(uint64_t)3;
}

static bool read_note(const file *from, uint64_t at, const Elf64_Nhdr *note, char *id) {
  char owner[4];
  unsigned char bytes[RS_BUILDID_BYTES];
  if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != sizeof owner || note->n_descsz == 0 ||
      note->n_descsz > sizeof bytes)
    return false;
  if (!read_at(from, at, owner, sizeof owner) || memcmp(owner, ELF_NOTE_GNU, sizeof owner) != 0 ||
      !read_at(from, at + sizeof owner, bytes, note->n_descsz))
    return false;
  rs_hexadecimal(id, bytes, note->n_descsz);
  return true;
}

/*
 * Notes are padded to 4 bytes, whatever the alignment says. (Properties, which really are padded to 8, have a name and
 * a size that come out the same.)
 */
static bool find_note(const file *from, uint64_t at, uint64_t left, char *id) {
  for (int i = 0; i < MOST_NOTES; i++) {
    Elf64_Nhdr note;
    if (left < sizeof note || !read_at(from, at, &note, sizeof note))
      return false;
    at += sizeof note;
    left -= sizeof note;
    uint64_t name = round_up(note.n_namesz), bytes = round_up(note.n_descsz);
    if (name > left || note.n_descsz > left - name)
      return false;
    if (read_note(from, at, &note, id))
      return true;
    if (bytes > left - name)
      return false;
    at += name + bytes;
    left -= name + bytes;
  }
  return false;
}

/* False: the file ends before its headers do, or before what is to be loaded does, which glibc's dlopen dies of. */
static bool search_segments(const file *from, const Elf64_Ehdr *header, uint64_t size, char *id) {
  for (int i = 0; i < header->e_phnum; i++) {
    Elf64_Phdr segment;
    uint64_t at = header->e_phoff + (uint64_t)i * sizeof segment;
    if (at < header->e_phoff || !read_at(from, at, &segment, sizeof segment))
      return false;
    if (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
      return false;
    if (segment.p_type == PT_NOTE && !*id)
      find_note(from, segment.p_offset, segment.p_filesz, id);
  }
  return true;
}

static void search_sections(const file *from, const Elf64_Ehdr *header, char *id) {
  if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum > MOST_SECTIONS)
    return;
  for (int i = 0; i < header->e_shnum && !*id; i++) {
    Elf64_Shdr section;
    uint64_t at = header->e_shoff + (uint64_t)i * sizeof section;
    if (at < header->e_shoff || !read_at(from, at, &section, sizeof section))
      return;
    if (section.sh_type == SHT_NOTE)
      find_note(from, section.sh_offset, section.sh_size, id);
  }
}

static const char *check_elf(const Elf64_Ehdr *header) {
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return "not an ELF file";
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != BYTE_ORDER_HERE ||
      (MACHINE != EM_NONE && header->e_machine != MACHINE))
    return "built for another kind of machine";
  if (header->e_type != ET_DYN || header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 ||
      header->e_phnum > MOST_SEGMENTS)
    return "not a shared library";
  return NULL;
}

const char *rs_buildid_read(int fd, char id[RS_BUILDID_ROOM]) {
  Elf64_Ehdr header;
  struct stat status;
  file from = {.fd = fd};
  *id = 0;
  from.begun = read_some(fd, 0, from.begin, sizeof from.begin);
  if (fstat(fd, &status) != 0 || !read_at(&from, 0, &header, sizeof header))
    return "not an ELF file";
  const char *wrong = check_elf(&header);
  if (wrong)
    return wrong;
  if (!search_segments(&from, &header, (uint64_t)status.st_size, id)) {
    *id = 0;
    return "truncated";
  }
  search_sections(&from, &header, id);
  return NULL;
}
