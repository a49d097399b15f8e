// What the doorbell trap has to know: which mapping is a doorbell page, where a channel's ring and GP_PUT
// lie, and which token names it. Offsets are those of the public structures NVOS64, NVOS54, NVOS33 and
// NV_CHANNEL_ALLOC_PARAMS.

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "interposer.h"

enum { kAlloc = 0x2b, kMapMemory = 0x4e, kControlCall = 0x2a };
enum { kMostChannels = 1024, kMostMappings = 4096, kMostUsermode = 64 };
enum { kGetToken = 0xc36f0108u, kFirstUsermode = 0xc361 };

struct mapping {
  uint32_t client, handle;
  uint64_t address;
  uint64_t length;
};

struct pending {
  int fd;
  uint32_t client, handle;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct channel channels[kMostChannels];
static atomic_uint channel_count;
static struct mapping mappings[kMostMappings];
static atomic_uint mapping_count;
static struct pending usermode[kMostUsermode];
static unsigned usermode_count;
static struct pending pending[kMostUsermode];
static unsigned pending_count;

static uint32_t word(uint64_t address, size_t offset) {
  uint32_t value;
  memcpy(&value, (const uint8_t*)(uintptr_t)address + offset, sizeof value);
  return value;
}

static uint64_t wide(uint64_t address, size_t offset) {
  uint64_t value;
  memcpy(&value, (const uint8_t*)(uintptr_t)address + offset, sizeof value);
  return value;
}

static void add_channel(uint32_t client, uint32_t handle, uint64_t params) {
  unsigned at = atomic_load(&channel_count);
  if (at == kMostChannels) {
    wpt_note("more channels than the recorder has room for: their rings are not recorded");
    return;
  }
  size_t shift = wpt_options.wide_channel ? 4 : 0;
  channels[at] = (struct channel){.client = client, .handle = handle};
  channels[at].ring = wide(params, 8);
  channels[at].entries = word(params, 16);
  channels[at].userd_memory = word(params, 32 + shift);
  channels[at].userd_offset = wide(params, 64 + 2 * shift);
  atomic_store(&channel_count, at + 1);
}

static void on_alloc(uint64_t structure, size_t size) {
  if (size != 48 || word(structure, 40) != 0) return;  // the form that drivers use since branch 535
  uint32_t client = word(structure, 0), handle = word(structure, 8), class_id = word(structure, 12);
  uint64_t params = wide(structure, 16);
  if ((class_id & 0xff) == 0x6f && params != 0) {
    add_channel(client, handle, params);
  } else if ((class_id & 0xff) == 0x61 && class_id >= kFirstUsermode && usermode_count < kMostUsermode) {
    usermode[usermode_count++] = (struct pending){-1, client, handle};
  }
}

static void on_control(uint64_t structure) {
  if (word(structure, 8) != kGetToken || word(structure, 28) != 0 || wide(structure, 16) == 0) return;
  uint32_t client = word(structure, 0), handle = word(structure, 4);
  for (unsigned i = atomic_load(&channel_count); i-- > 0;) {
    if (channels[i].client != client || channels[i].handle != handle) continue;
    channels[i].token = word(wide(structure, 16), 0);
    channels[i].has_token = true;
    return;
  }
}

static void on_map(uint64_t structure, size_t size) {
  if (size < 52 || word(structure, 40) != 0) return;
  struct pending made = {(int)word(structure, 48), word(structure, 0), word(structure, 8)};
  for (unsigned i = 0; i < pending_count; i++) {
    if (pending[i].fd == made.fd) {
      pending[i] = made;
      return;
    }
  }
  if (pending_count < kMostUsermode) pending[pending_count++] = made;
}

void wpt_rm_done(uint32_t number, uint64_t structure, size_t size) {
  if (number != kAlloc && number != kMapMemory && number != kControlCall) return;
  if (structure == 0 || size < 32) return;
  pthread_mutex_lock(&lock);
  if (number == kAlloc) {
    on_alloc(structure, size);
  } else if (number == kMapMemory) {
    on_map(structure, size);
  } else {
    on_control(structure);
  }
  pthread_mutex_unlock(&lock);
}

uint32_t wpt_rm_mapped(int fd, uint64_t address, size_t length, bool* doorbell) {
  uint32_t handle = 0;
  *doorbell = false;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < pending_count; i++) {
    if (pending[i].fd != fd) continue;
    handle = pending[i].handle;
    unsigned at = atomic_load(&mapping_count);
    if (at < kMostMappings) {
      mappings[at] = (struct mapping){pending[i].client, handle, address, length};
      atomic_store(&mapping_count, at + 1);
    }
    for (unsigned k = 0; k < usermode_count; k++) {
      if (usermode[k].client == pending[i].client && usermode[k].handle == handle) *doorbell = true;
    }
    pending[i] = pending[--pending_count];
    break;
  }
  pthread_mutex_unlock(&lock);
  return handle;
}

// The two below run in the trap's signal handler: they take no lock and look at what is complete, newest
// first.
struct channel* wpt_channel_of(uint32_t token) {
  for (unsigned i = atomic_load(&channel_count); i-- > 0;) {
    if (channels[i].has_token && channels[i].token == token) return &channels[i];
  }
  return NULL;
}

uint64_t wpt_userd_of(const struct channel* channel) {
  for (unsigned i = atomic_load(&mapping_count); i-- > 0;) {
    const struct mapping* m = &mappings[i];
    if (m->client != channel->client || m->handle != channel->userd_memory) continue;
    return channel->userd_offset + 512 <= m->length ? m->address + channel->userd_offset : 0;
  }
  return 0;
}

void wpt_rm_forked(void) { lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }
