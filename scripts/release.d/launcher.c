/* A program of a few kilobytes that becomes `rsv`, the file beside it, by the name that it has: for packages that keep
 * no links, such as a wheel. scripts/release builds it. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
    char own[PATH_MAX], program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - sizeof "rsv");
    char *name = NULL;
    if (length > 0 && count > 0) {
        own[length] = '\0';
        memcpy(program, own, (size_t)length + 1);
        name = strrchr(own, '/');
    }
    if (name == NULL) {
        fputs("rsv: error: cannot find rsv: the path of this program is unknown\n", stderr);
        return 2;
    }
    strcpy(program + (name + 1 - own), "rsv");
    /* Whatever link it was called by: rsv tells its tools by their names. */
    arguments[0] = name + 1;
    execv(program, arguments);
    fprintf(stderr, "%s: error: cannot run %s: ", arguments[0], program);
    perror(NULL);
    return 2;
}
