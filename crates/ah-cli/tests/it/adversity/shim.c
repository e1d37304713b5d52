/* Stands between a program and the kernel (LD_PRELOAD) and watches one directory.
 *
 * ADVERSITY_LOG: every change of a file or a name below ADVERSITY_ROOT, every sync and everything
 * printed to stdout is appended to this file, one write a record, so that the records of several
 * processes stand in an order that agrees with what happened:
 *   - a change is recorded after it was made and before the program knows that it was;
 *   - a sync is recorded when it begins and when it has ended, so that what is recorded before the
 *     beginning is surely covered;
 *   - output is recorded before it leaves the process.
 * Names appear and vanish under a lock, so nobody can write to a file whose creation is not
 * recorded yet.
 *
 * ADVERSITY_FULL_AFTER=N, ADVERSITY_FULL_FLAG=FILE: after N writes that make a file longer, or as
 * long as FILE exists, such writes fail as on a full disk; the first of them is cut in half.
 * ADVERSITY_BROKEN_FLAG=FILE: as long as FILE exists, syncs fail as on a broken disk.
 * ADVERSITY_KILL_AFTER=N: after N writes to files the process is killed in the middle of the next.
 *
 * The -shm file is shared memory, worthless after a power cut, and not recorded. A call that would
 * change a file in a way that is not modelled here ends the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, PLAIN, SHARED_MEMORY, DIRECTORY };
enum record {
    CREATE = 1, WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, DIRECTORY_SYNC_BEGIN, DIRECTORY_SYNC_END,
    UNLINK, RENAME, MAKE_DIRECTORY, OUTPUT
};

#define FILES_MAX 4096
struct file { enum kind kind; uint64_t inode; char path[PATH_MAX]; };
static struct file *files[FILES_MAX];

static const char *root, *log_path, *full_flag, *broken_flag;
static int log_file = -1;
static long full_after = -1, kill_after = -1;
static long growths, was_full, writes;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : -1;
}

static void die(const char *what) {
    char text[256];
    int length = snprintf(text, sizeof text, "adversity shim: %s\n", what);
    syscall(SYS_write, 2, text, length);
    abort();
}

__attribute__((constructor)) static void start(void) {
    root = getenv("ADVERSITY_ROOT");
    log_path = getenv("ADVERSITY_LOG");
    full_flag = getenv("ADVERSITY_FULL_FLAG");
    full_after = number("ADVERSITY_FULL_AFTER");
    kill_after = number("ADVERSITY_KILL_AFTER");
    broken_flag = getenv("ADVERSITY_BROKEN_FLAG");
    if (root && log_path) {
        log_file = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (log_file < 0) die("cannot open the log");
    }
}

/* The record: u32 length of all, u32 record, u32 pid, u32 tid, u64 inode, u64 number, bytes. */
static void record(enum record what, uint64_t inode, uint64_t number, const void *bytes, size_t length) {
    if (log_file < 0) return;
    int saved = errno;
    struct { uint32_t length, record, pid, tid; uint64_t inode, number; } head = {
        sizeof head + length, what, getpid(), syscall(SYS_gettid), inode, number };
    struct iovec parts[2] = { { &head, sizeof head }, { (void *)bytes, length } };
    if (syscall(SYS_writev, log_file, parts, 2) != (long)head.length) die("cannot write the log");
    errno = saved;
}

static int names_lock(void) {
    if (!log_path) return -1;
    int lock = syscall(SYS_openat, AT_FDCWD, log_path, O_RDONLY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) die("cannot lock the log");
    return lock;
}

static void names_unlock(int lock) {
    int saved = errno;
    if (lock >= 0) syscall(SYS_close, lock);
    errno = saved;
}

static int is_ours(const char *path) {
    size_t length = root ? strlen(root) : 0;
    return length && strncmp(path, root, length) == 0 && (path[length] == '/' || !path[length]);
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

static struct file *find(int fd) {
    return fd >= 0 && fd < FILES_MAX && files[fd] && files[fd]->kind != NONE ? files[fd] : NULL;
}

static void remember(int fd, const char *path) {
    struct stat status;
    if (fd >= FILES_MAX || fstat(fd, &status) != 0) die("cannot follow a file");
    struct file *file = calloc(1, sizeof *file);
    if (!file) die("out of memory");
    file->kind = S_ISDIR(status.st_mode) ? DIRECTORY : ends_with(path, "-shm") ? SHARED_MEMORY : PLAIN;
    file->inode = status.st_ino;
    snprintf(file->path, sizeof file->path, "%s", path);
    free(files[fd]);
    files[fd] = file;
}

static int open_ours(const char *path, int flags, mode_t mode) {
    int lock = names_lock();
    int fd = -1, created = 0;
    if (flags & O_CREAT) {
        fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_EXCL, mode);
        created = fd >= 0;
    }
    if (fd < 0 && (!(flags & O_CREAT) || (errno == EEXIST && !(flags & O_EXCL))))
        fd = syscall(SYS_openat, AT_FDCWD, path, flags & ~O_CREAT, mode);
    if (fd >= 0) {
        remember(fd, path);
        if (files[fd]->kind == PLAIN && created)
            record(CREATE, files[fd]->inode, 0, path, strlen(path));
        else if (files[fd]->kind == PLAIN && (flags & O_TRUNC))
            record(TRUNCATE, files[fd]->inode, 0, NULL, 0);
    }
    names_unlock(lock);
    return fd;
}

