import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { ListenAddress } from '../../server/src/ports/listen-addresses.ts'
import { layout } from './layout.ts'

/**
 * Capabilities that neither the server nor a squid needs. The unit has no options such as ProtectSystem, because they give the service
 * its own mount namespace: a restarted server could not see the disks and networks of the squids that keep running.
 */
const droppedCapabilities = [
  'CAP_SYS_MODULE',
  'CAP_SYS_RAWIO',
  'CAP_SYS_BOOT',
  'CAP_SYS_TIME',
  'CAP_SYSLOG',
  'CAP_BPF',
  'CAP_PERFMON',
  'CAP_MAC_ADMIN',
  'CAP_MAC_OVERRIDE',
  'CAP_WAKE_ALARM',
  'CAP_AUDIT_CONTROL',
  'CAP_AUDIT_READ',
  'CAP_IPC_LOCK',
  'CAP_SYS_TTY_CONFIG',
  'CAP_SYS_PACCT',
]

const userLine = (user: string) => (user === 'root' ? '' : `User=${user}\n`)

const environment = `Environment=HOME=${layout.data}/home
EnvironmentFile=${layout.settings}
WorkingDirectory=${layout.data}`

/** Returns the line with which systemd mounts the disks of these paths before it starts the unit, and does not start it without them. */
const mountsLine = (paths: string[]) =>
  `RequiresMountsFor=${paths.map((path) => `"${path.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`).join(' ')}`

/**
 * Returns the unit of the server. When the server stops, squids and the embedded Postgres keep running; the next start adopts them.
 * @param dataFolders the paths of the data directory: SHOAL_DATA_DIR, and the folder that it links to
 */
export const serverUnit = (user: string, dataFolders: string[]): string => `[Unit]
Description=Shoal, a cloud for squids
After=network-online.target time-sync.target
Wants=network-online.target
# The disks of the data directory and of its Postgres. The server can start without the disk of squids' Postgres.
${mountsLine(dataFolders.map((folder) => join(folder, 'postgres')))}
StartLimitIntervalSec=0

[Service]
Type=exec
${userLine(user)}${environment}
ExecStart=${layout.current}/bin/shoal serve
Sockets=shoal.socket
Restart=always
RestartSec=2
# Only the server: squids and Postgres keep running.
KillMode=process
TimeoutStopSec=60
LimitNOFILE=1048576
LimitNPROC=infinity
TasksMax=infinity
NoNewPrivileges=yes
CapabilityBoundingSet=~${droppedCapabilities.join(' ')}
LockPersonality=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
KeyringMode=private

[Install]
WantedBy=multi-user.target
`

/**
 * Returns the unit with which systemd keeps the server's ports open during a restart; connections wait for the restarted server. Returns
 * null without an address that systemd can listen on: it does not resolve names.
 */
export function socketUnit(addresses: ListenAddress[]): string | null {
  const streams = addresses.filter(canOpen).map(({ host, port }) => `ListenStream=${streamOf(host, port)}`)
  if (streams.length === 0) return null
  return `[Unit]
Description=Ports of Shoal
# The service starts and stops them with itself, and a restart of the service keeps them.
StopPropagatedFrom=shoal.service
# The addresses may belong to a network that is not up when systemd opens other sockets.
DefaultDependencies=no
After=network-online.target
Conflicts=shutdown.target
Before=shutdown.target

[Socket]
${streams.join('\n')}
Backlog=4096
`
}

const canOpen = ({ host, port }: ListenAddress): boolean =>
  port !== 0 && (host === undefined || isIP(host) !== 0) && (host !== '::1' || hasLoopback6())

/** One address that cannot be opened would prevent the others from being opened. */
const hasLoopback6 = () =>
  Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'))

function streamOf(host: string | undefined, port: number): string {
  if (host === undefined) return String(port)
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/** Returns the unit that writes a backup to a new file, and then, only if that succeeds, deletes backups older than 14 days. */
export const backupUnit = (user: string): string => `[Unit]
Description=Backup of Shoal
${mountsLine([layout.backups])}

[Service]
Type=oneshot
${userLine(user)}${environment}
ExecStart=/bin/sh -c '${layout.current}/bin/shoal backup --to "${layout.backups}/shoal-$$(date +%%F-%%H%%M%%S).tar"'
ExecStart=/usr/bin/find ${layout.backups} -name 'shoal-*.tar' -mtime +14 -delete
UMask=0077
`

/** The unit that makes a backup every night. */
export const backupTimer = `[Unit]
Description=Nightly backup of Shoal

[Timer]
OnCalendar=*-*-* 03:17:00
Persistent=true

[Install]
WantedBy=timers.target
`

/** Returns the text of the command `shoal`, which uses the settings and the user of the installation. */
export const commandFile = (user: string): string => `#!/bin/sh
# Runs a command on this machine's installation of Shoal, with its settings.
set -e
case "\${1:-}" in
  install | uninstall | upgrade) exec ${layout.current}/bin/shoal "$@" ;;
esac
set -a
. ${layout.settings}
set +a
export HOME=${layout.data}/home
${user === 'root' ? '' : `[ "$(id -un)" = ${user} ] || exec runuser -u ${user} -- ${layout.current}/bin/shoal "$@"\n`}exec ${layout.current}/bin/shoal "$@"
`
