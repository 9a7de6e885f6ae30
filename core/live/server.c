// SPDX-License-Identifier: MIT
// Connections and requests: what is refused before anything else is looked at, and who answers the rest.
#include "live/live.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { BODY_LIMIT = 1 << 20, CONNECTIONS = 256, IDLE_SECONDS = 20, REQUEST_SECONDS = 30 };

// ---- connections: each has so long for a whole request, however slowly it sends ---------------------------------------------------------

typedef struct Connection {
  int fd;
  double since; // waited for a whole request since then; 0: there is one
  struct Connection *next;
} Connection;

static Connection *connections;

static void connected(void *context, struct MHD_Connection *c, void **of_connection,
                      enum MHD_ConnectionNotificationCode what) {
  (void)context;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    Connection *new = malloc(sizeof *new);
    if (new)
      *new = (Connection){MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, loop_now(),
                          connections};
    connections = new ? new : connections;
    *of_connection = new;
    return;
  }
  for (Connection **at = &connections; *at; at = &(*at)->next)
    if (*at == *of_connection) {
      Connection *old = *at;
      *at = old->next;
      free(old);
      return;
    }
}

static void wait_since(struct MHD_Connection *c, double since) {
  Connection *of = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
  if (of)
    of->since = since;
}

double server_deadline(void) {
  double first = 0;
  for (const Connection *c = connections; c; c = c->next)
    if (c->since > 0 && (first == 0 || c->since < first))
      first = c->since;
  return first > 0 ? first + REQUEST_SECONDS : 0;
}

void server_tick(void) {
  const double now = loop_now();
  for (Connection *c = connections; c; c = c->next)
    if (c->since > 0 && now >= c->since + REQUEST_SECONDS) {
      shutdown(c->fd, SHUT_RDWR);
      c->since = 0;
    }
}

// ---- refusals ----------------------------------------------------------------------------------------------------------------------

// "/23_shared_memory.html?token=...": sets the cookie, and leads to the same page without the token.
static enum MHD_Result let_in(struct MHD_Connection *c, const char *url) {
  char cookie[160], location[512] = "/";
  struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
  const size_t plain = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./");
  if (url[plain] == '\0' && strlen(url) < sizeof location && !strstr(url, "//"))
    snprintf(location, sizeof location, "%s", url);
  snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", guard_cookie(), guard_token());
  if (response) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, location);
  }
  return reply_send(c, MHD_HTTP_SEE_OTHER, response);
}

static enum MHD_Result shut_out(struct MHD_Connection *c, bool live) {
  static const char page[] = "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>Ferry</title>"
                             "<p>This page needs the address that <code>./ferry book --live</code> printed, with its "
                             "token. Open that address once in this browser.</p></html>\n";
  if (live)
    return reply_error(c, MHD_HTTP_FORBIDDEN,
                       "no valid token; open the address that ./ferry book --live printed once in this browser");
  return reply_text(c, MHD_HTTP_FORBIDDEN, "text/html; charset=utf-8", strdup(page), sizeof page - 1);
}

static bool declares_too_much(struct MHD_Connection *c) {
  const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return length && strtoull(length, NULL, 10) > BODY_LIMIT;
}

