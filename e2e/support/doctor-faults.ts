import type { DebianContainer } from '../../scripts/debian/container.ts'
import type { InstallContainer } from './install-pages.ts'

export type CheckResult = { name: string; status: string; finding: string; remedy: string | null }

/** A fault of an installation on Debian. */
export type Fault = {
  name: string
  /** The checks that must then report a problem. */
  checks: string[]
  /** Other checks that may also report a problem, because they depend on the same thing. */
  consequences?: string[]
  /** Shell commands that cause the fault, and that end it. */
  commands?: (container: InstallContainer) => string
  restore?: string
  /** Shell commands that cause the fault for the doctor only, in a separate mount namespace. */
  inDoctor?: string
  /** Arguments of `env` for the doctor: `NAME=value` replaces a setting of the installation, `-u NAME` removes one. */
  env?: string
}

/** Runs the doctor with the settings of the installation. */
export async function doctorReport(
  debian: DebianContainer,
  { inDoctor = '', env = '' }: Pick<Fault, 'inDoctor' | 'env'> = {},
): Promise<CheckResult[]> {
  const script = `set -ae\n. /etc/shoal/shoal.env\n${inDoctor}\nexec env ${env} /opt/shoal/current/bin/shoal doctor --json`
  const output = await debian.run(
    `cat > /tmp/doctor <<'END_OF_SCRIPT'\n${script}\nEND_OF_SCRIPT\nunshare --mount sh /tmp/doctor 2>/tmp/doctor.err || cat /tmp/doctor.err >&2`,
  )
  try {
    return (JSON.parse(output) as { checks: CheckResult[] }).checks
  } catch (error) {
    throw new Error(`The doctor printed no report:\n${output}`, { cause: error })
  }
}

const ranks: Record<string, number> = { warning: 1, failed: 2 }
const worstRank = (results: CheckResult[], name: string) =>
  Math.max(...results.filter((result) => result.name === name).map(({ status }) => ranks[status] ?? 0))

/** Returns the first problem of each check whose worst result is worse than before. */
export function worsened(before: CheckResult[], now: CheckResult[]): CheckResult[] {
  const names = [...new Set(now.map(({ name }) => name))]
  const worse = names.filter((name) => worstRank(now, name) > Math.max(worstRank(before, name), 0))
  return worse.flatMap((name) => now.find((result) => result.name === name && result.status !== 'ok') ?? [])
}

const server = '$(systemctl show shoal --property=MainPID --value)'
const node = '/opt/shoal/current/node_modules/node/bin/node'

/** Starts an HTTP server on a port, in Node, and waits until it responds. */
const serve = (unit: string, port: number, handler: string) =>
  `systemd-run --quiet --unit=${unit} ${node} -e 'require("http").createServer((req, res) => ${handler}).listen(${port}, "127.0.0.1")'; until curl -s -o /dev/null http://127.0.0.1:${port}; do sleep 0.1; done`

/** Sends a signal to the process that accepts connections of an embedded Postgres. */
const signalPostgres = (signal: string, cluster: string) =>
  `kill -${signal} $(head -n 1 $(find /var/lib -path "*/${cluster}/*postmaster.pid"))`

const reject = (port: string) =>
  `nft add table inet broken; nft add chain inet broken out '{ type filter hook output priority 0; }'; nft add rule inet broken out tcp dport ${port} reject with tcp reset`
const accept = 'nft delete table inet broken'

const wrongClock = `res.setHeader("date", new Date(Date.now() - 3600000).toUTCString()).end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: "0x1" }))`

const kubeconfig = JSON.stringify({
  clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  users: [{ name: 'u', user: {} }],
  'current-context': 'x',
})

/** Mounts a small full disk as the data directory, with the same files. */
const fullDisk = `mount -t tmpfs -o size=8m tmpfs /mnt
for entry in $(ls -A /var/lib/shoal-data); do
  if [ -d "/var/lib/shoal-data/$entry" ]; then mkdir "/mnt/$entry"; else touch "/mnt/$entry"; fi
  mount --bind "/var/lib/shoal-data/$entry" "/mnt/$entry"
done
dd if=/dev/zero of=/mnt/full bs=64k 2>/dev/null || true
mount --rbind /mnt /var/lib/shoal-data`

const dropIns = '/run/systemd/system/shoal.service.d'

