// A program that uses the CUDA libraries in one of several ways, for the session tests. No CUDA header is needed.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern int cudaGetDeviceCount(int*);
extern int cudaSetDevice(int);
extern int cudaGetLastError(void);
extern int cudaPeekAtLastError(void);
extern const char* cudaGetErrorString(int);
extern int cudaDeviceSynchronize(void);
extern int cudaLaunchHostFunc(void*, void (*)(void*), void*);
extern int cudaMallocArray(void*, void*, size_t, size_t, unsigned);
extern int cudaMallocHost(void**, size_t);

static pthread_barrier_t barrier;

static void* per_thread(void* number) {
  long device = (long)number;
  cudaSetDevice((int)device);  // fails for all but device 0
  pthread_barrier_wait(&barrier);
  return (void*)(long)cudaPeekAtLastError();
}

static int threads(void) {
  pthread_t thread[8];
  pthread_barrier_init(&barrier, NULL, 8);
  for (long i = 0; i < 8; i++) pthread_create(&thread[i], NULL, per_thread, (void*)i);
  for (long i = 0; i < 8; i++) {
    void* error;
    pthread_join(thread[i], &error);
    printf("%ld ", (long)error);
  }
  printf("main %d\n", cudaPeekAtLastError());
  return 0;
}

static int forked(int used_before) {
  int count = 0;
  if (used_before) cudaSetDevice(5);
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    printf("child: last %d ", cudaPeekAtLastError());
    printf("count %d sync %d\n", cudaGetDeviceCount(&count), cudaDeviceSynchronize());
    exit(0);
  }
  waitpid(pid, NULL, 0);
  printf("parent: last %d\n", cudaGetLastError());
  return 0;
}

static void leave(void* code) { exit((int)(long)code); }

static void count_up(void* counter) {
  int devices;
  (*(int*)counter)++;
  if (cudaGetDeviceCount(&devices) || devices != 1) _exit(99);
}

static int callbacks(void) {
  int counter = 0;
  for (int i = 0; i < 3; i++) cudaLaunchHostFunc(NULL, count_up, &counter);
  int before = counter;
  cudaDeviceSynchronize();
  printf("before %d after %d\n", before, counter);
  return 0;
}

// Talks to the server without knowing how.
static int garbage(void) {
  int count;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, getenv("WARPATH_SOCKET"));
  for (int round = 0; round < 3; round++) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr*)&address, sizeof address);
    char noise[64];
    memset(noise, 0x11 + round * 100, sizeof noise);
    send(fd, noise, sizeof noise, MSG_NOSIGNAL);
    while (recv(fd, noise, sizeof noise, 0) > 0) {
    }
    close(fd);
  }
  printf("still served: %d\n", cudaGetDeviceCount(&count));
  return 0;
}

static int shared_memory(void) {
  char* text = NULL;
  int error = cudaMallocHost((void**)&text, 64);
  if (error) return error;
  strcat(text, " and the program");
  printf("%s\n", text);
  return 0;
}

int main(int argc, char** argv) {
  int count = 0;
  const char* what = argc > 1 ? argv[1] : "";
  int error = cudaGetDeviceCount(&count);
  if (!strcmp(what, "exit")) return atoi(argv[2]);
  if (!strcmp(what, "raise")) raise(atoi(argv[2]));
  if (!strcmp(what, "threads")) return threads();
  if (!strcmp(what, "fork")) return forked(atoi(argv[2]));
  if (!strcmp(what, "callbacks")) return callbacks();
  if (!strcmp(what, "garbage")) return garbage();
  if (!strcmp(what, "shared")) return shared_memory();
  if (!strcmp(what, "exit-in-callback")) {
    cudaLaunchHostFunc(NULL, leave, (void*)(long)atoi(argv[2]));
    cudaDeviceSynchronize();
    return 1;
  }
  if (!strcmp(what, "orphan")) {
    if (fork() == 0) {
      if (fork() == 0) {
        cudaGetDeviceCount(&count);
        sleep(1000);
      }
      _exit(0);
    }
    wait(NULL);
    usleep(50000);
    return 0;
  }
  if (!strcmp(what, "sleep")) {
    printf("asleep\n");
    fflush(stdout);
    sleep(1000);
  }
  if (!strcmp(what, "unknown")) {
    int first = cudaMallocArray(0, 0, 1, 1, 0);
    printf("%d %d %s\n", first, cudaMallocArray(0, 0, 1, 1, 0), cudaGetErrorString(cudaGetLastError()));
    return 0;
  }
  printf("%d devices, error %d, %s\n", count, error, cudaGetErrorString(error));
  return 0;
}
