import {
  checkBackupContent,
  readBackupContent,
  readBackupManifest,
  recoverCluster,
  relocateImages,
  runningPort,
  takenPort,
  unpackBackup,
} from '@shoal/runtime'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { keysFile, keysName, openKeyRing } from '../sealing/key-ring.ts'
import { locksDirName } from '../installation/holders.ts'
import { lockInstallation } from '../installation/installation-lock.ts'
import { BackupManifest, checkFits } from './manifest.ts'
import { dataDirEntries, installationPaths, refuseExternalDatabase, type InstallationPaths } from './paths.ts'
import type { Progress } from './progress.ts'

type RestoreOptions = { from: string; force: boolean; progress: Progress; signal: AbortSignal }

type Restored = {
  dataDir: string
  asOf: string
  holds: BackupManifest['holds']
  /** Where what was there before is now. */
  movedAside: string[]
  notes: string[]
}

const previousDataPrefix = 'before-restore-'

/** What a directory may hold and be empty: a note and the locks of ours, what file systems put there, and what an earlier restore moved aside. */
const isNothing = (name: string) =>
  ['reachable-at', 'lost+found', locksDirName].includes(name) || name.startsWith(previousDataPrefix)

/**
 * Makes the data directory what a backup holds, its database recovered and ready to start. Nothing is put in its place before all
 * of it is; what was there is moved aside, never deleted.
 * @throws Error with what is in the way, or why the backup does not fit here
 */
export async function restore(config: Config, options: RestoreOptions): Promise<Restored> {
  refuseExternalDatabase(config)
  const file = resolve(options.from)
  if (!existsSync(file)) throw new Error(`There is no ${file}.`)
  const manifest = await readManifest(file)
  await checkFits(manifest)
  const installation = await lockInstallation(config, { exclusive: true, roles: [] })
  try {
    return await restoreAlone(config, file, manifest, options)
  } finally {
    installation.release()
  }
}

async function restoreAlone(
  config: Config,
  file: string,
  manifest: BackupManifest,
  options: RestoreOptions,
): Promise<Restored> {
  const places = installationPaths(config)
  refuseRunning(config, places)
  const occupied = await nonEmptyDirs(places)
  if (occupied.length > 0 && !options.force)
    throw new Error(
      `${occupied.join(' and ')} ${occupied.length > 1 ? 'are' : 'is'} not empty. Restore into another SHOAL_DATA_DIR, or add --force to move what is there aside.`,
    )
  options.progress.step('Checking the backup')
  await checkBackupContent(file, manifest.content, options.signal)
  const staging = join(places.stateDir, `restoring-${process.pid}`)
  await mkdir(staging, { mode: 0o711 })
  try {
    options.progress.step('Unpacking')
    const leftOut = await unpackBackup(readBackupContent(file, manifest.content), staging, options.signal)
    options.progress.step('Recovering the database')
    await recoverCluster(join(staging, 'postgres'))
    await relocateImages(join(staging, 'images'), manifest.stateDir, places.stateDir)
    options.signal.throwIfAborted()
    refuseRunning(config, places)
    const movedAside = await movePreviousData(places, staging, manifest.hasKeys)
    await putInPlace(places, staging)
    const notes = await notesOf(config, places, manifest, leftOut)
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

function refuseRunning(config: Config, { stateDir }: InstallationPaths): void {
  if (runningPort(join(stateDir, 'postgres/data')) !== null)
    throw new Error(
      `The Postgres of ${config.dataDir} runs, and perhaps squids do: a server left them running. Stop them first: start npm start on this data directory and end it with Ctrl-C.`,
    )
}

async function nonEmptyDirs({ dataDir, stateDir }: InstallationPaths): Promise<string[]> {
  const occupied: string[] = []
  for (const dir of new Set([dataDir, stateDir]))
    if ((await readdir(dir)).some((name) => !isNothing(name) && name !== keysName)) occupied.push(dir)
  return occupied
}

/**
 * Within each directory, since that may be a mount, which cannot be renamed. Keys stay where they are unless the backup brings its
 * own: they are likely to be the ones it needs.
 */
async function movePreviousData(
  { dataDir, stateDir }: InstallationPaths,
  staging: string,
  bringsKeys: boolean,
): Promise<string[]> {
  const stamp = systemClock
    .now()
    .toISOString()
    .replace(/\.\d+|\W/g, '')
  const moved: string[] = []
  for (const dir of new Set([dataDir, stateDir])) {
    const isOld = (name: string) => !isNothing(name) && name !== keysName && join(dir, name) !== staging
    const names = (await readdir(dir)).filter(isOld)
    const hasKeys = existsSync(join(dir, keysName))
    if (names.length === 0 && !(hasKeys && bringsKeys)) continue
    const aside = join(dir, `${previousDataPrefix}${stamp}`)
    await mkdir(aside, { mode: 0o711 })
    for (const name of names) await rename(join(dir, name), join(aside, name))
    if (hasKeys) await (bringsKeys ? rename : copyFile)(join(dir, keysName), join(aside, keysName))
    moved.push(aside)
  }
  return moved
}

/** The database last: a directory without it is not taken for an installation. */
async function putInPlace({ dataDir, stateDir }: InstallationPaths, staging: string): Promise<void> {
  const names = (await readdir(staging)).filter((name) => name !== 'postgres')
  for (const name of [...names, 'postgres']) {
    const isOfDataDir = dataDir !== stateDir && dataDirEntries.includes(name)
    // The two may be on different file systems.
    if (isOfDataDir) await cp(join(staging, name), join(dataDir, name), { recursive: true, preserveTimestamps: true })
    else await rename(join(staging, name), join(stateDir, name))
  }
}

async function notesOf(
  config: Config,
  { stateDir }: InstallationPaths,
  manifest: BackupManifest,
  leftOut: string[],
): Promise<string[]> {
  const port = await takenPort(join(stateDir, 'postgres'))
  return [
    ...missingKeys(config, manifest),
    ...(port === null
      ? []
      : [
          `Squids look for their databases at port ${port} of this machine, which is taken, perhaps by the installation that was backed up. Stop that before the first start: these squids would write to its databases.`,
        ]),
    ...(leftOut.length === 0 ? [] : [`Links of images that lead out of them were left out: ${leftOut.length}.`]),
  ]
}

function missingKeys(config: Config, { keyIds }: BackupManifest): string[] {
  const file = keysFile(config)
  const isInFile = config.SHOAL_SECRETS_KEY === undefined
  const hasRing = !isInFile || existsSync(file)
  const known = hasRing ? openKeyRing({ keys: config.SHOAL_SECRETS_KEY, dataDir: config.dataDir }).keys() : []
  const missing = keyIds.filter((id) => !known.some((key) => key.id === id))
  if (missing.length === 0) return []
  const toFile = hasRing
    ? `add the lines of your copy to ${file}`
    : `put your copy at ${file} (mode 0600, owned by the user that runs Shoal), or set SHOAL_SECRETS_KEY`
  return [
    `The keys that seal secrets are not here (${missing.join(', ')}). Before the first start, ${isInFile ? toFile : 'add them to SHOAL_SECRETS_KEY'}. Until then the server does not start.`,
  ]
}
