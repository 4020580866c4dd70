/* SPDX-License-Identifier: Apache-2.0 */
/* tcp/coordinator.c: the meeting at the coordinator as the environment describes it. */
#include "tcp/coordinator.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/memory.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* The proofs of later connections come from a nonce that went over the wire: mixed with the user's secret it is one that
 * nobody saw. */
static void coordinator_hide(const coordinator *c, uint8_t *packed) {
  tcp_card card;
  halo_hmac hmac;
  if (tcp_card_unpack(packed, &card)) return; /* which its reader will say */
  halo_hmac_init(&hmac, c->secret, strlen(c->secret));
  halo_hmac_add(&hmac, card.secret, sizeof card.secret);
  halo_hmac_end(&hmac, card.secret);
  tcp_card_pack(&card, packed);
}

static const char *coordinator_exchange(void *user, const void *mine, size_t bytes, void *all) {
  const coordinator *c = user;
  uint8_t *cards = all;
  memcpy(cards + bytes * (size_t)c->process, mine, bytes);
  if (c->count == 1) return NULL;
  const char *trouble = c->process == 0 ? coordinator_serve(c, cards) : coordinator_ask(c, cards);
  for (int p = 0; p < c->count && !trouble; p++) coordinator_hide(c, cards + bytes * (size_t)p);
  return trouble;
}

/* Without a secret anybody who can connect could take a process's place: then nobody else can connect. */
static const char *coordinator_check_secret(coordinator *c) {
  char text[80];
  if (*c->secret || halo_config_flag(HALO_CONFIG_TCP_INSECURE)) return NULL;
  int kept = 0;
  for (int i = 0; i < c->place.count; i++) {
    if (tcp_is_loopback(&c->place.addresses[i])) {
      c->place.addresses[kept++] = c->place.addresses[i];
    }
  }
  tcp_print_address(&c->place.addresses[0], c->place.port, text, sizeof text);
  c->place.count = kept;
  if (kept > 0) return NULL;
  return tcp_say(
      "%s is %s, which other machines can reach: %s must be a text that all processes "
      "have and nobody else, or %s=1 lets anybody take part",
      c->source, text, halo_config_name(HALO_CONFIG_TCP_SECRET),
      halo_config_name(HALO_CONFIG_TCP_INSECURE));
}

/* A name that cannot be looked up now may be later. */
static const char *coordinator_resolve(coordinator *c) {
  double until = halo_clock() + c->patience;
  for (;;) {
    bool later;
    const char *trouble = tcp_resolve(c->text, &c->place, &later);
    if (!trouble) return coordinator_check_secret(c);
    if (!later || halo_clock() > until) {
      return tcp_say("%s: %s", c->source, trouble);
    }
    (void)poll(NULL, 0, 200);
  }
}

static const char *coordinator_configure(coordinator *c) {
  enum { PATIENCE = 300 }; /* as long as frameworks wait for processes to start */
  const char *secret = halo_config_text(HALO_CONFIG_TCP_SECRET);
  uint64_t seconds;
  if (halo_config_number(HALO_CONFIG_COLLECTIVE_TIMEOUT, 0, &seconds) != HALO_OK) {
    return tcp_say("%s", halo_error_message());
  }
  c->limit = (double)seconds;
  c->patience = seconds ? c->limit : PATIENCE;
  c->secret = secret ? secret : "";
  const char *variable = halo_config_name(HALO_CONFIG_TCP_COORDINATOR),
             *own = halo_config_text(HALO_CONFIG_TCP_COORDINATOR);
  c->text = halo_config_coordinator();
  if (!c->text && halo_config_is_slurm_task()) {
    return tcp_say(
        "Slurm says that this is one of several tasks (SLURM_NTASKS), and not of which step "
        "on which machines (SLURM_STEP_NODELIST): %s=HOST:PORT joins them, %s=none runs "
        "each of them alone",
        variable, halo_config_name(HALO_CONFIG_COMMUNICATOR));
  }
  if (!c->text) {
    return tcp_say("%s is not set: HOST:PORT, where process 0 waits for the others", variable);
  }
  if (own && *own) {
    snprintf(c->source, sizeof c->source, "%s=%s", variable, c->text);
  } else {
    snprintf(c->source, sizeof c->source, "the first machine of Slurm's step, %s", c->text);
  }
  if (!halo_config_process(&c->process, &c->count)) {
    return tcp_say("%s and %s do not say which of how many processes this is",
                   halo_config_name(HALO_CONFIG_TCP_PROCESS),
                   halo_config_name(HALO_CONFIG_TCP_PROCESSES));
  }
  return coordinator_resolve(c);
}

const char *tcp_make(halo_communicator **out) {
  coordinator c = {.process = 0};
  const char *trouble = coordinator_configure(&c);
  halo_tcp_options options = {.process = c.process,
                              .process_count = c.count,
                              .exchange = coordinator_exchange,
                              .user = &c,
                              .timeout = c.limit};
  if (!trouble) trouble = tcp_connect(&options, true, out);
  if (trouble) trouble = tcp_say("%s", trouble); /* which may name the place */
  halo_free(c.text);
  return trouble;
}
