// The largest parameter structure of each UVM request over all driver branches: requests are plain numbers
// that do not say their size. A test holds this table to src/warpath/capture/data/uvm.json.
#pragma once

#include <stdint.h>

static inline uint32_t uvm_size(uint32_t request) {
  switch (request) {
    case 0x1:  // UVM_RESERVE_VA
      return 24;
    case 0x2:  // UVM_RELEASE_VA
      return 24;
    case 0x3:  // UVM_REGION_COMMIT
      return 48;
    case 0x4:  // UVM_REGION_DECOMMIT
      return 24;
    case 0x5:  // UVM_REGION_SET_STREAM
      return 48;
    case 0x6:  // UVM_SET_STREAM_RUNNING
      return 16;
    case 0x7:  // UVM_SET_STREAM_STOPPED
      return 272;
    case 0x9:  // UVM_RUN_TEST
      return 44;
    case 0xa:  // UVM_ADD_SESSION
      return 24;
    case 0xb:  // UVM_REMOVE_SESSION
      return 8;
    case 0xc:  // UVM_ENABLE_COUNTERS
      return 908;
    case 0xd:  // UVM_MAP_COUNTER
      return 48;
    case 0xe:  // UVM_CREATE_EVENT_QUEUE
      return 40;
    case 0xf:  // UVM_REMOVE_EVENT_QUEUE
      return 12;
    case 0x10:  // UVM_MAP_EVENT_QUEUE
      return 56;
    case 0x11:  // UVM_EVENT_CTRL
      return 20;
    case 0x12:  // UVM_REGISTER_MPS_SERVER
      return 536;
    case 0x13:  // UVM_REGISTER_MPS_CLIENT
      return 16;
    case 0x14:  // UVM_GET_GPU_UUID_TABLE
      return 520;
    case 0x17:  // UVM_CREATE_RANGE_GROUP
      return 16;
    case 0x18:  // UVM_DESTROY_RANGE_GROUP
      return 16;
    case 0x19:  // UVM_REGISTER_GPU_VASPACE
      return 32;
    case 0x1a:  // UVM_UNREGISTER_GPU_VASPACE
      return 20;
    case 0x1b:  // UVM_REGISTER_CHANNEL
      return 56;
    case 0x1c:  // UVM_UNREGISTER_CHANNEL
      return 28;
    case 0x1d:  // UVM_ENABLE_PEER_ACCESS
      return 36;
    case 0x1e:  // UVM_DISABLE_PEER_ACCESS
      return 36;
    case 0x1f:  // UVM_SET_RANGE_GROUP
      return 32;
    case 0x21:  // UVM_MAP_EXTERNAL_ALLOCATION
      return 9264;
    case 0x22:  // UVM_FREE
      return 24;
    case 0x23:  // UVM_MEM_MAP
      return 24;
    case 0x24:  // UVM_DEBUG_ACCESS_MEMORY
      return 64;
    case 0x25:  // UVM_REGISTER_GPU
      return 40;
    case 0x26:  // UVM_UNREGISTER_GPU
      return 20;
    case 0x27:  // UVM_PAGEABLE_MEM_ACCESS
      return 8;
    case 0x28:  // UVM_PREVENT_MIGRATION_RANGE_GROUPS
      return 272;
    case 0x29:  // UVM_ALLOW_MIGRATION_RANGE_GROUPS
      return 272;
    case 0x2a:  // UVM_SET_PREFERRED_LOCATION
      return 40;
    case 0x2b:  // UVM_UNSET_PREFERRED_LOCATION
      return 24;
    case 0x2c:  // UVM_ENABLE_READ_DUPLICATION
      return 24;
    case 0x2d:  // UVM_DISABLE_READ_DUPLICATION
      return 24;
    case 0x2e:  // UVM_SET_ACCESSED_BY
      return 40;
    case 0x2f:  // UVM_UNSET_ACCESSED_BY
      return 40;
    case 0x33:  // UVM_MIGRATE
      return 80;
    case 0x35:  // UVM_MIGRATE_RANGE_GROUP
      return 32;
    case 0x36:  // UVM_ENABLE_SYSTEM_WIDE_ATOMICS
      return 20;
    case 0x37:  // UVM_DISABLE_SYSTEM_WIDE_ATOMICS
      return 20;
    case 0x38:  // UVM_TOOLS_INIT_EVENT_TRACKER
      return 64;
    case 0x39:  // UVM_TOOLS_SET_NOTIFICATION_THRESHOLD
      return 8;
    case 0x3a:  // UVM_TOOLS_EVENT_QUEUE_ENABLE_EVENTS
      return 16;
    case 0x3b:  // UVM_TOOLS_EVENT_QUEUE_DISABLE_EVENTS
      return 16;
    case 0x3c:  // UVM_TOOLS_ENABLE_COUNTERS
      return 16;
    case 0x3d:  // UVM_TOOLS_DISABLE_COUNTERS
      return 16;
    case 0x3e:  // UVM_TOOLS_READ_PROCESS_MEMORY
      return 40;
    case 0x3f:  // UVM_TOOLS_WRITE_PROCESS_MEMORY
      return 40;
    case 0x40:  // UVM_TOOLS_GET_PROCESSOR_UUID_TABLE
      return 24;
    case 0x41:  // UVM_MAP_DYNAMIC_PARALLELISM_REGION
      return 40;
    case 0x42:  // UVM_UNMAP_EXTERNAL
      return 40;
    case 0x43:  // UVM_TOOLS_FLUSH_EVENTS
      return 4;
    case 0x44:  // UVM_ALLOC_SEMAPHORE_POOL
      return 9248;
    case 0x45:  // UVM_CLEAN_UP_ZOMBIE_RESOURCES
      return 4;
    case 0x46:  // UVM_PAGEABLE_MEM_ACCESS_ON_GPU
      return 24;
    case 0x47:  // UVM_POPULATE_PAGEABLE
      return 24;
    case 0x48:  // UVM_VALIDATE_VA_RANGE
      return 24;
    case 0x49:  // UVM_CREATE_EXTERNAL_RANGE
      return 24;
    case 0x4a:  // UVM_MAP_EXTERNAL_SPARSE
      return 40;
    case 0x4b:  // UVM_MM_INITIALIZE
      return 8;
    case 0x4c:  // UVM_TOOLS_INIT_EVENT_TRACKER_V2
      return 56;
    case 0x4d:  // UVM_TOOLS_GET_PROCESSOR_UUID_TABLE_V2
      return 16;
    case 0x4e:  // UVM_ALLOC_DEVICE_P2P
      return 56;
    case 0x4f:  // UVM_CLEAR_ALL_ACCESS_COUNTERS
      return 4;
    case 0x50:  // UVM_DISCARD
      return 32;
    case 0x51:  // UVM_QUERY_RESIDENCY
      return 80;
    case 0x7ff:  // UVM_IS_8_SUPPORTED
      return 8;
    case 0x30000001:  // UVM_INITIALIZE
      return 16;
    default:
      return 0;
  }
}
