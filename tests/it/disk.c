/* Loaded into a tool (LD_PRELOAD): logs what it does to the files of a directory, and cuts the power or fails.
 *
 *   RSV_DISK_DIRECTORY  the directory
 *   RSV_DISK_LOG        the file of the log: entries of a struct entry, the name, the bytes written
 *   RSV_DISK_AT         at which operation on the directory something happens; 0 is never
 *   RSV_DISK_FAULT      what: cut (the process is killed), enospc, eio, short, read; with sector, RSV_DISK_AT is the
 *                       offset of a byte that cannot be read in any file of the directory; or what it is like all the
 *                       time: full (no file can grow), full-directory (and none can be created), nolock (none can be
 *                       locked, or only not at the lock with the number RSV_DISK_AT)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    uint64_t kind, offset, length, name_length;
};
enum { WRITE = 'w', TRUNCATE = 't', SYNC = 's', UNLINK = 'u', READ = 'r' };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *directory, *fault;
static long at, count;
static int log_file = -1;

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("RSV_DISK_AT"), *log = getenv("RSV_DISK_LOG");
    directory = getenv("RSV_DISK_DIRECTORY");
    fault = getenv("RSV_DISK_FAULT");
    at = number ? atol(number) : 0;
    if (log) log_file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int within(const char *path) {
    return directory && fault && log_file >= 0 && strncmp(path, directory, strlen(directory)) == 0;
}

/* The name of an open file, if it is of the directory, or the directory itself. */
static int path_of(int fd, char *name) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int errno_before = errno;
    ssize_t length = readlink(link, name, PATH_MAX - 1);
    errno = errno_before;
    if (length < 0) return 0;
    name[length] = 0;
    return within(name);
}

/* The same, but for the -shm: what processes share through it is rebuilt. */
static int name_of(int fd, char *name) {
    if (!path_of(fd, name)) return 0;
    size_t length = strlen(name);
    return length < 4 || strcmp(name + length - 4, "-shm") != 0;
}

/* Whether the disk has no room for a file of the directory to reach so far, from an offset, or from where it is. */
static int lacks_room(int fd, off_t offset, size_t length, int seeks) {
    char name[PATH_MAX];
    struct stat about;
    if (!fault || strncmp(fault, "full", 4) != 0 || !path_of(fd, name)) return 0;
    off_t end = (seeks ? lseek(fd, 0, SEEK_CUR) : offset) + (off_t)length;
    if (fstat(fd, &about) == 0 && end <= about.st_size) return 0;
    errno = ENOSPC;
    return 1;
}

static void append(const void *bytes, size_t length) {
    if (REAL(ssize_t, write, int, const void *, size_t)(log_file, bytes, length) != (ssize_t)length) abort();
}

static void note(int kind, const char *name, off_t offset, size_t length, const void *bytes) {
    struct entry entry = {kind, offset, length, strlen(name)};
    append(&entry, sizeof entry);
    append(name, entry.name_length);
    if (bytes) append(bytes, length);
}

/* Counts an operation, with the lock held; whether it is one that fails. */
static int fails(int kind) {
    if (strcmp(fault, "sector") == 0 || strncmp(fault, "full", 4) == 0 || strcmp(fault, "nolock") == 0) return 0;
    if (kind == READ ? strcmp(fault, "read") != 0 : strcmp(fault, "read") == 0) return 0;
    if (++count != at) return 0;
    if (strcmp(fault, "cut") == 0) raise(SIGKILL);
    return 1;
}

static int error(int kind) {
    errno = strcmp(fault, "enospc") == 0 && kind != SYNC ? ENOSPC : EIO;
    return -1;
}

