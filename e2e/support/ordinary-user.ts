import { execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'

/** The uid and gid of the user, which no other user of the host has. */
const userId = 64_713

/** Shell commands that, in a mount namespace, give the user access to /dev/net/tun and an entry in /etc/passwd, which Postgres requires. */
const prepareScript = `
mount -t tmpfs none /dev/net
mknod -m 666 /dev/net/tun c 10 200
cat /etc/passwd >/dev/net/passwd
echo 'shoal-user:x:${userId}:${userId}::/:/bin/sh' >>/dev/net/passwd
mount --bind /dev/net/passwd /etc/passwd
exec setpriv --reuid ${userId} --regid ${userId} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
`

/** A user without rights, with which a test that runs as root starts a server. */
export const ordinaryUser = {
  /** Command prefix that runs a program as the user. */
  prefix: ['unshare', '--mount', '/bin/sh', '-ec', prepareScript, 'sh'],
  /** Makes the user the owner of a directory. */
  takeOver: (dir: string): void => chownSync(dir, userId, userId),
}

/** Returns why the networks of a server without root cannot be tested on this machine; null if they can. */
export function ordinaryUserObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'the tests do not run as root'
  const [program = '', ...prefix] = ordinaryUser.prefix
  const required = 'command -v pasta bwrap nft && : </dev/net/tun && exec unshare --user --net "$0" --version'
  try {
    execFileSync(program, [...prefix, '/bin/sh', '-ec', required, process.execPath], { stdio: 'pipe' })
    return null
  } catch (error) {
    return `pasta, bubblewrap, nftables, user namespaces or /dev/net/tun cannot be used here (${String(error)})`
  }
}
