import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { installedVersion, layout, readSettings } from './layout.ts'
import { hasSystemd, processesFrom, systemctl, waitUntilReady } from './service.ts'

/** A temporary addition to the unit of the server, which makes the server stop the squids when it ends. */
const dropIn = '/run/systemd/system/shoal.service.d/stop.conf'
const maxStartMs = 120_000

/**
 * Stops the squids and the server, and removes everything except the data, the settings and the backups.
 * @throws Error, without removing anything, if a program cannot be stopped: it would keep running without its files
 */
export async function uninstall({ isDry, print }: { isDry: boolean; print: (line: string) => void }): Promise<void> {
  const version = installedVersion()
  const data = [...new Set([layout.data, readSettings()['SHOAL_DATA_DIR'] ?? layout.data])]
  const files = [layout.unit, layout.socketUnit, layout.backupUnit, layout.backupTimer, layout.command, '/opt/shoal']
  print(`  ${isDry ? 'would' : 'now  '}  stop the squids, Postgres and the server`)
  if (!isDry && hasSystemd() && existsSync(layout.unit)) {
    if (version !== null) await stopWithSquids(version)
    const remaining = [layout.releases, ...data].flatMap((folder) => processesFrom(folder))
    if (remaining.length > 0)
      throw new Error(
        `These processes still run: ${remaining.join(', ')}. Fix the problem that the log shows (journalctl -u shoal) and try again, or end these processes.`,
      )
    systemctl('disable', '--quiet', '--now', 'shoal.service', 'shoal-backup.timer')
  }
  for (const file of files.filter((path) => existsSync(path))) {
    print(`  ${isDry ? 'would' : 'now  '}  remove ${file}`)
    if (!isDry) rmSync(file, { recursive: true })
  }
  if (!isDry && hasSystemd()) systemctl('daemon-reload')
  print(`  kept   ${[...data, layout.settings, layout.backups].join(', ')}`)
}

/**
 * Stops the server and the squids. Squids outlive the service, so this restarts it with `SHOAL_ON_EXIT=stop`: the new server adopts the
 * squids, and stops them when the service is stopped.
 */
async function stopWithSquids(version: string): Promise<void> {
  mkdirSync(dirname(dropIn), { recursive: true })
  writeFileSync(dropIn, '[Service]\nEnvironment=SHOAL_ON_EXIT=stop\n')
  try {
    systemctl('daemon-reload')
    systemctl('restart', 'shoal.service')
    await waitUntilReady(version, maxStartMs)
    systemctl('stop', 'shoal.service')
  } finally {
    rmSync(dirname(dropIn), { recursive: true })
  }
}