static ssize_t put(int fd, const void *bytes, size_t length, off_t offset, int seeks) {
    char name[PATH_MAX];
    ssize_t (*real_pwrite)(int, const void *, size_t, off_t) =
        REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
    ssize_t (*real_write)(int, const void *, size_t) = REAL(ssize_t, write, int, const void *, size_t);
    if (lacks_room(fd, offset, length, seeks)) return -1;
    if (fd == log_file || !name_of(fd, name))
        return seeks ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
    pthread_mutex_lock(&lock);
    if (seeks) offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done;
    int failing = fails(WRITE);
    if (failing && strcmp(fault, "short") != 0) {
        done = error(WRITE);
    } else {
        if (failing && length > 1) length /= 2;
        done = seeks ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
    }
    if (done > 0) note(WRITE, name, offset, done, bytes);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t write(int fd, const void *bytes, size_t length) { return put(fd, bytes, length, 0, 1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return put(fd, bytes, length, offset, 0); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return put(fd, bytes, length, offset, 0); }

static int cut_off(int fd, off_t length) {
    char name[PATH_MAX];
    int (*real)(int, off_t) = REAL(int, ftruncate, int, off_t);
    if (lacks_room(fd, length, 0, 0)) return -1;
    if (!name_of(fd, name)) return real(fd, length);
    pthread_mutex_lock(&lock);
    int done = fails(TRUNCATE) && strcmp(fault, "short") != 0 ? error(TRUNCATE) : real(fd, length);
    if (done == 0) note(TRUNCATE, name, length, 0, NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int fd, off_t length) { return cut_off(fd, length); }
int ftruncate64(int fd, off_t length) { return cut_off(fd, length); }

static int open_with(const char *name, const char *path, int flags, mode_t mode) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
    if (flags & O_CREAT && within(path) && strcmp(fault, "full-directory") == 0 && access(path, F_OK) != 0) {
        errno = ENOSPC;
        return -1;
    }
    return real(path, flags, mode);
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;                                                      \
        va_end(rest);                                                                                                  \
        return open_with(#name, path, flags, mode);                                                                    \
    }
OPEN(open)
OPEN(open64)

static int control(const char *name, int fd, int command, void *argument) {
    char path[PATH_MAX];
    int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
    int locks = command == F_SETLK && ((struct flock *)argument)->l_type != F_UNLCK;
    if (locks && fault && strcmp(fault, "nolock") == 0 && path_of(fd, path) && (at == 0 || ++count == at)) {
        errno = ENOLCK;
        return -1;
    }
    return real(fd, command, argument);
}

#define CONTROL(name)                                                                                                  \
    int name(int fd, int command, ...) {                                                                               \
        va_list rest;                                                                                                  \
        va_start(rest, command);                                                                                       \
        void *argument = va_arg(rest, void *);                                                                         \
        va_end(rest);                                                                                                  \
        return control(#name, fd, command, argument);                                                                  \
    }
CONTROL(fcntl)
CONTROL(fcntl64)

static int sync_with(int fd, int (*real)(int)) {
    char name[PATH_MAX];
    if (!name_of(fd, name)) return real(fd);
    pthread_mutex_lock(&lock);
    /* Nothing reaches the platter here: the log says what would have. So tests are as quick as on a fast disk. */
    int done = fails(SYNC) && strcmp(fault, "short") != 0 ? error(SYNC) : 0;
    if (done == 0) note(SYNC, name, 0, 0, NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

int fsync(int fd) { return sync_with(fd, REAL(int, fsync, int)); }
int fdatasync(int fd) { return sync_with(fd, REAL(int, fdatasync, int)); }

int unlink(const char *path) {
    int (*real)(const char *) = REAL(int, unlink, const char *);
    if (!within(path)) return real(path);
    pthread_mutex_lock(&lock);
    int done = fails(UNLINK) && strcmp(fault, "short") != 0 ? error(UNLINK) : real(path);
    if (done == 0) note(UNLINK, path, 0, 0, NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

static int read_fails(int fd) {
    char name[PATH_MAX];
    if (!fault || strcmp(fault, "read") != 0 || !name_of(fd, name)) return 0;
    pthread_mutex_lock(&lock);
    int failing = fails(READ);
    pthread_mutex_unlock(&lock);
    return failing && error(READ);
}

ssize_t read(int fd, void *bytes, size_t length) {
    return read_fails(fd) ? -1 : REAL(ssize_t, read, int, void *, size_t)(fd, bytes, length);
}

static ssize_t get(int fd, void *bytes, size_t length, off_t offset) {
    char name[PATH_MAX];
    if (fault && strcmp(fault, "sector") == 0 && offset <= at && at < offset + (off_t)length && name_of(fd, name))
        return error(READ);
    return read_fails(fd) ? -1 : REAL(ssize_t, pread, int, void *, size_t, off_t)(fd, bytes, length, offset);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t offset) { return get(fd, bytes, length, offset); }
ssize_t pread64(int fd, void *bytes, size_t length, off_t offset) { return get(fd, bytes, length, offset); }
