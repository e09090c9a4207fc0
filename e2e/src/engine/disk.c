// A disk that hangs, fails or tears, loaded before a database's own libraries. MINT_DISK names a file of 8 bytes: its first
// says what becomes of writes and syncs of files whose path holds MINT_DISK_FILES, and its last four count those that were met.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

struct control { volatile char trouble; char unused[3]; volatile uint32_t met; };
static struct control none, *control = &none;
static const char *files = "";

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("MINT_DISK"), *what = getenv("MINT_DISK_FILES");
    int fd = name && what ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return;
    files = what;
    control = at;
}

// 'p'ass, 'h'ang, 'f'ail or 't'ear, for this file.
static char trouble(int fd) {
    char link[64], path[1024];
    if (control->trouble == 'p' || control == &none) return 'p';
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 'p';
    path[length] = 0;
    if (!strstr(path, files)) return 'p';
    __sync_fetch_and_add(&control->met, 1);
    return control->trouble;
}

static void hang(void) {
    while (control->trouble == 'h' || control->trouble == 't') usleep(5000);
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define MEET(whole, torn) \
    switch (trouble(fd)) { \
    case 't': torn; hang(); break; \
    case 'h': hang(); break; \
    case 'f': errno = EIO; return -1; \
    } \
    return whole

// More than half and no whole sector.
#define PART(n) ((n) / 2 + ((n) > 2))

ssize_t write(int fd, const void *b, size_t n) {
    REAL(write); MEET(real(fd, b, n), { real(fd, b, PART(n)); hang(); errno = EIO; return -1; });
}
ssize_t pwrite(int fd, const void *b, size_t n, off_t at) {
    REAL(pwrite); MEET(real(fd, b, n, at), real(fd, b, PART(n), at));
}
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t at) {
    REAL(pwrite64); MEET(real(fd, b, n, at), real(fd, b, PART(n), at));
}
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at) {
    REAL(pwritev); MEET(real(fd, v, n, at), );
}
ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t at) {
    REAL(pwritev64); MEET(real(fd, v, n, at), );
}
int fsync(int fd) { REAL(fsync); MEET(real(fd), ); }
int fdatasync(int fd) { REAL(fdatasync); MEET(real(fd), ); }
