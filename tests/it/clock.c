/* Loaded into a tool (LD_PRELOAD): its clock shows what a file says, and goes on when the file is empty.
 *
 *   RSV_CLOCK  the file: seconds since 1970
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    const char *path = getenv("RSV_CLOCK");
    FILE *file = clock == CLOCK_REALTIME && path ? fopen(path, "re") : NULL;
    long long seconds;
    if (file) {
        if (fscanf(file, "%lld", &seconds) == 1) *now = (struct timespec){.tv_sec = seconds};
        fclose(file);
    }
    return result;
}
