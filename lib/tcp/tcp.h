/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/tcp.h: a communicator over sockets: what its files share. Private to this room.
 *
 * Any two processes have one connection: over TCP, or within a machine over a Unix-domain socket. What goes over it are
 * frames: a header of 24 bytes, little-endian, and perhaps bytes behind it. Small messages are sent at once while the
 * receiver has room to keep them (its credit), so that what nobody has asked for yet takes bounded memory. Of others
 * a header goes ahead, the offer; their bytes follow when the receiver has said that it wants them, in pieces
 * between which small messages slip through. There is no thread: who asks moves what can be moved. */
#ifndef HALO_TCP_TCP_H
#define HALO_TCP_TCP_H

#include "halo/communicator.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  TCP_HEADER = 24,
  TCP_EAGER = 32 << 10,   /* bytes of a message, up to which it is sent at once */
  TCP_WINDOW = 256 << 10, /* bytes that a receiver keeps for each sender */
  TCP_COST = 64,          /* of that, for each message besides its bytes */
  TCP_PIECE = 1 << 20,    /* bytes between two looks at what is small */
  TCP_STAGE = 16 << 10,   /* bytes that are read at once where it is not known what they are */
  TCP_SECRET = 32,
  TCP_MAX_TAG = 1 << 30
};

typedef enum tcp_kind {
  TCP_MESSAGE = 1, /* tag, bytes; the bytes behind it */
  TCP_OFFER,       /* tag, bytes, id: the sender's number for it */
  TCP_WANT,        /* id: of an offer */
  TCP_DATA,        /* id: of an offer; bytes: of this piece, which is behind it */
  TCP_CREDIT,      /* bytes that have room again */
  TCP_BYE          /* the last one */
} tcp_kind;

typedef struct tcp_header {
  uint32_t kind;
  int32_t tag;
  uint64_t bytes, id;
} tcp_header;

/* ---- Lists, of what has a pointer to the `next` and with pointers to the `first` and the `last` ---- */

#define TCP_APPEND(list, item)                                                                     \
  do {                                                                                             \
    (item)->next = NULL;                                                                           \
    *((list)->last ? &(list)->last->next : &(list)->first) = (item);                               \
    (list)->last = (item);                                                                         \
  } while (0)

/* Takes out what stands behind `before`, or, where that is NULL, the first. */
#define TCP_TAKE(list, before, item)                                                               \
  do {                                                                                             \
    *((before) ? &(before)->next : &(list)->first) = (item)->next;                                 \
    if ((list)->last == (item)) (list)->last = (before);                                           \
    (item)->next = NULL;                                                                           \
  } while (0)

/* What is to be written: a header and bytes. */
typedef struct tcp_frame {
  struct tcp_frame *next;
  struct tcp_request
      *request; /* whose bytes it carries; NULL: none, and the frame is freed when it is written */
  uint8_t header[TCP_HEADER];
  const char *payload;
  size_t bytes, at; /* of the payload; written of both */
} tcp_frame;

typedef struct tcp_queue {
  tcp_frame *first, *last;
} tcp_queue;

typedef enum tcp_state { TCP_OPEN, TCP_DONE, TCP_FAILED } tcp_state;

typedef struct tcp_request {
  struct tcp_request *before, *after; /* among all of the communicator */
  struct tcp_request *next;           /* in the list of the peer's that it waits in */
  struct tcp_peer *peer;
  tcp_state state;
  bool sends;
  int tag;
  char *data;
  size_t bytes, moved;
  uint64_t id;    /* of the offer */
  uint64_t polls; /* when it was last asked for */
  tcp_frame frame;
} tcp_request;

typedef struct tcp_list {
  tcp_request *first, *last;
} tcp_list;

/* A message that came before it was asked for. */
typedef struct tcp_parcel {
  struct tcp_parcel *next;
  int from, tag;
  size_t bytes;
  uint64_t id;
  bool offer, whole;  /* an offer; all bytes of a message are here */
  tcp_request *taker; /* who asked meanwhile */
  char data[];
} tcp_parcel;

typedef struct tcp_parcels {
  tcp_parcel *first, *last;
} tcp_parcels;

/* One of the other processes. */
typedef struct tcp_peer {
  int process, fd;
  bool local;            /* a Unix-domain socket */
  bool reading, writing; /* a thread is at it, perhaps without the lock */
  bool waits;            /* to be told when there is room to write */
  bool mute;             /* what is written does not arrive any more */
  bool left, gone;       /* it said that it ends; it is gone without that */
  char trouble[192];     /* of one that left or is gone */
  /* Out: */
  tcp_queue small, large; /* frames of any kind; data, the first of which is at its piece */
  tcp_list held;          /* messages with tag 0 that wait for credit */
  tcp_list offered;
  size_t credit;
  /* In: */
  tcp_list posted; /* receives whose messages have not come */
  tcp_list coming; /* receives that were offered their bytes */
  tcp_parcels kept;
  size_t owed; /* credit to be given back */
  char *stage; /* bytes that were read and not looked at: */
  size_t begin, end;
  bool open, placed; /* a frame has begun; it is known where its bytes go */
  tcp_header header;
  char *target; /* where the next of `left_bytes` go */
  size_t left_bytes;
  tcp_request *into;  /* what they are of: a receive, */
  tcp_parcel *parcel; /* or this */
  bool paused; /* somebody is likely to ask for the message at hand soon: it is left until then, */
  uint64_t until; /* or this turn */
} tcp_peer;

