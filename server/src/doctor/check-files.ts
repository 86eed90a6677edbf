import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { days, hours } from '../clock.ts'
import { freeShare, minFreeShare, readDisk, reserveBytes } from '../health/disk.ts'
import { lastBackupFile, readLastBackup } from '../health/readiness.ts'
import { keysFile } from '../sealing/key-ring.ts'
import { clusterNames } from '../startup/open-postgres.ts'
import { failed, ok, skipped, warning, type Check, type CheckResult } from './check.ts'

/** Checks the free space of the disk with the data directory. */
export const diskCheck: Check = {
  name: 'disk',
  run: async ({ config }) => {
    const dir = nearestExisting(config.dataDir)
    const disk = await readDisk(dir)
    const share = freeShare(disk)
    const finding = `${(disk.freeBytes / 1e9).toFixed(1)} of ${(disk.sizeBytes / 1e9).toFixed(1)} GB (${(share * 100).toFixed(1)} %) are free in ${dir}`
    const remedy =
      'Free space: delete versions or old backups, or builds/cache in the data directory while the server is stopped.'
    if (share < minFreeShare) return [failed('disk', `${finding}; programs fail to write`, remedy)]
    const reserve = reserveBytes(disk, config)
    return [
      disk.freeBytes < reserve
        ? failed('disk', `${finding}; deployments are refused below ${config.SHOAL_DISK_RESERVE_PERCENT} %`, remedy)
        : disk.freeBytes < 2 * reserve
          ? warning('disk', `${finding}; deployments are refused below ${config.SHOAL_DISK_RESERVE_PERCENT} %`, remedy)
          : ok('disk', finding),
    ]
  },
}

const nearestExisting = (dir: string): string => (existsSync(dir) ? dir : nearestExisting(dirname(dir)))

/** Checks that files with keys and passwords can be read by their owner only, and that the keys exist if a database exists. */
export const keysCheck: Check = {
  name: 'keys',
  run: ({ config, stateDir }) => {
    const files = [
      ...(config.SHOAL_SECRETS_KEY === undefined ? [keysFile(config)] : []),
      ...Object.values(clusterNames).map((name) => join(stateDir, name, 'password')),
      config.SHOAL_REGISTRY_AUTH_FILE,
      config.SHOAL_KUBECONFIG,
      config.SHOAL_KUBE_PULL_AUTH_FILE,
    ].filter((file) => file !== undefined)
    const results = files.flatMap((file) => checkMode(file))
    const hasDatabase = existsSync(join(stateDir, clusterNames.controlPlane, 'password'))
    if (config.SHOAL_SECRETS_KEY === undefined && hasDatabase && !existsSync(keysFile(config)))
      results.push(
        failed(
          'keys',
          `${keysFile(config)} is missing: secrets in the database cannot be opened`,
          'Restore it from your copy.',
        ),
      )
    if (config.SHOAL_SECRETS_KEY !== undefined) results.push(ok('keys', 'in SHOAL_SECRETS_KEY'))
    return Promise.resolve(results.length > 0 ? results : [ok('keys', 'are created at the first start')])
  },
}

function checkMode(file: string): CheckResult[] {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode
  if (mode === undefined) return []
  const text = (mode & 0o777).toString(8).padStart(4, '0')
  return [
    (mode & 0o077) === 0
      ? ok('keys', `${file} has mode ${text}`)
      : failed('keys', `${file} has mode ${text}: other users of this machine can read it`, `chmod 600 ${file}`),
  ]
}

/** Checks the age of the last backup that `shoal backup` made. */
export const backupCheck: Check = {
  name: 'backup',
  run: ({ config, clock }) => {
    if (config.DATABASE_URL !== undefined)
      return Promise.resolve([skipped('backup', 'Postgres is external (DATABASE_URL): back it up with its own tools')])
    const remedy = 'Run shoal backup --to <file> on a timer, to another disk (docs/operate.md, Backups).'
    const file = lastBackupFile(config.dataDir)
    if (!existsSync(file)) return Promise.resolve([warning('backup', 'no backup exists', remedy)])
    const at = readLastBackup(config.dataDir)
    if (at === null) return Promise.resolve([failed('backup', `${file} cannot be read`, remedy)])
    const ageMs = clock.now().getTime() - at.getTime()
    const finding = `the last one was made ${(ageMs / hours(1)).toFixed(1)} hours ago, at ${at.toISOString()}`
    const result =
      // Backups are expected daily, with two hours of tolerance.
      ageMs > days(7)
        ? failed('backup', finding, remedy)
        : ageMs > hours(26)
          ? warning('backup', finding, remedy)
          : ok('backup', finding)
    return Promise.resolve([result])
  },
}