// True if a response was queued, or could not be (`result`).
static bool is_refused(struct MHD_Connection *c, const char *url, const char *method, enum MHD_Result *result) {
  const bool live = strncmp(url, "/live/", 6) == 0, post = strcmp(method, MHD_HTTP_METHOD_POST) == 0,
             get = strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
  const char *given = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token"), *why = NULL;
  if (!guard_host(c))
    *result = reply_error(c, MHD_HTTP_MISDIRECTED_REQUEST, "this server does not have that name (the header Host)");
  else if (!get && !(post && live))
    *result = reply_error(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET, and POST below /live/");
  else if (get && !live && guard_is_token(given))
    *result = let_in(c, url);
  else if (!guard_cookie_is_right(c))
    *result = shut_out(c, live);
  else if (live && (why = guard_live(c, post)))
    *result = reply_error(c, MHD_HTTP_FORBIDDEN, "%s", why);
  else if (declares_too_much(c))
    *result = reply_error(c, MHD_HTTP_CONTENT_TOO_LARGE, "the request is longer than 1 MiB");
  else
    return false;
  return true;
}

// ---- who answers -------------------------------------------------------------------------------------------------------------------

// "/live/jobs/12" and "/live/jobs/12/stop" with `rest` "/stop"; 0: neither.
static int job_number(const char *url, const char *rest) {
  char *end;
  if (strncmp(url, "/live/jobs/", 11) != 0 || !isdigit((unsigned char)url[11]))
    return 0;
  const long number = strtol(url + 11, &end, 10);
  return strcmp(end, rest) == 0 && number < 1000000000 ? (int)number : 0;
}

static enum MHD_Result get(Request *r, const char *url) {
  struct MHD_Connection *c = r->connection;
  if (strncmp(url, "/live/", 6) != 0)
    return url[0] == '/' ? site_page(c, url + 1)
                         : reply_error(c, MHD_HTTP_BAD_REQUEST, "the path begins with no slash");
  if (strcmp(url, "/live/state") == 0)
    return course_get_state(r);
  if (strcmp(url, "/live/predictions") == 0)
    return predictions_get(r);
  if (strcmp(url, "/live/file") == 0)
    return work_get(c);
  if (strcmp(url, "/live/events") == 0)
    return events_get(c);
  if (strncmp(url, "/live/jobs/", 11) == 0)
    return jobs_get(c, job_number(url, ""));
  return site_front_end(c, url + 6);
}

static enum MHD_Result post(Request *r, const char *url) {
  struct MHD_Connection *c = r->connection;
  char why[200];
  Json *asked = json_read(r->body ? r->body : "", r->used, why, sizeof why);
  enum MHD_Result result;
  if (r->too_long)
    result = reply_error(c, MHD_HTTP_CONTENT_TOO_LARGE, "the request is longer than 1 MiB");
  else if (!asked)
    result = reply_error(c, MHD_HTTP_BAD_REQUEST, "the body is not JSON: %s", why);
  else if (strcmp(url, "/live/file") == 0)
    result = work_post(c, asked);
  else if (strcmp(url, "/live/start") == 0)
    result = course_post_start(r, asked);
  else if (strcmp(url, "/live/predictions") == 0)
    result = predictions_post(r, asked);
  else if (strcmp(url, "/live/jobs") == 0)
    result = jobs_post(c, asked);
  else if (job_number(url, "/stop") > 0)
    result = jobs_stop(c, job_number(url, "/stop"));
  else
    result = reply_error(c, MHD_HTTP_NOT_FOUND, "there is nothing to post to");
  json_free(asked);
  return result;
}

static enum MHD_Result take_body(Request *r, const char *bytes, size_t count) {
  if (r->used + count > 2 * BODY_LIMIT)
    return MHD_NO; // ends the connection
  char *grown = r->used + count <= BODY_LIMIT ? realloc(r->body, r->used + count + 1) : NULL;
  r->too_long |= !grown;
  if (grown) {
    memcpy(grown + r->used, bytes, count);
    grown[r->used + count] = '\0';
    r->body = grown;
  }
  r->used += count;
  return MHD_YES;
}

// Called for the headers, for each part of the body, when all of it has come, and again when the answer that it waits for has.
static enum MHD_Result handle(void *context, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **of_request) {
  Request *r = *of_request;
  enum MHD_Result result;
  (void)context;
  (void)version;
  if (!r) {
    *of_request = r = calloc(1, sizeof *r);
    if (!r)
      return MHD_NO;
    r->connection = c;
    return is_refused(c, url, method, &result) ? result : MHD_YES;
  }
  if (*upload_size > 0) {
    const size_t count = *upload_size;
    *upload_size = 0;
    return take_body(r, upload, count);
  }
  wait_since(c, 0);
  if (r->status)
    return reply_json(c, r->status, &r->answer);
  return strcmp(method, MHD_HTTP_METHOD_POST) == 0 ? post(r, url) : get(r, url);
}

static void completed(void *context, struct MHD_Connection *c, void **of_request, enum MHD_RequestTerminationCode why) {
  Request *r = *of_request;
  (void)context;
  (void)why;
  wait_since(c, loop_now());
  if (r) {
    free(r->body);
    text_free(&r->answer);
    free(r);
  }
  *of_request = NULL;
}

// ---- start and end -----------------------------------------------------------------------------------------------------------------

struct MHD_Daemon *server_start(const char *address, int *port) {
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)*port)};
  const bool is_v6 = strchr(address, ':') != NULL;
  if (inet_pton(is_v6 ? AF_INET6 : AF_INET, address, is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1) {
    fprintf(stderr, "ferry book: --bind takes an address of this machine, such as 192.168.1.5, not %s\n", address);
    return NULL;
  }
  struct MHD_Daemon *daemon = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (is_v6 ? MHD_USE_IPv6 : 0), (uint16_t)*port, NULL, NULL, handle, NULL,
      MHD_OPTION_SOCK_ADDR, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4, MHD_OPTION_CONNECTION_LIMIT,
      (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_NOTIFY_COMPLETED,
      completed, NULL, MHD_OPTION_NOTIFY_CONNECTION, connected, NULL, MHD_OPTION_END);
  if (!daemon) {
    fprintf(stderr, "ferry book: nothing can listen on %s, port %d; another program may have it. Try another --port\n",
            address, *port);
    return NULL;
  }
  *port = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
  return daemon;
}
