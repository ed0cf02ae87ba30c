/* The attacker's tools below libc: other system call doors (io_uring, 32-bit, x32). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int ring;
static struct io_uring_params params;
static char *submitted;
static char *completed;
static struct io_uring_sqe *entries;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void open_ring(void) {
    ring = syscall(SYS_io_uring_setup, 4, &params);
    if (ring < 0)
        fail("io_uring_setup");
    submitted = mmap(0, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    completed = mmap(0, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    entries = mmap(0, params.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (submitted == MAP_FAILED || completed == MAP_FAILED || entries == MAP_FAILED)
        fail("mmap");
}

static int submit(struct io_uring_sqe entry) {
    unsigned *tail = (unsigned *)(submitted + params.sq_off.tail);
    unsigned mask = *(unsigned *)(submitted + params.sq_off.ring_mask);
    unsigned *head = (unsigned *)(completed + params.cq_off.head);
    entries[*tail & mask] = entry;
    ((unsigned *)(submitted + params.sq_off.array))[*tail & mask] = *tail & mask;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0)
        fail("io_uring_enter");
    struct io_uring_cqe *answer = (struct io_uring_cqe *)(completed + params.cq_off.cqes) + (*head & *(unsigned *)(completed + params.cq_off.ring_mask));
    int got = answer->res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    if (got < 0) {
        errno = -got;
        fail("io_uring operation");
    }
    return got;
}

static struct sockaddr_in address(const char *port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static void ring_send(int fd, const char *text) {
    submit((struct io_uring_sqe){.opcode = IORING_OP_SEND, .fd = fd, .addr = (unsigned long)text, .len = strlen(text)});
}

static void ring_tcp(const char *port, const char *text) {
    static struct sockaddr_in to;
    to = address(port);
    open_ring();
    int fd = submit((struct io_uring_sqe){.opcode = 45 /* SOCKET */, .fd = AF_INET, .off = SOCK_STREAM});
    submit((struct io_uring_sqe){.opcode = IORING_OP_CONNECT, .fd = fd, .addr = (unsigned long)&to, .off = sizeof to});
    ring_send(fd, text);
}

static void ring_unix(const char *path, const char *text) {
    static struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    open_ring();
    int fd = submit((struct io_uring_sqe){.opcode = 45, .fd = AF_UNIX, .off = SOCK_STREAM});
    submit((struct io_uring_sqe){.opcode = IORING_OP_CONNECT, .fd = fd, .addr = (unsigned long)&to, .off = sizeof to});
    ring_send(fd, text);
}

static void ring_write(const char *path, const char *text) {
    open_ring();
    int fd = submit((struct io_uring_sqe){.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (unsigned long)path, .open_flags = O_WRONLY | O_APPEND});
    submit((struct io_uring_sqe){.opcode = IORING_OP_WRITE, .fd = fd, .addr = (unsigned long)text, .len = strlen(text)});
}

static void ring_read(const char *path) {
    static char text[4096];
    open_ring();
    int fd = submit((struct io_uring_sqe){.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (unsigned long)path, .open_flags = O_RDONLY});
    printf("%.*s\n", submit((struct io_uring_sqe){.opcode = IORING_OP_READ, .fd = fd, .addr = (unsigned long)text, .len = sizeof text}), text);
}

static void ring_unlink(const char *path) {
    open_ring();
    submit((struct io_uring_sqe){.opcode = 36 /* UNLINKAT */, .fd = AT_FDCWD, .addr = (unsigned long)path});
}

/* The 32-bit door: `int $0x80` from a 64-bit process; every pointer must lie below 4 GB. */
static long call32(long number, long a, long b, long c, long d) {
    long got;
    __asm__ volatile("int $0x80" : "=a"(got) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d) : "memory", "r8", "r9", "r10", "r11");
    return (int)got;
}

static char *low_memory(void) {
    char *low = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED)
        fail("mmap");
    return low;
}

static void old_tcp(const char *port, const char *text) {
    char *low = low_memory();
    struct sockaddr_in to = address(port);
    unsigned *arguments = (unsigned *)low;
    memcpy(low + 64, &to, sizeof to);
    strcpy(low + 256, text);
    arguments[0] = AF_INET, arguments[1] = SOCK_STREAM, arguments[2] = 0;
    int fd = call32(102, 1, (long)low, 0, 0);
    arguments[0] = fd, arguments[1] = (unsigned)(unsigned long)(low + 64), arguments[2] = sizeof to;
    printf("%ld\n", call32(102, 3, (long)low, 0, 0));
    call32(4, fd, (long)(low + 256), strlen(text), 0);
}

static void old_write(const char *path, const char *text) {
    char *low = low_memory();
    strcpy(low, path);
    strcpy(low + 4096, text);
    int fd = call32(5, (long)low, O_WRONLY | O_APPEND, 0, 0);
    printf("%d %ld\n", fd, call32(4, fd, (long)(low + 4096), strlen(text), 0));
}

static void old_kill(const char *pid, const char *number) { printf("%ld\n", call32(37, atoi(pid), atoi(number), 0, 0)); }

static void x32_tcp(const char *port, const char *text) {
    struct sockaddr_in to = address(port);
    long bit = 0x40000000;
    int fd = syscall(bit | SYS_socket, AF_INET, SOCK_STREAM, 0);
    syscall(bit | SYS_connect, fd, &to, sizeof to);
    if (syscall(bit | SYS_sendto, fd, text, strlen(text), 0, 0, 0) < 0)
        fail("x32");
}

int main(int count, char **v) {
    const char *name = count > 1 ? v[1] : "";
    if (count > 3 && !strcmp(name, "ring-tcp")) ring_tcp(v[2], v[3]);
    else if (count > 3 && !strcmp(name, "ring-unix")) ring_unix(v[2], v[3]);
    else if (count > 3 && !strcmp(name, "ring-write")) ring_write(v[2], v[3]);
    else if (count > 2 && !strcmp(name, "ring-read")) ring_read(v[2]);
    else if (count > 2 && !strcmp(name, "ring-unlink")) ring_unlink(v[2]);
    else if (count > 3 && !strcmp(name, "old-tcp")) old_tcp(v[2], v[3]);
    else if (count > 3 && !strcmp(name, "old-write")) old_write(v[2], v[3]);
    else if (count > 3 && !strcmp(name, "old-kill")) old_kill(v[2], v[3]);
    else if (count > 3 && !strcmp(name, "x32-tcp")) x32_tcp(v[2], v[3]);
    else return 2;
    return 0;
}
