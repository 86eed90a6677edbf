import {
  bufferEntry,
  clusterEntries,
  fileEntry,
  stateEntries,
  treeEntries,
  walEntries,
  writeBackupFile,
  type ContentChecksum,
  type StateSummary,
  type TarEntry,
} from '@shoal/runtime'
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { lastBackupFile } from '../health/readiness.ts'
import { keysFile, keysFileName, openKeyRing, keysLocation } from '../sealing/key-ring.ts'
import { createLog } from '../startup/log.ts'
import { clusterNames, openPostgres } from '../startup/open-postgres.ts'
import { beginClusterBackup, readSchema, type ClusterBackup } from './cluster-store.ts'
import { shoalVersion } from '../installation/version.ts'
import { type BackupManifest, platform } from './manifest.ts'
import { installationPaths, rejectExternalDatabase, type InstallationPaths } from './paths.ts'
import type { ProgressReporter } from './progress.ts'

type BackupOptions = { to: string; withKeys: boolean; progress: ProgressReporter; signal: AbortSignal }

type Backup = { file: string; bytes: number; sha256: string; holds: BackupManifest['holds']; notes: string[] }

/**
 * Backs up the installation of this data directory to one file, with or without a running server: the databases as of the end of
 * the copy, uploads, images and their toolchains. Sealed values stay sealed.
 * @throws Error if there is nothing to back up, or the file cannot be written
 */
export async function backUp(config: Config, options: BackupOptions): Promise<Backup> {
  rejectExternalDatabase(config)
  const file = resolve(options.to)
  if (!existsSync(config.dataDir)) throw new Error(`There is nothing to back up: ${config.dataDir} does not exist.`)
  const paths = installationPaths(config)
  checkOptions(config, paths, file, options.withKeys)
  const postgres = await openPostgres(config, paths.stateDir, createLog(config))
  const clusters: Cluster[] = []
  try {
    const urls = [
      postgres.url,
      ...(config.squidServers.length > 0 ? [] : (postgres.squidServers ?? []).map(({ url }) => url)),
    ]
    for (const [index, url] of urls.entries())
      clusters.push({ ...(await beginClusterBackup(url)), name: clusterOrder[index] ?? 'postgres' })
    const backup = await writeBackup(config, { paths, file, clusters, schema: await readSchema(postgres.url) }, options)
    recordBackup(config, backup)
    return backup
  } finally {
    for (const cluster of clusters) await cluster.close()
    await postgres.close('as-found')
  }
}

const clusterOrder = [clusterNames.controlPlane, clusterNames.squids]
type Cluster = ClusterBackup & { name: string }

/** Records the backup for `/readyz`, which reports the age of the last backup. */
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
  { paths, file, clusters, schema }: { paths: InstallationPaths; file: string; clusters: Cluster[]; schema: string },
  options: BackupOptions,
): Promise<Backup> {
  const startedAt = systemClock.now().toISOString()
  const state: StateSummary = { images: 0, tools: 0, skipped: [] }
  const uploads = { count: 0 }
  let endedAt = startedAt
  async function* entries(): AsyncGenerator<TarEntry> {
    options.progress.step('Copying the databases')
    for (const { name } of clusters) yield* clusterFiles(paths.stateDir, name)
    // The backups of all clusters end one right after another, so that the copies are of nearly the same moment.
    const clusterEnds: ClusterEnd[] = []
    for (const { name, stop } of clusters) clusterEnds.push({ name, ...(await stop()) })
    for (const end of clusterEnds) yield* clusterEndEntries(paths.stateDir, end)
    endedAt = systemClock.now().toISOString()
    options.progress.step('Copying uploads and images')
    yield* uploadEntries(paths.dataDir, uploads)
    yield* stateEntries(paths.stateDir, state)
    const keys = options.withKeys ? await fileEntry(keysFile(config), keysFileName) : null
    if (keys) yield keys
  }
  const keyIds = openKeyRing({ keys: config.SHOAL_SECRETS_KEY, dataDir: config.dataDir })
    .keys()
    .map(({ id }) => id)
  const { postgresVersion = '', postgresMajor = 0 } = clusters[0]?.postgres ?? {}
  const databases = clusters.reduce((sum, { postgres }) => sum + postgres.databases, 0)
  const holds = () => ({ databases, images: state.images, tools: state.tools, uploads: uploads.count })
  const manifest = (content: ContentChecksum): BackupManifest => ({
    kind: 'shoal backup',
    format: 2,
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
  const signal = AbortSignal.any([options.signal, ...clusters.map(({ lost }) => lost)])
  const content = await writeBackupFile(file, options.progress.track(entries()), manifest, signal)
  return { file, ...content, holds: holds(), notes: notesOf(config, options.withKeys, keyIds, state.skipped) }
}

async function* clusterFiles(stateDir: string, name: string): AsyncGenerator<TarEntry> {
  const port = await fileEntry(join(stateDir, name, 'port'), `${name}/port`)
  if (port) yield port
  yield* clusterEntries(join(stateDir, name, 'data'), `${name}/data`)
}

type ClusterEnd = { name: string; label: string; segments: string[] }

/** Yields the label of the copy, and the WAL of the changes that were made during the copy. */
async function* clusterEndEntries(stateDir: string, { name, label, segments }: ClusterEnd): AsyncGenerator<TarEntry> {
  yield bufferEntry(`${name}/data/backup_label`, Buffer.from(label), 0o600, systemClock.now())
  yield* walEntries(join(stateDir, name, 'data'), `${name}/data`, segments)
}

async function* uploadEntries(dataDir: string, uploads: { count: number }): AsyncGenerator<TarEntry> {
  for await (const { stats: _, ...entry } of treeEntries(join(dataDir, 'uploads'), 'uploads', isUnfinished)) {
    uploads.count += 1
    yield entry
  }
}

const isUnfinished = (name: string) => name.endsWith('.part')

function notesOf(config: Config, withKeys: boolean, keyIds: string[], skippedFiles: string[]): string[] {
  const ids = keyIds.join(', ')
  return [
    withKeys
      ? `The backup contains the keys (${ids}) and the values they seal: anyone who can read it can read every secret.`
      : `The backup does not contain the keys, and its secrets cannot be opened without them: keep a copy of ${keysLocation(config)} (${ids}) elsewhere, and make a new copy after each rotation.`,
    ...(config.squidServers.length === 0
      ? []
      : [
          `The databases of squids are on ${config.squidServers.length === 1 ? 'the server' : `the ${config.squidServers.length} servers`} of SHOAL_SQUIDS_DATABASE_URL: back them up there, with pg_dumpall or pg_dump.`,
        ]),
    ...(config.SHOAL_LOGS_DATABASE_URL === undefined
      ? []
      : ['The logs of squids are in the database of SHOAL_LOGS_DATABASE_URL: back it up there, with pg_dump.']),
    ...(config.s3 === null
      ? []
      : [
          `The archives of squids are in the S3 bucket ${config.s3.bucket}, not in the backup. Only deployments in progress need them.`,
        ]),
    ...(skippedFiles.length === 0
      ? []
      : [`${skippedFiles.length} files of images were skipped: a tar file cannot store their names.`]),
  ]
}