typedef struct tcp_user {
  halo_communicator communicator;
  pthread_mutex_t lock; /* of all that follows, and of the peers */
  int epoll;
  int paused;       /* peers that are */
  uint64_t polls;   /* how often somebody looked for what can be moved */
  uint64_t next_id; /* of offers */
  tcp_request *all;
  tcp_parcels mail; /* messages with tag 0 */
  tcp_peer *gone;   /* the first that was lost, and since when */
  double gone_since;
  tcp_peer peers[]; /* [process_count]; this process's own is not used */
} tcp_user;

/* Keeps a text for the calling thread, until its next call. */
const char *tcp_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Frames ---- */

void tcp_unpack(const uint8_t in[TCP_HEADER], tcp_header *out);

/* ---- With the lock held ---- */

/* Puts a frame without bytes behind the others. */
void tcp_put(tcp_peer *peer, const tcp_header *header);
/* Sends a small message, an offer, or the first piece of what was offered. */
void tcp_put_message(tcp_peer *peer, tcp_request *request);
void tcp_put_offer(tcp_peer *peer, tcp_request *request);
void tcp_put_data(tcp_peer *peer, tcp_request *request);
/* Writes what can be written, without waiting; the lock is left meanwhile. */
void tcp_write(tcp_user *user, tcp_peer *peer);
/* Reads what has come; likewise. */
void tcp_read(tcp_user *user, tcp_peer *peer);
/* Moves whatever can be moved; likewise. */
void tcp_progress(tcp_user *user);
/* Gives room back to the sender of a small message. */
void tcp_owe(tcp_peer *peer, size_t bytes);
/* Takes credit for a small message, if there is enough. */
bool tcp_pay(tcp_peer *peer, size_t bytes);
/* A receive of what was offered: its bytes are asked for. */
void tcp_want(tcp_peer *peer, tcp_request *request, uint64_t id);
/* A whole message goes to who asked for it. */
void tcp_deliver(tcp_peer *peer, const tcp_parcel *parcel, tcp_request *request);
/* Takes a parcel, or the first one, out. */
tcp_parcel *tcp_parcels_take(tcp_parcels *parcels, tcp_parcel *parcel);
/* What is not written fails, unless a thread is at it, which calls this then. */
void tcp_fail_frames(tcp_peer *peer);
/* The connection is lost, `trouble` says why; what waits for the peer fails. By the thread that reads. */
void tcp_lose(tcp_user *user, tcp_peer *peer, const char *trouble);

/* ---- Connecting ---- */

enum { TCP_ADDRESSES = 16, TCP_CARD = 704 };

typedef struct tcp_address {
  uint8_t family; /* 4 or 6; 0: none */
  uint8_t bytes[16];
} tcp_address;

/* What a process tells all others of itself. */
typedef struct tcp_card {
  uint8_t secret[TCP_SECRET]; /* to be known by who connects */
  char machine
      [160]; /* the same for processes that share devices; without a port: why there is none; */
  char network[96]; /* and for those that reach each other by Unix-domain sockets */
  char local[32];   /* the name of such a socket; empty: none */
  uint16_t port;    /* 0: nobody can connect to it */
  tcp_address addresses[TCP_ADDRESSES];
} tcp_card;

/* Sockets that this process listens at; -1: none. */
typedef struct tcp_listeners {
  int internet, local;
} tcp_listeners;

/* Opens the sockets, and says where they are. `unix_sockets`: also for processes of this machine. */
const char *tcp_listen(bool unix_sockets, tcp_listeners *listeners, tcp_card *card);
void tcp_listeners_close(tcp_listeners *listeners);
void tcp_card_pack(const tcp_card *card, uint8_t out[TCP_CARD]);
const char *tcp_card_unpack(const uint8_t in[TCP_CARD], tcp_card *out);
/* Begins to connect to the n'th of a process's addresses, of which the first is a Unix-domain socket where there is one:
 * a socket; -1: that failed (errno); -2: there are no more. `text`: what to call the address. */
int tcp_dial(const tcp_card *from, const tcp_card *to, int n, char *text, size_t size);
/* Whether a socket is a Unix-domain one. */
bool tcp_is_local(int fd);
/* Sets up what connections have in common. */
void tcp_prepare(int fd);
/* Where processes meet. */
typedef struct tcp_place {
  const char *text; /* as the user wrote it */
  tcp_address addresses[TCP_ADDRESSES];
  int count;
  uint16_t port;
} tcp_place;

/* The addresses of HOST:PORT. *later: what is wrong may be right some time later, as where no server of names answers. */
const char *tcp_resolve(const char *text, tcp_place *out, bool *later);
/* Whether only this machine can use the address. */
bool tcp_is_loopback(const tcp_address *address);
void tcp_print_address(const tcp_address *address, uint16_t port, char *text, size_t size);
/* The same of a socket's address. */
struct sockaddr;
void tcp_describe(const struct sockaddr *socket, char *text, size_t size);
/* Listens at an address (family 0: at all that there are), or begins to connect to it. -1: that failed (errno). */
int tcp_listen_at(const tcp_address *address, uint16_t port);
int tcp_dial_at(const tcp_address *address, uint16_t port);
/* Connects to all other processes: fds[count]. `until`: on the clock. */
const char *tcp_meet(tcp_listeners *listeners, const tcp_card *cards, int process, int count,
                     double until, int *fds);
/* As halo_communicator_connect. */
const char *tcp_connect(const halo_tcp_options *options, bool unix_sockets,
                        halo_communicator **out);
/* As a communicator's library: processes find each other by environment variables. */
const char *tcp_make(halo_communicator **out);

#endif
