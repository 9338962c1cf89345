#!/bin/sh
# What the image starts: the scripts of /docker-entrypoint.d if the command is nginx, in the order of their names and numbers, then the command.
# An executable *.sh runs; an executable *.envsh is read by this shell, and may export variables. NGINX_ENTRYPOINT_QUIET_LOGS: says less.
set -e

say() { [ -n "${NGINX_ENTRYPOINT_QUIET_LOGS:-}" ] || echo "${0##*/}: $*"; }

if [ "${1:-}" = nginx ]; then
    IFS='
'
    # A mounted ConfigMap is a folder of links into another whose name begins with two dots.
    for script in $(find -L /docker-entrypoint.d -name '..*' -prune -o -type f -print | sort -V); do
        unset IFS
        case $script in
            *.envsh | *.sh) [ -x "$script" ] || { say "$script is not executable, and is left out" && continue; } ;;
            *) say "$script is neither .sh nor .envsh, and is left out" && continue ;;
        esac
        say "$script"
        # shellcheck disable=SC1090
        case $script in
            *.envsh) . "$script" ;;
            *) "$script" ;;
        esac
    done
    unset IFS
fi
exec "$@"
