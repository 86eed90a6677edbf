import { execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'

const ID = 64_713

/** Shell commands that, in a mount namespace, give the user access to /dev/net/tun and an entry in /etc/passwd, which Postgres requires. */
const PREPARE = `
mount -t tmpfs none /dev/net
mknod -m 666 /dev/net/tun c 10 200
cat /etc/passwd >/dev/net/passwd
echo 'shoal-user:x:${ID}:${ID}::/:/bin/sh' >>/dev/net/passwd
mount --bind /dev/net/passwd /etc/passwd
exec setpriv --reuid ${ID} --regid ${ID} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
`

/** A user without rights, with which a test that runs as root starts a server. */
export const ordinaryUser = {
  /** Command prefix that runs a program as the user. */
  prefix: ['unshare', '--mount', '/bin/sh', '-ec', PREPARE, 'sh'],
  takeOver: (dir: string): void => chownSync(dir, ID, ID),
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
