// SPDX-License-Identifier: MIT
// Which requests are served. The token in a cookie keeps out other programs and users of this machine; the Host header keeps out pages whose
// name was made to lead here (DNS rebinding); Origin, a header of our own and the type of the body keep out forms and scripts of other pages.
#include "live/live.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { TOKEN_BYTES = 16 };

static char token[2 * TOKEN_BYTES + 1], cookie[32], bound[64];
static int port;

void guard_begin(const char *address, int at_port) {
  unsigned char drawn[TOKEN_BYTES];
  if (getrandom(drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
    abort(); // never with a token that could be guessed
  for (int i = 0; i < TOKEN_BYTES; i++)
    snprintf(token + 2 * i, 3, "%02x", drawn[i]);
  snprintf(cookie, sizeof cookie, "ferry_%d", at_port);
  snprintf(bound, sizeof bound, strchr(address, ':') ? "[%s]" : "%s", address);
  port = at_port;
}

const char *guard_token(void) {
  return token;
}

const char *guard_cookie(void) {
  return cookie;
}

static bool is_wildcard(void) {
  return strcmp(bound, "0.0.0.0") == 0 || strcmp(bound, "[::]") == 0;
}

const char *guard_shown_host(void) {
  return is_wildcard() ? "127.0.0.1" : bound;
}

// Takes as long wherever the first difference is.
bool guard_is_token(const char *given) {
  unsigned difference = !given || strlen(given) != 2 * TOKEN_BYTES;
  for (size_t i = 0; !difference && i < 2 * TOKEN_BYTES; i++)
    difference += (unsigned char)given[i] != (unsigned char)token[i];
  return difference == 0;
}

bool guard_cookie_is_right(struct MHD_Connection *c) {
  return guard_is_token(MHD_lookup_connection_value(c, MHD_COOKIE_KIND, cookie));
}

// ---- Host ------------------------------------------------------------------------------------------------------------------

// An address as it is, which no name server has a say in.
static bool is_address(const char *host) {
  unsigned char to[sizeof(struct in6_addr)];
  char inner[64];
  const size_t length = strlen(host);
  if (length < 2 || host[0] != '[' || host[length - 1] != ']' || length >= sizeof inner)
    return inet_pton(AF_INET, host, to) == 1;
  snprintf(inner, sizeof inner, "%.*s", (int)length - 2, host + 1);
  return inet_pton(AF_INET6, inner, to) == 1;
}

static bool is_this_server(const char *host_and_port) {
  char host[128], *end;
  snprintf(host, sizeof host, "%s", host_and_port);
  char *colon = strrchr(host, ':');
  if (!colon || strtol(colon + 1, &end, 10) != port || *end || colon[1] < '1' || colon[1] > '9')
    return false;
  *colon = '\0';
  return strcmp(host, "127.0.0.1") == 0 || strcmp(host, "localhost") == 0 || strcmp(host, bound) == 0 ||
         (is_wildcard() && is_address(host));
}

bool guard_host(struct MHD_Connection *c) {
  const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
  return host && is_this_server(host);
}

// ---- who asks --------------------------------------------------------------------------------------------------------------------

static bool is_own_origin(struct MHD_Connection *c, const char *origin) {
  const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
  return strncmp(origin, "http://", 7) == 0 && host && strcmp(origin + 7, host) == 0;
}

const char *guard_live(struct MHD_Connection *c, bool changes) {
  const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
  const char *site = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");
  const char *ours = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Ferry");
  const char *type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
  if (origin ? !is_own_origin(c, origin) : changes)
    return "the request comes from another site: its Origin is not this server";
  if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
    return "the request comes from another site";
  if (changes && (!ours || strcmp(ours, "1") != 0))
    return "the header X-Ferry: 1 is missing";
  if (changes && (!type || strncasecmp(type, "application/json", 16) != 0 || (type[16] && !strchr("; ", type[16]))))
    return "the content-type is not application/json";
  return NULL;
}
