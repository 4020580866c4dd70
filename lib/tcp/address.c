/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/address.c: where a process can be reached. */
#include "base/config.h"
#include "tcp/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/un.h>
#include <unistd.h>

enum { ADDRESS_VERSION = 2, ADDRESS_BACKLOG = 1024 };

/* A socket's address of any kind. */
typedef struct address_place {
  union {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un local;
  };
  socklen_t size;
} address_place;

/* ---- Addresses ---- */

static address_place address_of(const tcp_address *address, uint16_t port) {
  address_place place = {.size = sizeof place.four};
  if (address->family == 4) {
    place.four.sin_family = AF_INET;
    place.four.sin_port = htons(port);
    memcpy(&place.four.sin_addr, address->bytes, 4);
  } else {
    place.six.sin6_family = AF_INET6;
    place.six.sin6_port = htons(port);
    memcpy(&place.six.sin6_addr, address->bytes, 16);
    place.size = sizeof place.six;
  }
  return place;
}

/* A name in no folder, which ends with the socket. */
static address_place address_of_local(const char *name) {
  address_place place = {.local.sun_family = AF_UNIX};
  int length = snprintf(place.local.sun_path + 1, sizeof place.local.sun_path - 1, "%s", name);
  place.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  return place;
}

static tcp_address address_from(const struct sockaddr *socket) {
  tcp_address address = {0};
  if (socket->sa_family == AF_INET) {
    address.family = 4;
    memcpy(address.bytes, &((const struct sockaddr_in *)(const void *)socket)->sin_addr, 4);
  } else if (socket->sa_family == AF_INET6) {
    address.family = 6;
    memcpy(address.bytes, &((const struct sockaddr_in6 *)(const void *)socket)->sin6_addr, 16);
  }
  return address;
}

/* One that is of use on other machines. */
static bool address_reaches(const tcp_address *a) {
  if (a->family == 4) return a->bytes[0] != 127 && !(a->bytes[0] == 169 && a->bytes[1] == 254);
  if (a->family != 6) return false;
  bool link = a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
  return !link && memcmp(a->bytes, &in6addr_loopback, 16) != 0;
}

static void address_add(tcp_card *card, const tcp_address *address) {
  for (int i = 0; i < TCP_ADDRESSES; i++) {
    if (card->addresses[i].family == 0) {
      card->addresses[i] = *address;
      return;
    }
    if (memcmp(&card->addresses[i], address, sizeof *address) == 0) return;
  }
}

/* The address of the way to everywhere; nothing is sent for it. */
static void address_add_main(tcp_card *card) {
  address_place to = address_of(&(tcp_address){4, {192, 0, 2, 1}}, 9),
                own = {.size = sizeof own.six};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  if (connect(fd, &to.any, to.size) == 0 && getsockname(fd, &own.any, &own.size) == 0) {
    tcp_address address = address_from(&own.any);
    if (address_reaches(&address)) address_add(card, &address);
  }
  close(fd);
}

/* Those of all interfaces, or of one, IPv4 first. */
static void address_add_interfaces(tcp_card *card, const char *name) {
  struct ifaddrs *list;
  if (getifaddrs(&list) != 0) return;
  for (int family = 4; family <= 6; family += 2) {
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
      if (!i->ifa_addr || !(i->ifa_flags & IFF_UP)) continue;
      tcp_address address = address_from(i->ifa_addr);
      bool wanted = name ? strcmp(i->ifa_name, name) == 0 : address_reaches(&address);
      if (wanted && address.family == family) address_add(card, &address);
    }
  }
  freeifaddrs(list);
}

/* ---- Sockets ---- */

bool tcp_is_local(int fd) {
  address_place place = {.size = sizeof place.local};
  return getsockname(fd, &place.any, &place.size) == 0 && place.any.sa_family == AF_UNIX;
}

void tcp_prepare(int fd) {
  if (tcp_is_local(fd)) return;
  int on = 1, idle = 30, pause = 10, tries = 3; /* seconds */
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  /* That a machine is gone is noticed even if nothing is sent there. */
  (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof pause);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
}

