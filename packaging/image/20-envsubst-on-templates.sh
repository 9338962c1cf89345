#!/bin/sh
# Makes a configuration of each template: /etc/nginx/templates/a/b.conf.template becomes /etc/nginx/conf.d/a/b.conf, where ${NAME} is the
# variable of the environment. What is none there, as nginx's own variables, stays. NGINX_ENVSUBST_FILTER: a regular expression (ERE) of names to
# fill in. Without a place to write to it fails: nginx would start without its limits.
set -e

from=${NGINX_ENVSUBST_TEMPLATE_DIR:-/etc/nginx/templates}
suffix=${NGINX_ENVSUBST_TEMPLATE_SUFFIX:-.template}
to=${NGINX_ENVSUBST_OUTPUT_DIR:-/etc/nginx/conf.d}
[ -d "$from" ] || exit 0

# shellcheck disable=SC2016
names=$(env -0 | cut -z -d= -f1 | grep -zE -e "${NGINX_ENVSUBST_FILTER:-}" | sed -z 's/.*/${&}/' | tr '\0' ' ')

# The links of a mounted ConfigMap lead into a folder whose name begins with two dots.
find -L "$from" -name '..*' -prune -o -type f -name "*$suffix" -print | while IFS= read -r template; do
    name=${template#"$from"/}
    made=$to/${name%"$suffix"}
    if ! { mkdir -p "${made%/*}" && envsubst "$names" <"$template" >"$made"; }; then
        echo "${0##*/}: error: $made cannot be written; with a read-only root mount something at $to" >&2
        exit 1
    fi
    [ -n "${NGINX_ENTRYPOINT_QUIET_LOGS:-}" ] || echo "${0##*/}: $template -> $made"
done
