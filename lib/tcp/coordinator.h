/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/coordinator.h: how processes find each other without a framework: all give what they have to say of themselves to
 * the first, at an address that all know, and get what the others said. Private to this room.
 *
 * Both sides prove that they know the user's secret by codes over numbers that the other side has just made up, so that
 * neither the secret nor anything that would do again goes over the wire:
 *
 *   process p -> 0   hello: magic, version, p, processes, bytes of a card, nonce
 *   0 -> p           answer: verdict, its number, nonce, code over these and the hello
 *   p -> 0           card, code over it, the hello and the nonce of the answer
 *   0 -> p           when all have come: verdict, its number; if that is good, all cards and a code over them likewise */
#ifndef HALO_TCP_COORDINATOR_H
#define HALO_TCP_COORDINATOR_H

#include "base/sha256.h"
#include "tcp/tcp.h"

enum {
  COORDINATOR_NONCE = 32,
  COORDINATOR_HEAD = 24, /* of a hello, without the nonce */
  COORDINATOR_HELLO = COORDINATOR_HEAD + COORDINATOR_NONCE,
  COORDINATOR_VERDICT = 8,
  COORDINATOR_ANSWER = COORDINATOR_VERDICT + COORDINATOR_NONCE + HALO_SHA256_SIZE
};

/* The verdict of process 0, with a number. */
typedef enum coordinator_verdict {
  COORDINATOR_GOOD,
  COORDINATOR_VERSION, /* of process 0 */
  COORDINATOR_COUNT,   /* process 0 knows of so many processes */
  COORDINATOR_TAKEN,   /* another process has said that it is this one */
  COORDINATOR_MISSING  /* this process did not come, or is gone */
} coordinator_verdict;

/* Seconds: for who has connected to go on; until somebody is told who waits for whom. */
static const double coordinator_saying = 5, coordinator_silence = 2;

typedef struct coordinator {
  char *text;       /* HOST:PORT */
  char source[320]; /* that, and who says so, for messages */
  tcp_place place;
  int process, count;
  const char *secret; /* "": none, where only this machine takes part */
  double limit;       /* seconds that the user allows for anything to come; 0: he says nothing */
  double patience;    /* seconds for all to come: that, or long */
} coordinator;

/* Which of the codes it is. */
typedef enum coordinator_proof { PROOF_ANSWER = 1, PROOF_CARD, PROOF_CARDS } coordinator_proof;

void coordinator_prove(const coordinator *c, coordinator_proof kind,
                       const uint8_t hello[COORDINATOR_HELLO],
                       const uint8_t nonce[COORDINATOR_NONCE], const void *data, size_t bytes,
                       uint8_t out[HALO_SHA256_SIZE]);
void coordinator_put(uint8_t *at, uint32_t number);
uint32_t coordinator_get(const uint8_t *at);
/* The beginning of a hello: of this process. */
void coordinator_write_head(const coordinator *c, uint32_t process, uint8_t out[COORDINATOR_HEAD]);
/* Moves all bytes, or false (errno). */
bool coordinator_move(int fd, bool send_them, void *data, size_t bytes, double until);

/* serve.c, process 0: waits for the others; cards are [count][TCP_CARD], of which this process's own is there. */
const char *coordinator_serve(const coordinator *c, uint8_t *all);
/* ask.c, any other: likewise. */
const char *coordinator_ask(const coordinator *c, uint8_t *all);

#endif