/* -1 after a failure (errno). */
static int address_listen(const address_place *place) {
  int off = 0, on = 1;
  int fd = socket(place->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (place->any.sa_family == AF_INET6) {
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (place->any.sa_family != AF_UNIX) {
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (bind(fd, &place->any, place->size) == 0 && listen(fd, ADDRESS_BACKLOG) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* Begins; -1 after a failure (errno). */
static int address_connect(const address_place *place) {
  int fd = socket(place->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || connect(fd, &place->any, place->size) == 0 || errno == EINPROGRESS) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* ---- What a process says of itself ---- */

/* The address that the user names, by itself or by its interface. */
static const char *address_named(const char *name, tcp_card *card) {
  tcp_address address = {.family = 4};
  if (inet_pton(AF_INET, name, address.bytes) != 1) address.family = 6;
  if (address.family == 4 || inet_pton(AF_INET6, name, address.bytes) == 1) {
    address_add(card, &address);
    return NULL;
  }
  address_add_interfaces(card, name);
  if (card->addresses[0].family) return NULL;
  return tcp_say("%s=%s is neither an address nor an interface that has one",
                 halo_config_name(HALO_CONFIG_TCP_ADDRESS), name);
}

static const char *address_listen_internet(tcp_listeners *listeners, tcp_card *card) {
  const char *name = halo_config_text(HALO_CONFIG_TCP_ADDRESS);
  address_place place;
  if (name && *name) {
    const char *trouble = address_named(name, card);
    if (trouble) return trouble;
    for (int i = 1; i < TCP_ADDRESSES; i++) card->addresses[i] = (tcp_address){0};
    listeners->internet = tcp_listen_at(&card->addresses[0], 0);
    if (listeners->internet < 0) {
      return tcp_say("%s=%s: nobody can listen there (%s)",
                     halo_config_name(HALO_CONFIG_TCP_ADDRESS), name, strerror(errno));
    }
  } else {
    address_add_main(card);
    address_add_interfaces(card, NULL);
    listeners->internet = tcp_listen_at(&(tcp_address){0}, 0);
    if (listeners->internet < 0) return tcp_say("nobody can listen (%s)", strerror(errno));
  }
  place.size = sizeof place.local;
  if (getsockname(listeners->internet, &place.any, &place.size) != 0) {
    return tcp_say("a socket's address is not known (%s)", strerror(errno));
  }
  card->port = ntohs(place.any.sa_family == AF_INET ? place.four.sin_port : place.six.sin6_port);
  return NULL;
}

static void address_read(const char *path, char *out, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? 0 : read(fd, out, size - 1);
  if (fd >= 0) close(fd);
  out[length > 0 ? length : 0] = '\0';
  out[strcspn(out, "\n")] = '\0';
}

/* Containers of one machine have hosts' names and networks of their own. */
static void address_identify(tcp_card *card) {
  char boot[64], host[65] = "", network[24] = "";
  address_read("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  ssize_t length = readlink("/proc/self/ns/net", network, sizeof network - 1);
  snprintf(card->machine, sizeof card->machine, "%s/%s", boot, host);
  if (*boot && length > 0) snprintf(card->network, sizeof card->network, "%s/%s", boot, network);
}

const char *tcp_listen(bool unix_sockets, tcp_listeners *listeners, tcp_card *card) {
  uint64_t number;
  *card = (tcp_card){0};
  if (getrandom(card->secret, TCP_SECRET, 0) != TCP_SECRET ||
      getrandom(&number, sizeof number, 0) != sizeof number) {
    return tcp_say("the system gives no random numbers (%s)", strerror(errno));
  }
  address_identify(card);
  if (unix_sockets && card->network[0]) {
    char name[sizeof card->local];
    snprintf(name, sizeof name, "halo-%016llx", (unsigned long long)number);
    address_place place = address_of_local(name);
    listeners->local = address_listen(&place);
    if (listeners->local >= 0) memcpy(card->local, name, sizeof name);
  }
  return address_listen_internet(listeners, card);
}

void tcp_listeners_close(tcp_listeners *listeners) {
  if (listeners->internet >= 0) close(listeners->internet);
  if (listeners->local >= 0) close(listeners->local);
  *listeners = (tcp_listeners){-1, -1};
}

/* ---- Cards ---- */

/* Bytes to and from a packed card, one after the other. */
static void address_move(uint8_t **at, void *data, size_t bytes, bool in) {
  if (in) {
    memcpy(data, *at, bytes);
  } else {
    memcpy(*at, data, bytes);
  }
  *at += bytes;
}

static void address_move_card(uint8_t *at, tcp_card *card, bool in) {
  uint8_t port[2] = {(uint8_t)card->port, (uint8_t)(card->port >> 8)};
  address_move(&at, card->secret, sizeof card->secret, in);
  address_move(&at, card->machine, sizeof card->machine, in);
  address_move(&at, card->network, sizeof card->network, in);
  address_move(&at, card->local, sizeof card->local, in);
  address_move(&at, port, sizeof port, in);
  for (int i = 0; i < TCP_ADDRESSES; i++) {
    address_move(&at, &card->addresses[i].family, 1, in);
    address_move(&at, card->addresses[i].bytes, 16, in);
  }
  card->port = (uint16_t)(port[0] | port[1] << 8);
}

static const uint8_t address_head[8] = {'h', 't', 'c', 'p', ADDRESS_VERSION, 0, 0, 0};

void tcp_card_pack(const tcp_card *card, uint8_t out[TCP_CARD]) {
  tcp_card copy = *card;
  memset(out, 0, TCP_CARD);
  memcpy(out, address_head, sizeof address_head);
  address_move_card(out + sizeof address_head, &copy, false);
}

const char *tcp_card_unpack(const uint8_t in[TCP_CARD], tcp_card *out) {
  uint8_t copy[TCP_CARD];
  memcpy(copy, in, sizeof copy);
  if (memcmp(copy, address_head, sizeof address_head) != 0) {
    return "what a process says of where it is cannot be read: do all run one version?";
  }
  address_move_card(copy + sizeof address_head, out, true);
  out->machine[sizeof out->machine - 1] = '\0';
  out->network[sizeof out->network - 1] = '\0';
  out->local[sizeof out->local - 1] = '\0';
  return NULL;
}

/* ---- Connecting ---- */

void tcp_print_address(const tcp_address *address, uint16_t port, char *text, size_t size) {
  char host[INET6_ADDRSTRLEN] = "?";
  bool four = address->family == 4;
  inet_ntop(four ? AF_INET : AF_INET6, address->bytes, host, sizeof host);
  snprintf(text, size, four ? "%s:%d" : "[%s]:%d", host, port);
}

int tcp_dial(const tcp_card *from, const tcp_card *to, int n, char *text, size_t size) {
  static const tcp_address loopback = {4, {127, 0, 0, 1}};
  bool near = from->network[0] && strcmp(from->network, to->network) == 0;
  address_place place;
  if (near && from->local[0] && to->local[0] && n-- == 0) {
    snprintf(text, size, "a socket of this machine");
    place = address_of_local(to->local);
    return address_connect(&place);
  }
  const tcp_address *address = near && n-- == 0 ? &loopback : NULL;
  if (!address && n < TCP_ADDRESSES && to->addresses[n].family) address = &to->addresses[n];
  if (!address) return -2;
  tcp_print_address(address, to->port, text, size);
  place = address_of(address, to->port);
  return address_connect(&place);
}

/* ---- Where processes meet ---- */

void tcp_describe(const struct sockaddr *socket, char *text, size_t size) {
  tcp_address address = address_from(socket);
  uint16_t port = 0;
  if (socket->sa_family == AF_INET) {
    port = ntohs(((const struct sockaddr_in *)(const void *)socket)->sin_port);
  } else if (socket->sa_family == AF_INET6) {
    port = ntohs(((const struct sockaddr_in6 *)(const void *)socket)->sin6_port);
  }
  tcp_print_address(&address, port, text, size);
}

int tcp_listen_at(const tcp_address *address, uint16_t port) {
  address_place place = address_of(address, port);
  if (address->family) return address_listen(&place);
  place = address_of(&(tcp_address){.family = 6}, port);
  int fd = address_listen(&place);
  if (fd >= 0) return fd;
  place = address_of(&(tcp_address){.family = 4}, port);
  return address_listen(&place);
}

int tcp_dial_at(const tcp_address *address, uint16_t port) {
  address_place place = address_of(address, port);
  return address_connect(&place);
}

bool tcp_is_loopback(const tcp_address *a) {
  static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (a->family == 4) return a->bytes[0] == 127;
  if (memcmp(a->bytes, mapped, sizeof mapped) == 0) return a->bytes[12] == 127;
  return a->family == 6 && memcmp(a->bytes, &in6addr_loopback, 16) == 0;
}

static const char *address_split(const char *text, char *host, size_t size, uint16_t *port) {
  const char *colon = strrchr(text, ':');
  size_t length = colon ? (size_t)(colon - text) : 0;
  if (!colon || length == 0 || length >= size || !colon[1]) {
    return tcp_say("not of the form HOST:PORT");
  }
  char *end;
  long number = strtol(colon + 1, &end, 10);
  if (*end || colon[1] < '0' || colon[1] > '9' || number < 1 || number > UINT16_MAX) {
    return tcp_say("a port is a number from 1 to 65535");
  }
  *port = (uint16_t)number;
  bool braced = text[0] == '[' && text[length - 1] == ']';
  snprintf(host, size, "%.*s", (int)length - 2 * braced, text + braced);
  return NULL;
}

const char *tcp_resolve(const char *text, tcp_place *out, bool *later) {
  char host[256];
  *out = (tcp_place){.text = text};
  *later = false;
  const char *trouble = address_split(text, host, sizeof host, &out->port);
  if (trouble) return trouble;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
  int code = getaddrinfo(host, NULL, &hints, &list);
  *later = code == EAI_AGAIN;
  if (code) return tcp_say("%s", gai_strerror(code));
  for (const struct addrinfo *i = list; i && out->count < TCP_ADDRESSES; i = i->ai_next) {
    tcp_address address = address_from(i->ai_addr);
    if (address.family) out->addresses[out->count++] = address;
  }
  freeaddrinfo(list);
  return out->count ? NULL : tcp_say("%s has no address", host);
}
