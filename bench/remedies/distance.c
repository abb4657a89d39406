/* distance: a link emulator that is not longwire's own. Two tun devices, one in each of two network namespaces, and one process that moves packets between
 * them, each after a fixed one-way delay and the time that its bytes take.
 *   distance NETNS_A DEVICE_A NETNS_B DEVICE_B ONE_WAY_US BITS_PER_SECOND(0: unlimited) QUEUE_BYTES(0: unlimited)
 * Ends on SIGTERM. A packet leaves at max(now, departure of the one before) + 8 * length / rate + delay.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MTU_MAX = 2048, RING = 1 << 16 };
struct pkt { uint64_t due; int len; unsigned char *data; };
struct dir { struct pkt *q; unsigned head, tail; uint64_t wire_free; uint64_t queued_bytes; };
static uint64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
static int open_tun(const char *ns, const char *dev) {
  int self = open("/proc/self/ns/net", O_RDONLY);
  if (strcmp(ns, "-")) { char p[256]; snprintf(p, sizeof p, "/run/netns/%s", ns); int f = open(p, O_RDONLY); if (f < 0 || setns(f, CLONE_NEWNET)) { perror(p); exit(1); } close(f); }
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK); if (fd < 0) { perror("tun"); exit(1); }
  struct ifreq r; memset(&r, 0, sizeof r); r.ifr_flags = IFF_TUN | IFF_NO_PI; strncpy(r.ifr_name, dev, IFNAMSIZ - 1);
  if (ioctl(fd, TUNSETIFF, &r)) { perror("TUNSETIFF"); exit(1); }
  setns(self, CLONE_NEWNET); close(self); return fd;
}
static void pull(int fd, struct dir *d, uint64_t delay, double ns_per_byte, uint64_t limit) {
  unsigned char buf[MTU_MAX]; int n;
  while ((n = read(fd, buf, sizeof buf)) > 0) {
    uint64_t t = now_ns();
    if ((limit && d->queued_bytes + n > limit) || d->tail - d->head >= RING) continue; /* tail drop */
    uint64_t start = t > d->wire_free ? t : d->wire_free; d->wire_free = start + (uint64_t)(n * ns_per_byte);
    struct pkt *p = &d->q[d->tail++ & (RING - 1)]; p->due = d->wire_free + delay; p->len = n; p->data = malloc(n); memcpy(p->data, buf, n); d->queued_bytes += n;
  }
}
static void push(int fd, struct dir *d, uint64_t *next) {
  while (d->head != d->tail) { struct pkt *p = &d->q[d->head & (RING - 1)]; uint64_t t = now_ns();
    if (p->due > t) { if (p->due < *next) *next = p->due; return; }
    if (write(fd, p->data, p->len) < 0 && errno == EAGAIN) { *next = t + 20000; return; }
    free(p->data); d->queued_bytes -= p->len; d->head++; }
}
int main(int c, char **v) {
  if (c < 8) { fprintf(stderr, "usage: distance NS_A DEV_A NS_B DEV_B ONE_WAY_US RATE_BPS QUEUE_BYTES\n"); return 2; }
  prctl(PR_SET_TIMERSLACK, 1); uint64_t delay = strtoull(v[5], 0, 10) * 1000; double rate = atof(v[6]); double npb = rate > 0 ? 8e9 / rate : 0; uint64_t lim = strtoull(v[7], 0, 10);
  int a = open_tun(v[1], v[2]), b = open_tun(v[3], v[4]); struct dir ab = {0}, ba = {0}; ab.q = calloc(RING, sizeof *ab.q); ba.q = calloc(RING, sizeof *ba.q);
  int tf = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK); printf("ready\n"); fflush(stdout);
  for (;;) { uint64_t next = UINT64_MAX; push(b, &ab, &next); push(a, &ba, &next);
    if (next != UINT64_MAX) { struct itimerspec s = {{0, 0}, {next / 1000000000ull, next % 1000000000ull}}; timerfd_settime(tf, TFD_TIMER_ABSTIME, &s, 0); }
    struct pollfd f[3] = {{a, POLLIN, 0}, {b, POLLIN, 0}, {tf, POLLIN, 0}}; poll(f, 3, -1); uint64_t x; if (f[2].revents) (void)!read(tf, &x, 8);
    if (f[0].revents) pull(a, &ab, delay, npb, lim); if (f[1].revents) pull(b, &ba, delay, npb, lim); }
}
