/* Makes every sync of a file take 2.4 ms longer. Loaded with LD_PRELOAD by the bench alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void pause_2400_us(void) {
    struct timespec span = {0, 2400000};
    nanosleep(&span, 0);
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    pause_2400_us();
    return real(fd);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    pause_2400_us();
    return real(fd);
}
