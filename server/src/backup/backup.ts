import {
  bufferEntry,
  clusterEntries,
  fileEntry,
  startEmbeddedPostgres,
  stateEntries,
  treeEntries,
  walEntries,
  writeBackupFile,
  type ContentSum,
  type StateSummary,
  type TarEntry,
} from '@shoal/runtime'
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { lastBackupFile } from '../health/readiness.ts'
import { keysFile, keysName, openKeyRing, keysLocation } from '../sealing/key-ring.ts'
import { stopIfUnused } from '../startup/open-app.ts'
import { beginClusterBackup, type ClusterBackup } from './cluster-store.ts'
import { type BackupManifest, platform, shoalVersion } from './manifest.ts'
import { installationPaths, refuseExternalDatabase, type InstallationPaths } from './paths.ts'
import type { Progress } from './progress.ts'

type BackupOptions = { to: string; withKeys: boolean; progress: Progress; signal: AbortSignal }

type Backup = { file: string; bytes: number; sha256: string; holds: BackupManifest['holds']; notes: string[] }

/**
 * Copies the installation of this data directory into one file, beside a server that runs or without one: the database as it is
 * when its copying ends, uploads, images and what they run with. Sealed values stay sealed.
 * @throws Error when there is nothing to back up, or nowhere to put it
 */
export async function backUp(config: Config, options: BackupOptions): Promise<Backup> {
  refuseExternalDatabase(config)
  const file = resolve(options.to)
  if (!existsSync(config.dataDir)) throw new Error(`There is nothing to back up: ${config.dataDir} does not exist.`)
  const places = installationPaths(config)
  check(config, places, file, options.withKeys)
  const postgresDir = join(places.stateDir, 'postgres')
  const postgres = await startEmbeddedPostgres({ dir: postgresDir })
  try {
    const cluster = await beginClusterBackup(postgres.url('shoal'))
    try {
      const made = await write(config, places, file, cluster, options)
      recordBackup(config, made)
      return made
    } finally {
      await cluster.close()
    }
  } finally {
    // A server that was started meanwhile may use it now, and may even have stopped it.
    if (!postgres.wasRunning) await stopIfUnused(config, postgres)
  }
}

/** For `/readyz`, which tells how old the last one is. */
function recordBackup({ dataDir }: Config, { file, bytes }: Backup): void {
  const note = { at: systemClock.now().toISOString(), file, bytes }
  writeFileSync(lastBackupFile(dataDir), JSON.stringify(note), { mode: 0o600 })
}

function check(config: Config, { dataDir, stateDir }: InstallationPaths, file: string, withKeys: boolean): void {
  if (!existsSync(join(stateDir, 'postgres/data/PG_VERSION')))
    throw new Error(`There is nothing to back up: ${dataDir} holds no database. Is SHOAL_DATA_DIR right?`)
  if (config.SHOAL_SECRETS_KEY === undefined && !existsSync(keysFile(config)))
    throw new Error(`${keysFile(config)} is missing: without it nothing opens what is sealed in the database.`)
  if (config.SHOAL_SECRETS_KEY !== undefined && withKeys)
    throw new Error('The keys are in SHOAL_SECRETS_KEY and in no file. Keep that setting apart, and leave --with-keys.')
  if (existsSync(file)) throw new Error(`${file} exists already. Choose another name.`)
  if ([dataDir, stateDir].some((dir) => file.startsWith(dir + sep)))
    throw new Error(`${file} lies in the data directory: what takes one would take the other. Choose another place.`)
}

async function write(
  config: Config,
  places: InstallationPaths,
  file: string,
  cluster: ClusterBackup,
  options: BackupOptions,
): Promise<Backup> {
  const startedAt = systemClock.now().toISOString()
  const state: StateSummary = { images: 0, tools: 0, leftOut: [] }
  const uploads = { count: 0 }
  let endedAt = startedAt
  async function* entries(): AsyncGenerator<TarEntry> {
    options.progress.step('Copying the database')
    yield* databaseEntries(join(places.stateDir, 'postgres'), cluster)
    endedAt = systemClock.now().toISOString()
    options.progress.step('Copying uploads and images')
    yield* uploadEntries(places.dataDir, uploads)
    yield* stateEntries(places.stateDir, state)
    const keys = options.withKeys ? await fileEntry(keysFile(config), keysName) : null
    if (keys) yield keys
  }
  const keyIds = openKeyRing({ keys: config.SHOAL_SECRETS_KEY, dataDir: config.dataDir })
    .keys()
    .map(({ id }) => id)
  const { postgresVersion, postgresMajor, schema, databases } = cluster.about
  const holds = () => ({ databases, images: state.images, tools: state.tools, uploads: uploads.count })
  const manifest = (content: ContentSum): BackupManifest => ({
    kind: 'shoal backup',
    format: 1,
    shoalVersion: shoalVersion(),
    schema,
    postgresVersion,
    postgresMajor,
    platform,
    startedAt,
    endedAt,
    stateDir: places.stateDir,
    keyIds,
    hasKeys: options.withKeys,
    holds: holds(),
    content,
  })
  const signal = AbortSignal.any([options.signal, cluster.lost])
  const content = await writeBackupFile(file, options.progress.track(entries()), manifest, signal)
  return { file, ...content, holds: holds(), notes: notesOf(config, options.withKeys, keyIds, state.leftOut) }
}

/** The files first, and the log of what was written meanwhile after them. */
async function* databaseEntries(postgresDir: string, cluster: ClusterBackup): AsyncGenerator<TarEntry> {
  const dataDir = join(postgresDir, 'data')
  const port = await fileEntry(join(postgresDir, 'port'), 'postgres/port')
  if (port) yield port
  yield* clusterEntries(dataDir, 'postgres/data')
  const { label, segments } = await cluster.stop()
  yield bufferEntry('postgres/data/backup_label', Buffer.from(label), 0o600, systemClock.now())
  yield* walEntries(dataDir, 'postgres/data', segments)
}

async function* uploadEntries(dataDir: string, uploads: { count: number }): AsyncGenerator<TarEntry> {
  for await (const { stats: _, ...entry } of treeEntries(join(dataDir, 'uploads'), 'uploads', isUnfinished)) {
    uploads.count += 1
    yield entry
  }
}

const isUnfinished = (name: string) => name.endsWith('.part')

function notesOf(config: Config, withKeys: boolean, keyIds: string[], leftOut: string[]): string[] {
  const ids = keyIds.join(', ')
  return [
    withKeys
      ? `The backup holds the keys (${ids}) beside what they seal: whoever reads it reads every secret.`
      : `The keys are not in the backup, and it opens nothing without them: keep a copy of ${keysLocation(config)} (${ids}) in another place, and again after each rotation.`,
    ...(config.SHOAL_SQUIDS_DATABASE_URL === undefined
      ? []
      : ['The databases of squids are at SHOAL_SQUIDS_DATABASE_URL: back them up there, with pg_dumpall or pg_dump.']),
    ...(leftOut.length === 0 ? [] : [`Left out, as no tar can hold their names: ${leftOut.length} files of images.`]),
  ]
}
