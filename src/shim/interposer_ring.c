// What a doorbell announces: the new ring entries of the channel its token names, the pushbuffer segments
// they point to and, when asked for, what the copies in them read. Runs in the trap's signal handler, one
// ring at a time.

#include <string.h>

#include "interposer.h"

enum { kEntryBytes = 8, kGpPut = 0x8c };
enum { kNoChannel = 1, kNoUserd = 2, kUserdUnreadable = 3, kPutOutside = 4 };

// Methods of the copy classes that say what is read.
enum {
  kLaunchDma = 0x300,
  kInUpper = 0x400,
  kInLower = 0x404,
  kPitchIn = 0x410,
  kLength = 0x418,
  kLines = 0x41c
};

struct ring {
  uint64_t number;
  uint32_t region, offset;
  uint32_t value;
  uint32_t state;
  uint32_t client, handle;
  uint64_t ring, userd;
  uint32_t entries, put_before, put_after;
  uint32_t spare;
};

struct memory {
  uint64_t ring;
  uint32_t why, state;
  uint64_t address, asked;
};

static uint64_t count;

static void scan(struct channel* channel, const uint32_t* words, size_t n, uint64_t ring);

// Records `size` bytes in pieces; scans them for copies when they are a pushbuffer and memory is wanted.
static void record(struct channel* channel, uint64_t ring, enum why why, uint64_t address, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    uint64_t piece = size - done < kChunk ? size - done : kChunk;
    struct copy copy = wpt_copy(address + done, piece);
    struct memory body = {ring, why, copy.bytes == piece ? kReadable : kUnreadable, address + done, piece};
    struct iovec parts[] = {{&body, sizeof body}, {(void*)copy.data, copy.bytes}};
    wpt_write(kMemory, parts, 2);
    bool search = wpt_options.memory && why == kPushbuffer;
    if (search) scan(channel, (const uint32_t*)copy.data, copy.bytes / 4, ring);
    wpt_release(copy);
    done += piece;
    if (copy.bytes != piece) break;
  }
}

static void launch(struct channel* c, uint32_t flags, uint64_t ring) {
  bool transfers = (flags & 3) != 0, pitch = (flags & 0x80) != 0, fills = (flags & 0x400) != 0;
  if (!transfers || !pitch || fills) return;
  uint32_t lines = (flags & 0x200) != 0 ? c->copy_lines : 1;
  for (uint32_t i = 0; i < lines; i++) {
    record(c, ring, kCopySource, c->copy_from + (uint64_t)i * c->copy_pitch, c->copy_length);
  }
}

static void call(struct channel* c, uint32_t value, uint64_t ring) {
  if (c->method == 0) c->bound[c->subchannel] = (uint16_t)value;
  if ((c->bound[c->subchannel] & 0xff) != 0xb5) return;
  switch (c->method) {
    case kInUpper:
      c->copy_from = (uint64_t)value << 32 | (uint32_t)c->copy_from;
      break;
    case kInLower:
      c->copy_from = (c->copy_from >> 32 << 32) | value;
      break;
    case kPitchIn:
      c->copy_pitch = value;
      break;
    case kLength:
      c->copy_length = value;
      break;
    case kLines:
      c->copy_lines = value;
      break;
    case kLaunchDma:
      launch(c, value, ring);
      break;
    default:
      break;
  }
}

static void scan(struct channel* c, const uint32_t* words, size_t n, uint64_t ring) {
  for (size_t i = 0; i < n; i++) {
    uint32_t word = words[i];
    if (c->left > 0) {
      call(c, word, ring);
      c->left--;
      c->method += c->step;
      if (c->once) c->step = 0;
      continue;
    }
    uint32_t op = word >> 29, counted = word >> 16 & 0x1fff;
    c->subchannel = word >> 13 & 7;
    c->method = (word & 0xfff) << 2;
    c->step = op == 1 || op == 5 ? 4 : 0;
    c->once = op == 5;
    if (op == 4) {
      call(c, counted, ring);
    } else if (op == 1 || op == 3 || op == 5) {
      c->left = counted;
    } else if (op == 7) {
      return;
    }
  }
}

static void segments(struct channel* c, uint64_t ring, uint32_t first, uint32_t entries) {
  uint64_t at = c->ring + (uint64_t)first * kEntryBytes;
  record(c, ring, kRingEntries, at, (uint64_t)entries * kEntryBytes);
  for (uint32_t i = 0; i < entries; i++) {
    uint64_t entry;
    if (!wpt_peek(&entry, at + (uint64_t)i * kEntryBytes, sizeof entry)) return;
    uint64_t dwords = entry >> 42 & 0x1fffff, address = entry & 0xfffffffffcull;
    if (dwords != 0) record(c, ring, kPushbuffer, address, dwords * 4);
  }
}

uint64_t wpt_ring(uint32_t region, uint32_t offset, uint32_t value) {
  struct ring body = {.number = ++count, .region = region, .offset = offset, .value = value};
  struct channel* c = wpt_channel_of(value);
  uint32_t put = 0;
  if (c == NULL) {
    body.state = kNoChannel;
  } else {
    body.client = c->client;
    body.handle = c->handle;
    body.ring = c->ring;
    body.entries = c->entries;
    body.userd = wpt_userd_of(c);
    body.put_before = body.put_after = c->put;
    if (body.userd == 0) {
      body.state = kNoUserd;
    } else if (!wpt_peek(&put, body.userd + kGpPut, sizeof put)) {
      body.state = kUserdUnreadable;
    } else if (put >= c->entries) {
      body.state = kPutOutside;
    } else {
      body.put_after = put;
    }
  }
  wpt_put(kRing, &body, sizeof body);
  if (c == NULL || body.state != 0) return body.number;
  if (put < c->put) {  // the ring has wrapped
    segments(c, body.number, c->put, c->entries - c->put);
    c->put = 0;
  }
  if (put > c->put) segments(c, body.number, c->put, put - c->put);
  c->put = put;
  return body.number;
}

void wpt_rung(uint64_t number, uint64_t since_ns) {
  uint64_t body[2] = {number, wpt_now() - since_ns};
  wpt_put(kRung, body, sizeof body);
}
