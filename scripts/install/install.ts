import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../server/src/config/config.ts'
import { listenAddresses } from '../../server/src/ports/listen-addresses.ts'
import { installedVersion, layout, ownRelease, readSettings, setCurrent, versionOf } from './layout.ts'
import { hasSystemd, logTail, systemctl, waitUntilReady } from './service.ts'
import { combineSettings } from './settings.ts'
import { fileStep, folderStep, releaseStep, removalStep, runSteps, userStep, type Step } from './steps.ts'
import { backupTimer, backupUnit, commandFile, serverUnit, socketUnit } from './units.ts'

export type InstallOptions = {
  /** The user that the server runs as; null: the user of the existing installation, or root if there is none. */
  user: string | null
  /** The settings to change; others keep their values. */
  settings: Record<string, string>
  isDry: boolean
  /** False: installs the service without starting it. */
  startsService: boolean
  print: (line: string) => void
}

/** The time limit for the first start, which downloads the tools for building squids. */
const maxStartMs = 300_000

/**
 * Installs the release that this program belongs to as a service of systemd, and waits until it is ready. A repeated call changes only
 * what differs.
 * @throws Error if another version is installed, a setting is invalid, or the server does not become ready
 */
export async function install({
  user: givenUser,
  settings,
  isDry,
  startsService,
  print,
}: InstallOptions): Promise<void> {
  const version = versionOf(ownRelease)
  const installed = installedVersion()
  if (installed !== null && installed !== version)
    throw new Error(
      `Version ${installed} is installed. To replace it with ${version}, run: ${ownRelease}/bin/shoal upgrade`,
    )
  if (startsService && !isDry && !hasSystemd())
    throw new Error('systemd is not process 1 of this machine. With --no-start, everything except the start is done.')
  const user = givenUser ?? installedUser() ?? 'root'
  const combined = combineSettings({ SHOAL_DATA_DIR: layout.data, ...readSettings() }, settings)
  const env = settingsFile(combined)
  const config = loadConfig(combined, layout.data)
  const sockets = socketUnit(listenAddresses(config))
  const socketStep = sockets === null ? removalStep(layout.socketUnit) : fileStep(layout.socketUnit, sockets, 0o644)
  const release = join(layout.releases, version)
  const steps: Step[] = [
    ...(user === 'root' ? [] : [userStep(user, layout.data)]),
    releaseStep(ownRelease, release),
    {
      text: `link ${layout.current} to version ${version}`,
      isDone: () => installedVersion() === version,
      run: () => setCurrent(version),
    },
    folderStep(layout.data, user === 'root' ? 0o711 : 0o755, user),
    folderStep(join(layout.data, 'home'), 0o700, user),
    folderStep(layout.backups, 0o700, user),
    fileStep(layout.settings, env, 0o600, user),
    fileStep(layout.command, commandFile(user), 0o755),
    fileStep(layout.unit, serverUnit(user, foldersOf(config.dataDir)), 0o644),
    socketStep,
    fileStep(layout.backupUnit, backupUnit(user), 0o644),
    fileStep(layout.backupTimer, backupTimer, 0o644),
  ]
  const hasOtherSockets = !socketStep.isDone()
  const hasChanged = await runSteps(steps, { isDry, print })
  if (!startsService) return
  if (isDry) return print('  would      enable and start shoal.service and shoal-backup.timer')
  if (hasChanged) systemctl('daemon-reload')
  systemctl('enable', '--quiet', 'shoal.service', 'shoal-backup.timer')
  systemctl('start', 'shoal-backup.timer')
  // While the service runs, systemd cannot open other sockets for it.
  if (hasOtherSockets) systemctl('stop', 'shoal.service')
  systemctl(hasChanged ? 'restart' : 'start', 'shoal.service')
  const problem = await waitUntilReady(version, maxStartMs)
  if (problem) throw new Error(`The server was started. ${problem}\n${logTail()}`)
  print(`Shoal ${version} is ready. Check this machine with: shoal doctor`)
}

/** Returns the path, and the one that it links to if that differs: systemd does not follow links to find mounts. */
const foldersOf = (path: string) => [...new Set([path, ...(existsSync(path) ? [realpathSync(path)] : [])])]

const settingsFile = (settings: Record<string, string>) =>
  [
    '# Settings of Shoal: see docs/operate.md. After a change: systemctl restart shoal',
    ...Object.entries(settings).map(([name, value]) => `${name}="${value}"`),
    '',
  ].join('\n')

/** Reads the user from the unit of an existing installation; null without one. */
export function installedUser(): string | null {
  if (!existsSync(layout.unit)) return null
  return /^User=(.+)$/m.exec(readFileSync(layout.unit, 'utf8'))?.[1] ?? 'root'
}
