/* A library for LD_PRELOAD that makes one file call of a program fail. It counts the calls on files below a
 * directory; call number FAIL_CALL fails once. scripts/failing_calls.py compiles and uses it.
 *
 *   FAIL_BELOW  the directory
 *   FAIL_CALL   number of the call, from 1
 *   FAIL_WITH   ENOSPC or EIO (any call), EINTR (calls that wait), or SHORT (a read or write of half the bytes)
 *   FAIL_LOG    file that receives the name and the path of the failed call
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum kind { CHANGES_FILES, WAITS, TRANSFERS };  /* EINTR: the last two; SHORT: the last; others: all */

static atomic_long calls;

static int is_below(const char* path) {
  const char* directory = getenv("FAIL_BELOW");
  return directory != NULL && path != NULL && strncmp(path, directory, strlen(directory)) == 0;
}

static void write_log(const char* name, const char* path) {
  const int log = NEXT(open)(getenv("FAIL_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0644);
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof line, "%s %s\n", name, path);
  if (log < 0 || NEXT(write)(log, line, (size_t)length) != length) abort();
  NEXT(close)(log);
}

/* Returns 0 if the call must succeed, -1 with errno if it must fail, 1 if it must transfer half the bytes. */
static int fault_at(const char* name, const char* path, enum kind kind) {
  if (!is_below(path)) return 0;
  const char* with = getenv("FAIL_WITH");
  if (strcmp(with, "SHORT") == 0 && kind < TRANSFERS) return 0;
  if (strcmp(with, "EINTR") == 0 && kind < WAITS) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 != atol(getenv("FAIL_CALL"))) return 0;
  write_log(name, path);
  if (strcmp(with, "SHORT") == 0) return 1;
  errno = strcmp(with, "ENOSPC") == 0 ? ENOSPC : strcmp(with, "EIO") == 0 ? EIO : EINTR;
  return -1;
}

static int fault_of(const char* name, int fd, enum kind kind) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return fault_at(name, path, kind);
}

static size_t half(size_t count) { return count > 1 ? count / 2 : count; }

#define OPEN(name)                                                                \
  int name(const char* path, int flags, ...) {                                    \
    va_list more;                                                                 \
    va_start(more, flags);                                                        \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;        \
    va_end(more);                                                                 \
    return fault_at("open", path, WAITS) < 0 ? -1 : NEXT(name)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

ssize_t read(int fd, void* bytes, size_t count) {
  const int fault = fault_of("read", fd, TRANSFERS);
  return fault < 0 ? -1 : NEXT(read)(fd, bytes, fault > 0 ? half(count) : count);
}
ssize_t write(int fd, const void* bytes, size_t count) {
  const int fault = fault_of("write", fd, TRANSFERS);
  return fault < 0 ? -1 : NEXT(write)(fd, bytes, fault > 0 ? half(count) : count);
}
#define PWRITE(name, offset_type)                                                        \
  ssize_t name(int fd, const void* bytes, size_t count, offset_type offset) {            \
    const int fault = fault_of("pwrite", fd, TRANSFERS);                                 \
    return fault < 0 ? -1 : NEXT(name)(fd, bytes, fault > 0 ? half(count) : count, offset); \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define ON_FILE(name, kind) \
  int name(int fd) { return fault_of(#name, fd, kind) < 0 ? -1 : NEXT(name)(fd); }
ON_FILE(fsync, WAITS)
ON_FILE(fdatasync, WAITS)

int ftruncate(int fd, off_t size) {
  return fault_of("ftruncate", fd, WAITS) < 0 ? -1 : NEXT(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
  return fault_of("ftruncate", fd, WAITS) < 0 ? -1 : NEXT(ftruncate64)(fd, size);
}
int rename(const char* from, const char* to) {
  return fault_at("rename", to, CHANGES_FILES) < 0 ? -1 : NEXT(rename)(from, to);
}
int link(const char* from, const char* to) {
  return fault_at("link", to, CHANGES_FILES) < 0 ? -1 : NEXT(link)(from, to);
}
int mkdir(const char* path, mode_t mode) {
  return fault_at("mkdir", path, CHANGES_FILES) < 0 ? -1 : NEXT(mkdir)(path, mode);
}
