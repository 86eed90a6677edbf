import { serverOptions } from '../server.ts'

/**
 * The text of the program `bin/shoal` of a release. It uses the Node of the release, and the real path of its folder, so that commands
 * find a running server even when the link `current` points to another version.
 */
export const launcher = `#!/bin/sh
# Runs Shoal with the Node of this release: shoal serve, shoal start, or a command of the operator (shoal --help).
set -e
release=$(dirname "$(dirname "$(readlink -f "$0")")")
node=$release/node_modules/node/bin/node
# Halves the CPU time of the next start. Node ignores the cache if this user cannot write there. Squids do not get this variable.
export NODE_COMPILE_CACHE="\${NODE_COMPILE_CACHE:-$release/.compile-cache}"
case "\${1:-}" in
  start)
    # For one user on one machine: everything stops with the server, and emails are shown on a page.
    shift
    export SHOAL_ON_EXIT="\${SHOAL_ON_EXIT:-stop}" SHOAL_OUTBOX="\${SHOAL_OUTBOX:-true}"
    export SHOAL_ALLOW_SHARED_NETWORK="\${SHOAL_ALLOW_SHARED_NETWORK:-true}"
    exec "$node" ${serverOptions.join(' ')} "$release/server/src/main.ts" "$@" ;;
  serve)
    # Squids keep running when the server stops.
    shift
    export SHOAL_ON_EXIT="\${SHOAL_ON_EXIT:-keep}"
    exec "$node" ${serverOptions.join(' ')} "$release/server/src/main.ts" "$@" ;;
  install | uninstall | upgrade)
    exec "$node" "$release/scripts/install/main.ts" "$@" ;;
  *)
    exec "$node" "$release/server/src/cli.ts" "$@" ;;
esac
`