/** Faults that each check must report. The server is running when each fault begins. */
export const faults: Fault[] = [
  {
    name: 'the server is stopped',
    checks: ['server'],
    // The server itself serves the certificates.
    consequences: ['certificates'],
    commands: () => 'systemctl stop shoal',
    restore: 'systemctl start shoal',
  },
  {
    name: 'the server does not respond',
    checks: ['server', 'ports'],
    consequences: ['certificates'],
    commands: () => `kill -STOP ${server}`,
    restore: `kill -CONT ${server}`,
  },
  {
    name: 'another program uses a port of the server',
    checks: ['ports'],
    consequences: ['server', 'certificates'],
    commands: () => `systemctl stop shoal; ${serve('other', 4000, 'res.end("other")')}`,
    restore: 'systemctl stop other; systemctl start shoal',
  },
  {
    name: 'the server hangs when it starts, while systemd has its ports open',
    checks: ['server', 'ports'],
    consequences: ['certificates'],
    commands:
      () => `mkdir -p ${dropIns}; printf '[Service]\\nExecStart=\\nExecStart=/bin/sleep infinity\\n' > ${dropIns}/hang.conf
      systemctl daemon-reload; systemctl restart shoal`,
    restore: `rm -r ${dropIns}; systemctl daemon-reload; systemctl restart shoal`,
  },
  {
    name: 'the limit of the server’s open files is too low',
    checks: ['limits'],
    commands: () => `prlimit --pid ${server} --nofile=1024:1024`,
    restore: 'systemctl restart shoal',
  },
  { name: 'the disk is full', checks: ['disk'], inDoctor: fullDisk },
  {
    name: 'the clock of another server differs by an hour',
    checks: ['clock'],
    commands: () =>
      `${serve('clock', 4999, wrongClock)}; echo '{"chains":{"clock":{"upstreams":[{"url":"http://127.0.0.1:4999"}]}}}' > /tmp/rpc.json`,
    env: 'SHOAL_RPC_CONFIG=/tmp/rpc.json',
    restore: 'systemctl stop clock',
  },
  {
    name: 'the Postgres of Shoal does not respond',
    checks: ['Postgres of Shoal'],
    consequences: ['server'],
    commands: () => signalPostgres('STOP', 'postgres'),
    restore: signalPostgres('CONT', 'postgres'),
  },
  {
    name: 'the Postgres of squids does not respond',
    checks: ['Postgres of squids'],
    consequences: ['server'],
    commands: () => signalPostgres('STOP', 'postgres-squids'),
    restore: signalPostgres('CONT', 'postgres-squids'),
  },
  {
    name: 'the Postgres of logs does not respond',
    checks: ['Postgres of logs'],
    env: 'SHOAL_LOGS_DATABASE_URL=postgres://a:b@127.0.0.1:1/logs',
  },
  {
    name: 'other users can read the key',
    checks: ['keys'],
    commands: () => 'chmod 644 /var/lib/shoal-data/secrets.key',
    restore: 'chmod 600 /var/lib/shoal-data/secrets.key',
  },
  {
    name: 'the mail server rejects connections',
    checks: ['mail'],
    commands: ({ mailUrl }) => reject(new URL(mailUrl).port),
    restore: accept,
  },
  {
    name: 'the node of a chain rejects connections',
    checks: ['RPC nodes'],
    commands: ({ chain }) => reject(chain.port),
    restore: accept,
  },
  {
    name: 'the last backup is old',
    checks: ['backup'],
    commands: () =>
      `cd /var/lib/shoal-data; cp last-backup.json /tmp; echo '{"at":"2001-01-01T00:00:00.000Z"}' > last-backup.json`,
    restore: 'cp /tmp/last-backup.json /var/lib/shoal-data/',
  },
  {
    name: 'the doctor does not trust the authority that signed the certificates',
    checks: ['certificates'],
    env: '-u NODE_EXTRA_CA_CERTS',
  },
  { name: 'the registry does not respond', checks: ['registry'], env: 'SHOAL_REGISTRY=127.0.0.1:1' },
  {
    name: 'the bucket does not respond',
    checks: ['S3'],
    env: 'SHOAL_S3_BUCKET=bucket SHOAL_S3_ENDPOINT=http://127.0.0.1:1 SHOAL_S3_ACCESS_KEY=a SHOAL_S3_SECRET_KEY=s',
  },
  {
    name: 'the cluster does not respond',
    checks: ['Kubernetes'],
    // A cluster needs a registry, and a Postgres that pods can reach.
    consequences: ['registry', 'Postgres of squids'],
    commands: () => `echo '${kubeconfig}' > /tmp/kubeconfig; chmod 600 /tmp/kubeconfig`,
    env: 'SHOAL_REGISTRY=127.0.0.1:1 SHOAL_RUNTIME=kubernetes SHOAL_KUBECONFIG=/tmp/kubeconfig SHOAL_KUBE_GATEWAYS=10.0.0.1 SHOAL_SQUIDS_DATABASE_URL=postgres://a:b@10.0.0.2/c',
  },
]

/** Makes a program unusable. */
const hide = (program: string) => `mount --bind /dev/null "$(readlink -f "$(command -v ${program})")"`

/** Faults of the squids' protections. While no worker runs, the doctor checks the protections itself. */
export const hostFaults: Fault[] = [
  { name: 'bubblewrap does not work', checks: ['sandbox'], inDoctor: hide('bwrap') },
  {
    name: 'cgroups cannot be created',
    checks: ['cgroups'],
    inDoctor: 'for folder in /sys/fs/cgroup/*/ /sys/fs/cgroup; do mount -o remount,bind,ro "$folder" || true; done',
  },
  { name: 'nftables does not work', checks: ['network of squids'], inDoctor: hide('nft') },
  { name: 'no disk can be created for squids', checks: ['disk of squids'], inDoctor: hide('mkfs.ext4') },
  {
    name: 'programs cannot run as other users',
    checks: ['users of squids'],
    // Both need separate users.
    consequences: ['network of squids', 'disk of squids'],
    inDoctor: hide('setpriv'),
  },
]
