import {
  checkBackupContent,
  readBackupContent,
  readBackupManifest,
  recoverCluster,
  relocateImages,
  runningPort,
  portTakenByOther,
  unpackBackup,
} from '@shoal/runtime'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { keysFile, keysFileName, openKeyRing } from '../sealing/key-ring.ts'
import { locksDirName } from '../installation/holders.ts'
import { lockInstallation } from '../installation/installation-lock.ts'
import { clusterNames } from '../startup/open-postgres.ts'
import { BackupManifest, checkRestorable } from './manifest.ts'
import { dataDirEntries, installationPaths, rejectExternalDatabase, type InstallationPaths } from './paths.ts'
import type { ProgressReporter } from './progress.ts'

type RestoreOptions = { from: string; force: boolean; progress: ProgressReporter; signal: AbortSignal }

type Restored = {
  dataDir: string
  asOf: string
  holds: BackupManifest['holds']
  /** The directories to which existing data was moved. */
  movedAside: string[]
  notes: string[]
}

const previousDataPrefix = 'before-restore-'

/**
 * Whether an entry does not count as data: Shoal's locks and `reachable-at`, `lost+found`, the home directory that `shoal install` creates,
 * and data that an earlier restore has moved aside.
 */
const isIgnored = (name: string) =>
  ['reachable-at', 'lost+found', 'home', locksDirName].includes(name) || name.startsWith(previousDataPrefix)

/**
 * Restores a backup into the data directory, with the database recovered and ready to start. Unpacks to a staging directory first;
 * existing data is moved aside, never deleted.
 * @throws Error if there is existing data (without `force`) or a running server, or if the backup cannot be restored here
 */
