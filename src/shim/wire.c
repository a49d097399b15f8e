// One connection per host thread, blocking, strictly alternating: call, any number of requests and answers,
// reply.

#include "wire.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { kHello = 1, kCall = 2, kAnswer = 3 };
enum {
  kWelcome = 16,
  kRefuse = 17,
  kReply = 18,
  kRead = 19,
  kReadString = 20,
  kWrite = 21,
  kCopy = 22,
  kInvoke = 23,
  kResolve = 24,
  kGather = 25,
  kIntern = 26,
  kSpawn = 27,
  kPrint = 28,
  kFlush = 29,
};
enum { kRoleCaller = 0, kRoleWorker = 1 };
enum { kMaxPayload = 1 << 20, kMaxWords = 32, kMaxName = 96, kMaxPieces = 4096, kBuffer = 4096 };

struct header {
  uint32_t kind;
  uint32_t size;  // payload bytes that follow
};

struct range {
  u64 base;
  u64 size;
  u64 shared;  // 1: map the memfd here; 0: only keep the range free
};

struct piece {
  u64 address;
  u64 size;
};

struct connection {
  int fd;
  struct connection* next;
  size_t begin, end;  // unread bytes of buffer
  char buffer[kBuffer];
  char* scratch;  // payload of the request being served, grown on demand
  size_t capacity;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection* all;  // under lock
static char socket_path[sizeof(((struct sockaddr_un*)0)->sun_path)];
static bool unavailable;  // said once that there is no server
static _Thread_local struct connection* mine;

static void complain(const char* why) {
  pthread_mutex_lock(&lock);
  if (!unavailable) fprintf(stderr, "warpath: %s\n", why);
  unavailable = true;
  pthread_mutex_unlock(&lock);
}

static void close_connection(void* pointer) {
  struct connection* c = pointer;
  pthread_mutex_lock(&lock);
  for (struct connection** p = &all; *p; p = &(*p)->next) {
    if (*p == c) {
      *p = c->next;
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  close(c->fd);
  free(c->scratch);
  free(c);
  mine = NULL;
}

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&lock); }

// The child is another client: it drops every inherited connection, and its next call makes one of its own.
static void after_fork_in_child(void) {
  for (struct connection* c = all; c;) {
    struct connection* next = c->next;
    close(c->fd);
    free(c->scratch);
    free(c);
    c = next;
  }
  all = NULL;
  mine = NULL;
  pthread_setspecific(key, NULL);
  pthread_mutex_unlock(&lock);
}

static void set_up(void) {
  const char* path = getenv("WARPATH_SOCKET");
  if (path && strlen(path) < sizeof socket_path) strcpy(socket_path, path);
  pthread_key_create(&key, close_connection);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static bool send_all(int fd, struct iovec* parts, size_t count) {
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
  while (message.msg_iovlen) {
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    while (message.msg_iovlen && (size_t)sent >= message.msg_iov->iov_len) {
      sent -= (ssize_t)message.msg_iov->iov_len;
      message.msg_iov++;
      message.msg_iovlen--;
    }
    if (message.msg_iovlen) {
      message.msg_iov->iov_base = (char*)message.msg_iov->iov_base + sent;
      message.msg_iov->iov_len -= (size_t)sent;
    }
  }
  return true;
}

static bool send_frame(struct connection* c, uint32_t kind, const void* head, size_t head_size,
                       const void* data, size_t size) {
  struct header h = {kind, (uint32_t)(head_size + size)};
  struct iovec parts[3] = {{&h, sizeof h}, {(void*)head, head_size}, {(void*)data, size}};
  return send_all(c->fd, parts, 3);
}

static bool answer(struct connection* c, u64 value, const void* data, size_t size) {
  return send_frame(c, kAnswer, &value, sizeof value, data, size);
}

// Receives exactly `size` bytes; small messages come through the buffer, so that a reply costs one system
// call.
static bool receive(struct connection* c, void* to, size_t size) {
  char* out = to;
  while (size) {
    size_t ready = c->end - c->begin;
    if (ready) {
      size_t take = ready < size ? ready : size;
      memcpy(out, c->buffer + c->begin, take);
      c->begin += take;
      out += take;
      size -= take;
      continue;
    }
    bool direct = size >= kBuffer;
    ssize_t got = recv(c->fd, direct ? out : c->buffer, direct ? size : kBuffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    if (direct) {
      out += got;
      size -= (size_t)got;
    } else {
      c->begin = 0;
      c->end = (size_t)got;
    }
  }
  return true;
}

// The frame's payload with a terminating zero, in the connection's scratch memory.
static char* receive_payload(struct connection* c, size_t size) {
  if (size > kMaxPayload) return NULL;
  if (c->capacity < size + 1) {
    char* grown = realloc(c->scratch, size + 1);
    if (!grown) return NULL;
    c->scratch = grown;
    c->capacity = size + 1;
  }
  c->scratch[size] = 0;
  return receive(c, c->scratch, size) ? c->scratch : NULL;
}

static void* pointer(u64 address) { return (void*)(uintptr_t)address; }

static u64 resolve(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return driver ? (u64)(uintptr_t)dlsym(driver, name) : 0;
}

// Several small ranges in one answer, one after the other.
static bool gather(struct connection* c, const char* payload, size_t size) {
  size_t count = size / sizeof(struct piece);
  struct piece* pieces = malloc(size ? size : 1);
  struct iovec* parts = malloc((count + 2) * sizeof *parts);
  bool ok = pieces && parts && count <= kMaxPieces;
  if (ok) {
    memcpy(pieces, payload, size);
    u64 status = 0;
    struct header h = {kAnswer, sizeof status};
    parts[0] = (struct iovec){&h, sizeof h};
    parts[1] = (struct iovec){&status, sizeof status};
    for (size_t i = 0; i < count; i++) {
      parts[i + 2] = (struct iovec){pointer(pieces[i].address), pieces[i].size};
      h.size += (uint32_t)pieces[i].size;
    }
    // The system takes at most 1024 parts at once.
    for (size_t i = 0; ok && i < count + 2; i += 1024) {
      size_t some = count + 2 - i < 1024 ? count + 2 - i : 1024;
      ok = send_all(c->fd, parts + i, some);
    }
  }
  free(pieces);
  free(parts);
  return ok;
}

static struct connection* connect_server(uint32_t role);
static bool serve(struct connection* c, u64* result);

// Runs host functions for streams, as the real driver's callback thread does.
static void* worker(void* unused) {
  (void)unused;
  struct connection* c = connect_server(kRoleWorker);
  u64 result;
  if (c) serve(c, &result);
  return NULL;
}

static u64 spawn(void) {
  pthread_t thread;
  sigset_t every, old;
  sigfillset(&every);
  // A host function that crashes must end the program as it would on any other thread.
  static const int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  for (size_t i = 0; i < sizeof kCrashes / sizeof *kCrashes; ++i) sigdelset(&every, kCrashes[i]);
  pthread_sigmask(SIG_SETMASK, &every, &old);
  int error = pthread_create(&thread, NULL, worker, NULL);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (!error) pthread_detach(thread);
  return (u64)error;
}

// Carries out one request and answers it. `w` holds the leading words of the payload.
static bool obey(struct connection* c, uint32_t kind, const char* payload, size_t size) {
  u64 w[5] = {0};
  memcpy(w, payload, size < sizeof w ? size : sizeof w);
  switch (kind) {
    case kRead:
      return w[1] <= kMaxPayload && answer(c, 0, pointer(w[0]), w[1]);
    case kReadString:
      return w[1] <= kMaxPayload && answer(c, 0, pointer(w[0]), strnlen(pointer(w[0]), w[1]));
    case kWrite:
      if (size < 8) return false;
      memcpy(pointer(w[0]), payload + 8, size - 8);
      return answer(c, 0, NULL, 0);
    case kCopy:
      memmove(pointer(w[0]), pointer(w[1]), w[2]);
      return answer(c, 0, NULL, 0);
    case kInvoke:
      return answer(c, ((u64 (*)(u64, u64, u64))(uintptr_t)w[0])(w[1], w[2], w[3]), NULL, 0);
    case kResolve:
      return answer(c, resolve(payload), NULL, 0);
    case kGather:
      return gather(c, payload, size);
    case kIntern:
      return answer(c, (u64)(uintptr_t)strdup(payload), NULL, 0);
    case kSpawn:
      return answer(c, spawn(), NULL, 0);
    case kPrint:
      if (size < 8) return false;
      fwrite(payload + 8, 1, size - 8, w[0] == 2 ? stderr : stdout);
      return answer(c, 0, NULL, 0);
    case kFlush:
      fflush(stdout);  // first, since flushing all waits for a thread that reads stdin
      fflush(NULL);
      return answer(c, 0, NULL, 0);
    default:
      return false;
  }
}

// Serves requests until the reply. False when the connection is gone or what arrives makes no sense.
static bool serve(struct connection* c, u64* result) {
  for (;;) {
    struct header h;
    if (!receive(c, &h, sizeof h)) return false;
    const char* payload = receive_payload(c, h.size);
    if (!payload) return false;
    if (h.kind == kReply && h.size == sizeof *result) {
      memcpy(result, payload, sizeof *result);
      return true;
    }
    if (h.kind == kRefuse) {
      complain(payload);
      return false;
    }
    if (!obey(c, h.kind, payload, h.size)) return false;
  }
}

// Identifies the program image: the kernel's per-exec random bytes, equal in a forked child and in every
// library of the process, new after exec. Hashed, since the C library keeps secrets in them.
static u64 image_id(void) {
  const unsigned char* bytes = pointer(getauxval(AT_RANDOM));
  u64 hash = 14695981039346656037u;
  for (int i = 0; bytes && i < 16; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

// Maps what the server's welcome names; 0 or an errno.
static u64 map_ranges(const struct range* ranges, size_t count, int memory) {
  for (size_t i = 0; i < count; i++) {
    int flags = MAP_FIXED_NOREPLACE | MAP_NORESERVE;
    void* at = ranges[i].shared ? mmap(pointer(ranges[i].base), ranges[i].size, PROT_READ | PROT_WRITE,
                                       flags | MAP_SHARED, memory, 0)
                                : mmap(pointer(ranges[i].base), ranges[i].size, PROT_NONE,
                                       flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return (u64)errno;
    if (at != pointer(ranges[i].base)) return EEXIST;
    if (ranges[i].shared) madvise(at, ranges[i].size, MADV_DONTDUMP);
  }
  return 0;
}

// The welcome frame may carry the arena's memfd: its first bytes must be taken with recvmsg.
static bool take_welcome(struct connection* c) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {c->buffer, sizeof(struct header)};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got;
  do got = recvmsg(c->fd, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof(struct header)) return false;
  int memory = -1;
  struct cmsghdr* found = CMSG_FIRSTHDR(&message);
  if (found && found->cmsg_level == SOL_SOCKET && found->cmsg_type == SCM_RIGHTS)
    memcpy(&memory, CMSG_DATA(found), sizeof memory);
  struct header h;
  memcpy(&h, c->buffer, sizeof h);
  const char* payload = receive_payload(c, h.size);
  bool ok = payload && h.kind == kWelcome;
  if (payload && h.kind == kRefuse) complain(payload);
  if (ok) {
    struct range ranges[16];
    size_t count = h.size / sizeof ranges[0];
    ok = count <= 16;
    if (ok) memcpy(ranges, payload, count * sizeof ranges[0]);
    ok = ok && answer(c, map_ranges(ranges, count, memory), NULL, 0);
  }
  if (memory >= 0) close(memory);
  return ok;
}

static struct connection* connect_server(uint32_t role) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, socket_path);
  struct connection* c = calloc(1, sizeof *c);
  int fd = c && socket_path[0] ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
  if (fd < 0 || connect(fd, (struct sockaddr*)&address, sizeof address) != 0) {
    if (fd >= 0) close(fd);
    free(c);
    return NULL;
  }
  c->fd = fd;
  pthread_mutex_lock(&lock);
  c->next = all;
  all = c;
  pthread_mutex_unlock(&lock);
  struct {
    uint32_t version, library, pid, tid, role, reserved;
    u64 image;
  } hello = {WP_PROTOCOL, wp_library, (uint32_t)getpid(), (uint32_t)syscall(SYS_gettid), role, 0, image_id()};
  u64 result;
  // The server confirms the mapping with a reply, or refuses.
  if (send_frame(c, kHello, &hello, sizeof hello, NULL, 0) && take_welcome(c) && serve(c, &result)) return c;
  close_connection(c);
  return NULL;
}

static struct connection* connection(void) {
  if (mine) return mine;
  pthread_once(&once, set_up);
  if (unavailable) return NULL;
  struct connection* c = connect_server(kRoleCaller);
  if (c) {
    mine = c;
    pthread_setspecific(key, c);
  } else if (socket_path[0]) {
    complain("the warpath server is gone: CUDA calls fail from here on");
  } else {
    complain("this program uses warpath's CUDA libraries and must be started with `warpath run PROGRAM`");
  }
  return c;
}

static bool call(const char* name, const u64* words, size_t count, u64* result) {
  struct connection* c = connection();
  size_t length = strlen(name);
  if (!c || length > kMaxName || count > kMaxWords) return false;
  struct {
    struct header h;
    uint32_t words, length;
    char body[kMaxWords * sizeof(u64) + kMaxName];
  } frame;
  frame.h = (struct header){kCall, (uint32_t)(8 + count * sizeof(u64) + length)};
  frame.words = (uint32_t)count;
  frame.length = (uint32_t)length;
  memcpy(frame.body, words, count * sizeof(u64));
  memcpy(frame.body + count * sizeof(u64), name, length);
  struct iovec part = {&frame, sizeof frame.h + frame.h.size};
  if (send_all(c->fd, &part, 1) && serve(c, result)) return true;
  complain("the warpath server is gone: CUDA calls fail from here on");
  return false;
}

u64 wp_call(const char* name, const u64* words, size_t count) {
  int saved = errno;
  u64 result = WP_NOT_INITIALIZED;
  if (!call(name, words, count, &result)) result = WP_NOT_INITIALIZED;
  errno = saved;
  return result;
}

const char* wp_text(const char* name, const u64* words, size_t count) {
  int saved = errno;
  u64 result = 0;
  bool ok = call(name, words, count, &result);
  errno = saved;
  return ok && result ? pointer(result) : "initialization error (no warpath server)";
}
