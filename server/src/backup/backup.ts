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
 * Backs up the installation of this data directory to one file, with or without a running server: the database as of the end of its
 * copy, uploads, images and their toolchains. Sealed values stay sealed.
 * @throws Error if there is nothing to back up, or the file cannot be written there
 */
export async function backUp(config: Config, options: BackupOptions): Promise<Backup> {
  refuseExternalDatabase(config)
  const file = resolve(options.to)
  if (!existsSync(config.dataDir)) throw new Error(`There is nothing to back up: ${config.dataDir} does not exist.`)
  const paths = installationPaths(config)
  checkOptions(config, paths, file, options.withKeys)
  const postgresDir = join(paths.stateDir, 'postgres')
  const postgres = await startEmbeddedPostgres({ dir: postgresDir })
  try {
    const cluster = await beginClusterBackup(postgres.url('shoal'))
    try {
      const backup = await writeBackup(config, paths, file, cluster, options)
      recordBackup(config, backup)
      return backup
    } finally {
      await cluster.close()
    }
  } finally {
    // A server that started in the meantime may use Postgres now, or may even have stopped it.
    if (!postgres.wasRunning) await stopIfUnused(config, postgres)
  }
}

/** Records the backup for `/readyz`, which reports the age of the last one. */
function recordBackup({ dataDir }: Config, { file, bytes }: Backup): void {
  const record = { at: systemClock.now().toISOString(), file, bytes }
  writeFileSync(lastBackupFile(dataDir), JSON.stringify(record), { mode: 0o600 })
}

function checkOptions(config: Config, { dataDir, stateDir }: InstallationPaths, file: string, withKeys: boolean): void {
  if (!existsSync(join(stateDir, 'postgres/data/PG_VERSION')))
    throw new Error(`There is nothing to back up: ${dataDir} contains no database. Is SHOAL_DATA_DIR correct?`)
  if (config.SHOAL_SECRETS_KEY === undefined && !existsSync(keysFile(config)))
    throw new Error(`${keysFile(config)} is missing: without it, the sealed values in the database cannot be opened.`)
  if (config.SHOAL_SECRETS_KEY !== undefined && withKeys)
    throw new Error(
      'The keys are in SHOAL_SECRETS_KEY, not in a file. Keep a copy of that setting, and omit --with-keys.',
    )
  if (existsSync(file)) throw new Error(`${file} already exists. Choose another name.`)
  if ([dataDir, stateDir].some((dir) => file.startsWith(dir + sep)))
    throw new Error(`${file} is in the data directory, and would be lost together with it. Choose another directory.`)
}

async function writeBackup(
  config: Config,
  paths: InstallationPaths,
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
    yield* databaseEntries(join(paths.stateDir, 'postgres'), cluster)
    endedAt = systemClock.now().toISOString()
    options.progress.step('Copying uploads and images')
    yield* uploadEntries(paths.dataDir, uploads)
    yield* stateEntries(paths.stateDir, state)
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
    stateDir: paths.stateDir,
    keyIds,
    hasKeys: options.withKeys,
    holds: holds(),
    content,
  })
  const signal = AbortSignal.any([options.signal, cluster.lost])
  const content = await writeBackupFile(file, options.progress.track(entries()), manifest, signal)
  return { file, ...content, holds: holds(), notes: notesOf(config, options.withKeys, keyIds, state.leftOut) }
}

/** The files of the database, followed by the WAL of the changes made while they were copied. */
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
      ? `The backup contains the keys (${ids}) and the values they seal: anyone who can read it can read every secret.`
      : `The backup does not contain the keys, and its secrets cannot be opened without them: keep a copy of ${keysLocation(config)} (${ids}) in another place, and make a new copy after each rotation.`,
    ...(config.SHOAL_SQUIDS_DATABASE_URL === undefined
      ? []
      : ['The databases of squids are at SHOAL_SQUIDS_DATABASE_URL: back them up there, with pg_dumpall or pg_dump.']),
    ...(leftOut.length === 0
      ? []
      : [`${leftOut.length} files of images were skipped: a tar file cannot store their names.`]),
  ]
}
