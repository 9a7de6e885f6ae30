// SPDX-License-Identifier: MIT
// build/ferry-live: the book served to a browser on this machine. One thread and one epoll (loop.c): libmicrohttpd's connections, jobs,
// the workspace's changes. Nothing waits, and an idle server sleeps.
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "tool/print/json.h"
#include "tool/print/text.h"
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// ---- loop.c ------------------------------------------------------------------------------------------------------------

typedef struct Watch {
  int fd; // -1: not watched
  void (*ready)(struct Watch *watch, uint32_t events);
  void *owner;
} Watch;
void loop_add(Watch *watch, uint32_t events);
void loop_remove(Watch *watch); // does not close it
double loop_now(void);          // seconds on a clock that only advances
void loop_run(struct MHD_Daemon *daemon);
void loop_end(void); // makes loop_run return

// ---- guard.c: which requests are served ------------------------------------------------------------------------------------

void guard_begin(const char *address, int port); // draws the token
const char *guard_token(void);
bool guard_is_token(const char *given);
const char *guard_cookie(void);                       // its name
const char *guard_shown_host(void);                   // for the address that is printed
bool guard_host(struct MHD_Connection *c);            // the Host header names this server
bool guard_cookie_is_right(struct MHD_Connection *c); // the token is in its cookie
// For all that is not part of the book: asked by a page of this server.
const char *guard_live(struct MHD_Connection *c, bool changes); // NULL, or what is wrong

// ---- request.c ------------------------------------------------------------------------------------------------------------

// A request while it arrives, and while its answer is awaited.
typedef struct Request {
  struct MHD_Connection *connection;
  char *body;
  size_t used;
  bool too_long;
  bool waiting;    // its connection is suspended
  unsigned status; // of the answer that has come meanwhile; 0: none has
  Text answer;
} Request;
enum MHD_Result request_wait(Request *r);                       // until request_answer
void request_answer(Request *r, unsigned status, Text *answer); // JSON; takes the text

// ---- reply.c -------------------------------------------------------------------------------------------------------------

enum MHD_Result reply_text(struct MHD_Connection *c, unsigned status, const char *type, char *text,
                           size_t bytes);                                          // frees it
enum MHD_Result reply_json(struct MHD_Connection *c, unsigned status, Text *json); // frees it
enum MHD_Result reply_error(struct MHD_Connection *c, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum MHD_Result reply_send(struct MHD_Connection *c, unsigned status, struct MHD_Response *response); // releases it

// ---- beneath.c: files of one folder, and none outside of it ---------------------------------------------------------------------

enum { FILE_LIMIT = 256 << 10 }; // of what may be edited
// A regular file below `folder`, without following links below it and without hidden names; -1, with errno.
int beneath_open(const char *folder, const char *path);
// The folder that the file is in, and its name there; -1, with errno.
int beneath_open_folder(const char *folder, const char *path, const char **name);
char *beneath_read(int file, size_t most,
                   size_t *bytes); // malloc, NUL-terminated; NULL: more than `most`, or unreadable. Closes it

// ---- site.c --------------------------------------------------------------------------------------------------------------

void site_begin(const char *folder); // NULL: where make book puts it
enum MHD_Result site_page(struct MHD_Connection *c, const char *path);
enum MHD_Result site_front_end(struct MHD_Connection *c, const char *name); // core/live/page, CodeMirror

// ---- work.c: the files of the workspace ---------------------------------------------------------------------------------------------

enum MHD_Result work_get(struct MHD_Connection *c);
enum MHD_Result work_post(struct MHD_Connection *c, const Json *asked);
const char *work_folder(void);
bool work_is_source(const char *path); // one of those that are read and written here
// Of a file "work/..."; "": there is none.
void work_version(const char *path, char version[17]);

// ---- child.c: a command and all that it starts, gone when it ends, when it is stopped, and when the server ends --------------------------

typedef struct Child Child;
typedef struct ChildEvents {
  void (*output)(void *owner, const char *bytes, size_t count); // of stderr, or of both
  void (*result)(void *owner, const char *bytes, size_t count); // of stdout, if it is apart
  void (*ended)(void *owner, int status);                       // once; the child is gone then
} ChildEvents;
// `input`: a descriptor for stdin, or -1. NULL with errno.
Child *child_start(const char *const argv[], int input, bool apart, const ChildEvents *events, void *owner);
void child_stop(Child *child); // `ended` follows
void child_wait_for_all(void); // at the server's end: stops them, and waits until nothing is left

// ---- course.c: the exercises and how far they are, as ./ferry tells it ------------------------------------------------------------------

bool course_begin(void); // false after a message
// The file of an exercise ("20.1" or its id), NULL: there is none.
const char *course_file(const char *exercise);
enum MHD_Result course_get_state(Request *r);
enum MHD_Result course_post_start(Request *r, const Json *asked);
void course_checked(const char *exercise, bool passed); // by a job
const char *course_ferry(void);                         // the program

// ---- predictions.c: the questions that ./ferry predict measures, and the guesses ---------------------------------------------------------

enum MHD_Result predictions_get(Request *r);
enum MHD_Result predictions_post(Request *r, const Json *asked);

// ---- job_command.c ---------------------------------------------------------------------------------------------------------

enum { JOB_WORDS = 64 };
typedef enum JobResult { RESULT_NONE, RESULT_VALUE, RESULT_LINES, RESULT_RECORD } JobResult; // what its stdout has

typedef struct JobCommand {
  const char *argv[JOB_WORDS + 1];
  int count;
  int input; // its stdin, or -1
  JobResult result;
  char *exercise; // NULL: a text
  bool is_check;
} JobCommand;
bool job_command(JobCommand *command, const Json *asked, char *why, size_t bytes);
void job_command_free(JobCommand *command);
bool job_result_is_json(const char *text, size_t bytes, bool lines); // or a value in each line

// ---- jobs.c ---------------------------------------------------------------------------------------------------------------

enum MHD_Result jobs_post(struct MHD_Connection *c, const Json *asked);
enum MHD_Result jobs_get(struct MHD_Connection *c, int number);
enum MHD_Result jobs_stop(struct MHD_Connection *c, int number);
double jobs_deadline(void); // when jobs_tick is to be called, 0: not needed
void jobs_tick(void);

// ---- stream.c: a response that comes in parts, and whose reader may go away ---------------------------------------------------------

typedef struct Stream Stream;
// `gone`: its reader went away, or all has been sent. The stream is no more then.
Stream *stream_open(struct MHD_Connection *c, const char *type, void (*gone)(void *owner), void *owner);
void stream_add(Stream *s, const char *bytes, size_t count);
size_t stream_waiting(const Stream *s); // bytes that are not sent yet
void stream_end(Stream *s);             // after what has been added

// ---- events.c ---------------------------------------------------------------------------------------------------------------

void events_begin(void);
enum MHD_Result events_get(struct MHD_Connection *c);
void events_state(void); // progress has changed
void events_look(void);  // the workspace may have been made

// ---- server.c ---------------------------------------------------------------------------------------------------------------

struct MHD_Daemon *server_start(const char *address, int *port); // NULL after a message
double server_deadline(void);
void server_tick(void); // ends connections that send no whole request

#endif