static int open_any(const char *path, int flags, mode_t mode) {
    if (is_ours(path)) return open_ours(path, flags, mode);
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define MODE(flags)                                                  \
    mode_t mode = 0;                                                 \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                           \
        va_list more;                                                \
        va_start(more, flags);                                       \
        mode = va_arg(more, mode_t);                                 \
        va_end(more);                                                \
    }

int open(const char *path, int flags, ...) { MODE(flags) return open_any(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_any(path, flags, mode); }
int openat(int at, const char *path, int flags, ...) {
    MODE(flags)
    if (is_ours(path)) return open_ours(path, flags, mode);
    return syscall(SYS_openat, at, path, flags, mode);
}

int close(int fd) {
    /* Before the number can be given to another thread's file. */
    struct file *file = find(fd);
    if (file) file->kind = NONE;
    return syscall(SYS_close, fd);
}

/* How many of `length` bytes at `offset` still fit on the disk; -1 for none. */
static ssize_t room(int fd, size_t length, off_t offset) {
    struct stat status;
    if (fstat(fd, &status) != 0) die("cannot see a file's length");
    if (offset + (off_t)length <= status.st_size) return length;
    long count = __atomic_fetch_add(&growths, 1, __ATOMIC_SEQ_CST);
    int full = (full_after >= 0 && count >= full_after) || (full_flag && access(full_flag, F_OK) == 0);
    if (!full) return length;
    int first = __atomic_exchange_n(&was_full, 1, __ATOMIC_SEQ_CST) == 0;
    if (first && length > 1) return length / 2;
    errno = ENOSPC;
    return -1;
}

static void perhaps_die(int fd, const void *bytes, size_t length, off_t offset) {
    if (kill_after < 0 || __atomic_fetch_add(&writes, 1, __ATOMIC_SEQ_CST) < kill_after) return;
    syscall(SYS_pwrite64, fd, bytes, length / 2, offset);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static ssize_t write_ours(struct file *file, int fd, const void *bytes, size_t length, off_t offset) {
    if (file->kind == PLAIN) perhaps_die(fd, bytes, length, offset);
    ssize_t fits = room(fd, length, offset);
    if (fits < 0) return -1;
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, fits, offset);
    if (done > 0 && file->kind == PLAIN) record(WRITE, file->inode, offset, bytes, done);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    struct file *file = find(fd);
    if (file) return write_ours(file, fd, bytes, length, offset);
    return syscall(SYS_pwrite64, fd, bytes, length, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
    return pwrite(fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    struct file *file = find(fd);
    if (file) {
        off_t offset = lseek(fd, 0, SEEK_CUR);
        ssize_t done = write_ours(file, fd, bytes, length, offset);
        if (done > 0) lseek(fd, offset + done, SEEK_SET);
        return done;
    }
    if (fd == 1 && root) record(OUTPUT, 0, 0, bytes, length);
    return syscall(SYS_write, fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (find(fd)) die("writev is not modelled");
    if (fd == 1 && root)
        for (int i = 0; i < count; i++) record(OUTPUT, 0, 0, parts[i].iov_base, parts[i].iov_len);
    return syscall(SYS_writev, fd, parts, count);
}

int ftruncate(int fd, off_t length) {
    struct file *file = find(fd);
    int done = syscall(SYS_ftruncate, fd, length);
    if (done == 0 && file && file->kind == PLAIN) record(TRUNCATE, file->inode, length, NULL, 0);
    return done;
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

static int sync_any(int fd, long call) {
    struct file *file = find(fd);
    if (!file) return syscall(call, fd);
    if (broken_flag && access(broken_flag, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    size_t length = file->kind == DIRECTORY ? strlen(file->path) : 0;
    int directory = file->kind == DIRECTORY;
    record(directory ? DIRECTORY_SYNC_BEGIN : SYNC_BEGIN, file->inode, 0, file->path, length);
    int done = syscall(call, fd);
    if (done == 0)
        record(directory ? DIRECTORY_SYNC_END : SYNC_END, file->inode, 0, file->path, length);
    return done;
}
int fsync(int fd) { return sync_any(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_any(fd, SYS_fdatasync); }

int unlink(const char *path) {
    if (!is_ours(path)) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    int lock = names_lock();
    int done = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (done == 0 && !ends_with(path, "-shm")) record(UNLINK, 0, 0, path, strlen(path));
    names_unlock(lock);
    return done;
}

int rename(const char *from, const char *to) {
    if (!is_ours(from) && !is_ours(to)) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    char both[2 * PATH_MAX];
    int length = snprintf(both, sizeof both, "%s\n%s", from, to);
    int lock = names_lock();
    int done = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (done == 0) record(RENAME, 0, 0, both, length);
    names_unlock(lock);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    int lock = is_ours(path) ? names_lock() : -1;
    int done = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (done == 0 && is_ours(path)) record(MAKE_DIRECTORY, 0, 0, path, strlen(path));
    names_unlock(lock);
    return done;
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
    struct file *file = find(fd);
    if (file && file->kind == PLAIN && (flags & MAP_SHARED) && (protection & PROT_WRITE))
        die("writing through a mapping is not modelled");
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

static int refuse(int fd, const char *what) {
    if (find(fd)) die(what);
    errno = EOPNOTSUPP;
    return -1;
}
int posix_fallocate(int fd, off_t offset, off_t length) {
    (void)offset, (void)length;
    return refuse(fd, "posix_fallocate is not modelled") ? EOPNOTSUPP : 0;
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t count) {
    if (find(out)) die("sendfile is not modelled");
    return syscall(SYS_sendfile, out, in, offset, count);
}
int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    if (is_ours(from) || is_ours(to)) die("linkat is not modelled");
    return syscall(SYS_linkat, from_at, from, to_at, to, flags);
}
