// The largest allocation parameters of each resource manager class over all driver branches: CUDA does not
// state their size. A test holds this table to src/warpath/capture/data. A class that is not here is recorded
// without parameters.
#pragma once

#include <stdint.h>

static inline uint32_t class_size(uint32_t class_id) {
  switch (class_id) {
    case 0xc661:  // HOPPER_USERMODE_A
    case 0xc761:  // BLACKWELL_USERMODE_A
      return 2;
    case 0x0000:  // NV01_ROOT
    case 0x0001:  // NV01_ROOT_NON_PRIV
    case 0x0020:  // NV0020_GPU_MANAGEMENT
    case 0x0041:  // NV01_ROOT_CLIENT
    case 0x2080:  // NV20_SUBDEVICE_0
      return 4;
    case 0xb0b5:  // MAXWELL_DMA_COPY_A
    case 0xb2cc:  // MAXWELL_PROFILER_DEVICE
    case 0xc0b5:  // PASCAL_DMA_COPY_A
    case 0xc5b5:  // TURING_DMA_COPY_A
    case 0xc6b5:  // AMPERE_DMA_COPY_A
    case 0xc7b5:  // AMPERE_DMA_COPY_B
    case 0xc8b5:  // HOPPER_DMA_COPY_A
    case 0xc9b5:  // BLACKWELL_DMA_COPY_A
    case 0xcab5:  // BLACKWELL_DMA_COPY_B
      return 8;
    case 0x83de:  // GT200_DEBUGGER
    case 0x9067:  // FERMI_CONTEXT_SHARE_A
      return 12;
    case 0x00da:  // NV_SEMAPHORE_SURFACE
    case 0x902d:  // FERMI_TWOD_A
    case 0xa140:  // KEPLER_INLINE_TO_MEMORY_B
    case 0xc597:  // TURING_A
    case 0xc5c0:  // TURING_COMPUTE_A
    case 0xc697:  // AMPERE_A
    case 0xc6c0:  // AMPERE_COMPUTE_A
    case 0xc797:  // AMPERE_B
    case 0xc7c0:  // AMPERE_COMPUTE_B
    case 0xc997:  // ADA_A
    case 0xc9c0:  // ADA_COMPUTE_A
    case 0xcb97:  // HOPPER_A
    case 0xcbc0:  // HOPPER_COMPUTE_A
    case 0xcd40:  // BLACKWELL_INLINE_TO_MEMORY_A
    case 0xcd97:  // BLACKWELL_A
    case 0xcdc0:  // BLACKWELL_COMPUTE_A
    case 0xce97:  // BLACKWELL_B
    case 0xcec0:  // BLACKWELL_COMPUTE_B
      return 16;
    case 0xa06c:  // KEPLER_CHANNEL_GROUP_A
      return 20;
    case 0x0005:  // NV01_EVENT
    case 0x0070:  // NV01_MEMORY_VIRTUAL
    case 0x0078:  // NV01_EVENT_KERNEL_CALLBACK
    case 0x0079:  // NV01_EVENT_OS_EVENT
    case 0x007e:  // NV01_EVENT_KERNEL_CALLBACK_EX
      return 24;
    case 0x0002:  // NV01_CONTEXT_DMA
      return 32;
    case 0x0071:  // NV01_MEMORY_SYSTEM_OS_DESCRIPTOR
      return 40;
    case 0x0080:  // NV01_DEVICE_0
    case 0x90f1:  // FERMI_VASPACE_A
      return 56;
    case 0x90cd:  // NV_EVENT_BUFFER
      return 72;
    case 0x503b:  // NV50_P2P
      return 88;
    case 0x003e:  // NV01_MEMORY_SYSTEM
    case 0x0040:  // NV01_MEMORY_LOCAL_USER
    case 0x50a0:  // NV50_MEMORY_VIRTUAL
    case 0x90ce:  // NV01_MEMORY_DEVICELESS
      return 128;
    case 0x906f:  // GF100_CHANNEL_GPFIFO
    case 0xa06f:  // KEPLER_CHANNEL_GPFIFO_A
    case 0xa16f:  // KEPLER_CHANNEL_GPFIFO_B
    case 0xb06f:  // MAXWELL_CHANNEL_GPFIFO_A
    case 0xc06f:  // PASCAL_CHANNEL_GPFIFO_A
    case 0xc36f:  // VOLTA_CHANNEL_GPFIFO_A
    case 0xc46f:  // TURING_CHANNEL_GPFIFO_A
    case 0xc56f:  // AMPERE_CHANNEL_GPFIFO_A
    case 0xc86f:  // HOPPER_CHANNEL_GPFIFO_A
    case 0xc96f:  // BLACKWELL_CHANNEL_GPFIFO_A
    case 0xca6f:  // BLACKWELL_CHANNEL_GPFIFO_B
      return 376;
    default:
      return 0;
  }
}