export async function restore(config: Config, options: RestoreOptions): Promise<Restored> {
  rejectExternalDatabase(config)
  const file = resolve(options.from)
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`)
  const manifest = await readManifest(file)
  await checkRestorable(manifest)
  const installation = await lockInstallation(config, { exclusive: true, roles: [] })
  try {
    return await restoreLocked(config, file, manifest, options)
  } finally {
    installation.release()
  }
}

async function restoreLocked(
  config: Config,
  file: string,
  manifest: BackupManifest,
  options: RestoreOptions,
): Promise<Restored> {
  const paths = installationPaths(config)
  rejectRunning(config, paths)
  const nonEmpty = await nonEmptyDirs(paths)
  if (nonEmpty.length > 0 && !options.force)
    throw new Error(
      `${nonEmpty.join(' and ')} ${nonEmpty.length > 1 ? 'are' : 'is'} not empty. Restore into another SHOAL_DATA_DIR, or add --force to move the existing data aside.`,
    )
  options.progress.step('Checking the backup')
  await checkBackupContent(file, manifest.content, options.signal)
  const staging = join(paths.stateDir, `restoring-${process.pid}`)
  await mkdir(staging, { mode: 0o711 })
  try {
    options.progress.step('Unpacking')
    const skippedLinks = await unpackBackup(readBackupContent(file, manifest.content), staging, options.signal)
    options.progress.step('Recovering the databases')
    for (const name of clustersIn(staging)) await recoverCluster(join(staging, name))
    await relocateImages(join(staging, 'images'), manifest.stateDir, paths.stateDir)
    options.signal.throwIfAborted()
    rejectRunning(config, paths)
    const movedAside = await movePreviousData(paths, staging, manifest.hasKeys)
    await moveIntoPlace(paths, staging)
    const notes = await notesOf(config, paths, manifest, skippedLinks)
    return { dataDir: config.dataDir, asOf: manifest.endedAt, holds: manifest.holds, movedAside, notes }
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

async function readManifest(file: string): Promise<BackupManifest> {
  const parsed = BackupManifest.safeParse(await readBackupManifest(file))
  if (!parsed.success)
    throw new Error(`${file} was made by a newer Shoal than this one, or is damaged: its manifest cannot be read.`)
  return parsed.data
}

const clustersIn = (dir: string) => Object.values(clusterNames).filter((name) => existsSync(join(dir, name)))

function rejectRunning(config: Config, { stateDir }: InstallationPaths): void {
  if (clustersIn(stateDir).some((name) => runningPort(join(stateDir, name, 'data')) !== null))
    throw new Error(
      `The Postgres of ${config.dataDir}, and perhaps its squids, are still running, because a server left them running. To stop them, run npm start on this data directory and press Ctrl-C; if Shoal is installed as a service, run: shoal uninstall (it keeps the data)`,
    )
}

async function nonEmptyDirs({ dataDir, stateDir }: InstallationPaths): Promise<string[]> {
  const nonEmpty: string[] = []
  for (const dir of new Set([dataDir, stateDir]))
    if ((await readdir(dir)).some((name) => !isIgnored(name) && name !== keysFileName)) nonEmpty.push(dir)
  return nonEmpty
}

/**
 * Moves existing data within each directory, since the directory may be a mount, which cannot be renamed. Keys stay in place unless
 * the backup contains keys, since they are probably the keys that the backup needs.
 */
async function movePreviousData(
  { dataDir, stateDir }: InstallationPaths,
  staging: string,
  hasBackupKeys: boolean,
): Promise<string[]> {
  const timestamp = systemClock
    .now()
    .toISOString()
    .replace(/\.\d+|\W/g, '')
  const movedDirs: string[] = []
  for (const dir of new Set([dataDir, stateDir])) {
    const isPreviousData = (name: string) => !isIgnored(name) && name !== keysFileName && join(dir, name) !== staging
    const names = (await readdir(dir)).filter(isPreviousData)
    const hasKeys = existsSync(join(dir, keysFileName))
    if (names.length === 0 && !(hasKeys && hasBackupKeys)) continue
    const asideDir = join(dir, `${previousDataPrefix}${timestamp}`)
    await mkdir(asideDir, { mode: 0o711 })
    for (const name of names) await rename(join(dir, name), join(asideDir, name))
    if (hasKeys) await (hasBackupKeys ? rename : copyFile)(join(dir, keysFileName), join(asideDir, keysFileName))
    movedDirs.push(asideDir)
  }
  return movedDirs
}

/** Moves the control plane's database last: a directory without it does not count as an installation. */
async function moveIntoPlace({ dataDir, stateDir }: InstallationPaths, staging: string): Promise<void> {
  const names = (await readdir(staging)).filter((name) => name !== clusterNames.controlPlane)
  for (const name of [...names, clusterNames.controlPlane]) {
    const isOfDataDir = dataDir !== stateDir && dataDirEntries.includes(name)
    // The two directories may be on different file systems.
    if (isOfDataDir) await cp(join(staging, name), join(dataDir, name), { recursive: true, preserveTimestamps: true })
    else await rename(join(staging, name), join(stateDir, name))
  }
}

async function notesOf(
  config: Config,
  { stateDir }: InstallationPaths,
  manifest: BackupManifest,
  skippedLinks: string[],
): Promise<string[]> {
  const hasOwnCluster = existsSync(join(stateDir, clusterNames.squids))
  const port = await portTakenByOther(join(stateDir, hasOwnCluster ? clusterNames.squids : clusterNames.controlPlane))
  return [
    ...missingKeyNotes(config, manifest),
    ...(port === null
      ? []
      : [
          `The restored squids connect to their databases at port ${port} of this machine, which is in use, perhaps by the installation that was backed up. Stop it before the first start, or the restored squids would write to its databases.`,
        ]),
    ...(skippedLinks.length === 0
      ? []
      : [`${skippedLinks.length} links of images were skipped: they point outside their image.`]),
  ]
}

function missingKeyNotes(config: Config, { keyIds }: BackupManifest): string[] {
  const file = keysFile(config)
  const isInFile = config.SHOAL_SECRETS_KEY === undefined
  const hasKeyRing = !isInFile || existsSync(file)
  const known = hasKeyRing ? openKeyRing({ keys: config.SHOAL_SECRETS_KEY, dataDir: config.dataDir }).keys() : []
  const missing = keyIds.filter((id) => !known.some((key) => key.id === id))
  if (missing.length === 0) return []
  const fileInstruction = hasKeyRing
    ? `add the lines of your copy to ${file}`
    : `put your copy at ${file} (mode 0600, owned by the user that runs Shoal), or set SHOAL_SECRETS_KEY`
  return [
    `The keys that seal secrets are missing (${missing.join(', ')}). Before the first start, ${isInFile ? fileInstruction : 'add them to SHOAL_SECRETS_KEY'}. Until then the server does not start.`,
  ]
}
