/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/write.c: frames on their way out. */
#include "base/memory.h"
#include "tcp/tcp.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { WRITE_FRAMES = 8 }; /* that are written at once */

/* ---- Frames ---- */

static void write_number(uint8_t *out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) out[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t write_number_of(const uint8_t *in, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)in[i] << 8 * i;
  return value;
}

static void write_pack(const tcp_header *header, uint8_t out[TCP_HEADER]) {
  write_number(out, header->kind, 4);
  write_number(out + 4, (uint32_t)header->tag, 4);
  write_number(out + 8, header->bytes, 8);
  write_number(out + 16, header->id, 8);
}

void tcp_unpack(const uint8_t in[TCP_HEADER], tcp_header *out) {
  out->kind = (uint32_t)write_number_of(in, 4);
  out->tag = (int32_t)write_number_of(in + 4, 4);
  out->bytes = write_number_of(in + 8, 8);
  out->id = write_number_of(in + 16, 8);
}

/* The first frame leaves its queue. */
static void write_take(tcp_queue *queue) {
  queue->first = queue->first->next;
  if (!queue->first) queue->last = NULL;
}

void tcp_put(tcp_peer *peer, const tcp_header *header) {
  if (peer->mute) return;
  tcp_frame *frame = halo_alloc(sizeof *frame);
  write_pack(header, frame->header);
  TCP_APPEND(&peer->small, frame);
}

void tcp_put_message(tcp_peer *peer, tcp_request *request) {
  tcp_frame *frame = &request->frame;
  write_pack(&(tcp_header){TCP_MESSAGE, request->tag, request->bytes, 0}, frame->header);
  frame->request = request;
  frame->payload = request->data;
  frame->bytes = request->bytes;
  TCP_APPEND(&peer->small, frame);
}

void tcp_put_offer(tcp_peer *peer, tcp_request *request) {
  TCP_APPEND(&peer->offered, request);
  tcp_put(peer, &(tcp_header){TCP_OFFER, request->tag, request->bytes, request->id});
}

/* The next piece of a large message. */
static void write_piece(tcp_request *request) {
  tcp_frame *frame = &request->frame;
  size_t left = request->bytes - request->moved;
  frame->payload = request->data + request->moved;
  frame->bytes = left < TCP_PIECE ? left : TCP_PIECE;
  frame->at = 0;
  write_pack(&(tcp_header){TCP_DATA, request->tag, frame->bytes, request->id}, frame->header);
}

void tcp_put_data(tcp_peer *peer, tcp_request *request) {
  request->frame.request = request;
  write_piece(request);
  TCP_APPEND(&peer->large, &request->frame);
}

static void write_fail_queue(tcp_queue *queue) {
  for (tcp_frame *f = queue->first, *next; f; f = next) {
    next = f->next;
    if (f->request) {
      f->request->state = TCP_FAILED;
    } else {
      halo_free(f);
    }
  }
  *queue = (tcp_queue){0};
}

void tcp_fail_frames(tcp_peer *peer) {
  if (peer->writing) return;
  write_fail_queue(&peer->small);
  write_fail_queue(&peer->large);
}

/* ---- Writing ---- */

/* Which frames are next: a piece that has begun is finished first. */
static int write_gather(tcp_peer *peer, tcp_frame *frames[WRITE_FRAMES]) {
  tcp_frame *piece = peer->large.first;
  bool begun = piece && piece->at > 0;
  int count = 0;
  if (begun) frames[count++] = piece;
  for (tcp_frame *f = peer->small.first; f && count < WRITE_FRAMES - 1; f = f->next) {
    frames[count++] = f;
  }
  if (piece && !begun) frames[count++] = piece;
  return count;
}

static ssize_t write_frames(int fd, tcp_frame *const *frames, int count) {
  struct iovec parts[2 * WRITE_FRAMES];
  struct msghdr message = {.msg_iov = parts};
  for (int i = 0; i < count; i++) {
    tcp_frame *f = frames[i];
    size_t head = f->at < TCP_HEADER ? f->at : TCP_HEADER, body = f->at - head;
    if (head < TCP_HEADER) {
      parts[message.msg_iovlen++] = (struct iovec){f->header + head, TCP_HEADER - head};
    }
    if (body < f->bytes) {
      parts[message.msg_iovlen++] = (struct iovec){(char *)f->payload + body, f->bytes - body};
    }
  }
  return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A frame is written: what it was of is done, or goes on with the next piece. */
static void write_done(tcp_peer *peer, tcp_frame *frame) {
  bool large = frame == peer->large.first;
  tcp_request *request = frame->request;
  if (!large) {
    write_take(&peer->small);
    if (request) {
      request->state = TCP_DONE;
    } else {
      halo_free(frame);
    }
    return;
  }
  request->moved += frame->bytes;
  if (request->moved < request->bytes) {
    write_piece(request);
    return;
  }
  write_take(&peer->large);
  request->state = TCP_DONE;
}

static void write_count(tcp_peer *peer, tcp_frame *const *frames, int count, size_t written) {
  for (int i = 0; i < count && written > 0; i++) {
    size_t left = TCP_HEADER + frames[i]->bytes - frames[i]->at;
    size_t step = written < left ? written : left;
    frames[i]->at += step;
    written -= step;
    if (step == left) write_done(peer, frames[i]);
  }
}

/* Whether it is told when there is room. */
static void write_wait(tcp_user *user, tcp_peer *peer, bool waits) {
  if (peer->waits == waits) return;
  struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = peer};
  if (epoll_ctl(user->epoll, EPOLL_CTL_MOD, peer->fd, &event) == 0) peer->waits = waits;
}

void tcp_write(tcp_user *user, tcp_peer *peer) {
  tcp_frame *frames[WRITE_FRAMES];
  bool full = false;
  int count;
  if (peer->writing) return;
  peer->writing = true;
  while (!peer->mute && !full && (count = write_gather(peer, frames)) > 0) {
    pthread_mutex_unlock(&user->lock);
    ssize_t written = write_frames(peer->fd, frames, count);
    int error = written < 0 ? errno : 0;
    pthread_mutex_lock(&user->lock);
    if (error == EINTR) continue;
    full = error == EAGAIN || error == EWOULDBLOCK;
    /* Why it is so will be read: what the other side said before it ended counts. */
    if (error && !full) peer->mute = true;
    if (written > 0) write_count(peer, frames, count, (size_t)written);
  }
  peer->writing = false;
  if (peer->gone || peer->left) {
    tcp_fail_frames(peer);
  } else {
    write_wait(user, peer, full && !peer->mute);
  }
}
