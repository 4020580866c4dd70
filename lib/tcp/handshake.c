/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/handshake.c: the messages that both sides of the meeting at the coordinator send: their bytes and proofs. */
#include "base/clock.h"
#include "tcp/coordinator.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static const char coordinator_magic[8] = {'h', 'a', 'l', 'o', 'm', 'e', 'e', 't'};
enum { COORDINATOR_VERSION_NUMBER = 2 };

void coordinator_put(uint8_t *at, uint32_t number) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(number >> 8 * i);
}

uint32_t coordinator_get(const uint8_t *at) {
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void coordinator_write_head(const coordinator *c, uint32_t process, uint8_t out[COORDINATOR_HEAD]) {
  memcpy(out, coordinator_magic, sizeof coordinator_magic);
  coordinator_put(out + 8, COORDINATOR_VERSION_NUMBER);
  coordinator_put(out + 12, process);
  coordinator_put(out + 16, (uint32_t)c->count);
  coordinator_put(out + 20, TCP_CARD);
}

bool coordinator_move(int fd, bool send_them, void *data, size_t bytes, double until) {
  for (size_t at = 0; at < bytes;) {
    ssize_t moved = send_them ? send(fd, (char *)data + at, bytes - at, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(fd, (char *)data + at, bytes - at, MSG_DONTWAIT);
    bool later = moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (moved == 0) errno = ECONNRESET;
    if (moved <= 0 && !later) return false;
    if (moved > 0) {
      at += (size_t)moved;
      continue;
    }
    struct pollfd wait = {.fd = fd, .events = send_them ? POLLOUT : POLLIN};
    (void)poll(&wait, 1, 100);
    if (halo_clock() > until) {
      errno = ETIMEDOUT;
      return false;
    }
  }
  return true;
}

void coordinator_prove(const coordinator *c, coordinator_proof kind,
                       const uint8_t hello[COORDINATOR_HELLO],
                       const uint8_t nonce[COORDINATOR_NONCE], const void *data, size_t bytes,
                       uint8_t out[HALO_SHA256_SIZE]) {
  halo_hmac hmac;
  uint8_t number = (uint8_t)kind;
  halo_hmac_init(&hmac, c->secret, strlen(c->secret));
  halo_hmac_add(&hmac, &number, 1);
  halo_hmac_add(&hmac, hello, COORDINATOR_HELLO);
  halo_hmac_add(&hmac, nonce, COORDINATOR_NONCE);
  halo_hmac_add(&hmac, data, bytes);
  halo_hmac_end(&hmac, out);
}
