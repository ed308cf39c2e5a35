/* A program of a few kilobytes that becomes `rsv`, the file beside it, by the name that it has: for packages that keep
 * no links, such as a wheel. scripts/release builds it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(int count, char **arguments) {
    /* The kernel gives the path of this program, also where there is no /proc. It may lead through links. */
    const char *called = (const char *)getauxval(AT_EXECFN);
    char own[PATH_MAX], program[PATH_MAX + sizeof "rsv"];
    if (count == 0 || called == NULL || realpath(called, own) == NULL) {
        fputs("rsv: error: the path of this program is unknown\nrsv: hint: call it by its path\n", stderr);
        return 2;
    }
    char *name = strrchr(own, '/') + 1;
    memcpy(program, own, (size_t)(name - own));
    strcpy(program + (name - own), "rsv");
    /* Whatever link it was called by: rsv tells its tools by their names. */
    arguments[0] = name;
    execv(program, arguments);
    fprintf(stderr, "%s: error: cannot run %s: ", name, program);
    perror(NULL);
    return 2;
}
