import { existsSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from '../root.ts'

/** The paths of an installation. */
export const layout = {
  /** Contains a folder for each installed version. */
  releases: '/opt/shoal/releases',
  /** A link to the folder of the version that runs. */
  current: '/opt/shoal/current',
  settings: '/etc/shoal/shoal.env',
  /** Not /var/lib/shoal, which all installations of root on the host share. */
  data: '/var/lib/shoal-data',
  backups: '/var/backups/shoal',
  command: '/usr/local/bin/shoal',
  unit: '/etc/systemd/system/shoal.service',
  socketUnit: '/etc/systemd/system/shoal.socket',
  backupUnit: '/etc/systemd/system/shoal-backup.service',
  backupTimer: '/etc/systemd/system/shoal-backup.timer',
} as const

/** The folder of the release to which this program belongs. */
export const ownRelease = root.replace(/\/$/, '')

/** Reads the version of a release. @throws Error if the folder is not a release */
export function versionOf(folder: string): string {
  const file = join(folder, 'package.json')
  const hasLauncher = existsSync(join(folder, 'bin/shoal'))
  if (!hasLauncher || !existsSync(file))
    throw new Error(`${folder} is not a release of Shoal. Unpack one, and run its bin/shoal.`)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** Returns the version to which the link `current` points; null if Shoal is not installed. */
export function installedVersion(): string | null {
  try {
    return basename(readlinkSync(layout.current))
  } catch {
    return null
  }
}

/** Atomically makes the link `current` point to a version. */
export function setCurrent(version: string): void {
  const next = `${layout.current}.next`
  rmSync(next, { force: true })
  symlinkSync(join(layout.releases, version), next)
  renameSync(next, layout.current)
}

/** Reads the settings of the installation from lines of `NAME="value"`; none if the file does not exist. */
export function readSettings(): Record<string, string> {
  if (!existsSync(layout.settings)) return {}
  const lines = readFileSync(layout.settings, 'utf8').split('\n')
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z][A-Z0-9_]*)="?(.*?)"?$/.exec(line) ?? []
      return name === undefined ? [] : [[name, value ?? '']]
    }),
  )
}
