import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, copyFile, link, lchown, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { walk } from '../build/tree.ts'
import { errorCode } from '../error-code.ts'
import { PLAIN_ENV } from '../process/sandbox.ts'
import { cleanUpCrashed, startEmbeddedPostgres, withStartLock } from './embedded-postgres.ts'
import { runSingleUser, superuser } from './postgres-program.ts'

/** The databases and roles that move to the new cluster. */
export type Moved = { databases: string[]; roles: string[] }

/** All databases with their oids (the names of their folders) and all roles, and the databases and roles that move. */
type Plan = { databases: { name: string; oid: number }[]; roles: string[]; moved: Moved; port: number }

/** The steps of a split, in order. Tests kill the process at each of them. */
export const splitSteps = [
  'planned',
  'stopped',
  'copying',
  'copied',
  'recorded',
  'renamed',
  'trimmed-new',
  'trimming-old',
  'trimmed-old',
  'port-moved',
] as const
export type SplitStep = (typeof splitSteps)[number]

export type SplitOptions = {
  /** Directory of the existing cluster, as for `startEmbeddedPostgres`. The cluster is stopped if it is running. */
  from: string
  /** Directory of the new cluster, on the same file system, or on another with enough space for the whole cluster. */
  to: string
  /** Receives the URL of the running cluster. Rejects if other programs that must not be interrupted use it. */
  plan: (postgres: { url: (database: string) => string }) => Promise<{
    databases: { name: string; oid: number }[]
    roles: string[]
    moved: Moved
  }>
  log: (message: string) => void
  onStep?: (step: SplitStep) => void
}

const planFile = 'split.json'

/** A file in the directory of a cluster that never contained anything to split off. */
const separateFile = 'squids-are-separate'

/** Whether a cluster exists in a directory. */
const exists = (dir: string): boolean => existsSync(join(dir, 'data/PG_VERSION'))

/** Whether a split is needed: `from` exists without `to` and is not marked as separate, or an earlier split was not completed. */
export const needsSplit = ({ from, to }: Pick<SplitOptions, 'from' | 'to'>): boolean =>
  (exists(from) && !existsSync(join(to, 'data')) && !existsSync(join(from, separateFile))) ||
  existsSync(join(to, planFile))

/**
 * Marks a cluster that does not exist yet, so that it needs no split even if the other cluster cannot be created. Does nothing if
 * the cluster in `dir` exists.
 */
export function markSeparate(dir: string): void {
  if (exists(dir)) return
  mkdirSync(dir, { recursive: true, mode: 0o711 })
  writeFileSync(join(dir, separateFile), '', { mode: 0o600 })
}

/**
 * Splits a cluster in two: copies it, then drops from each copy the databases and roles of the other. Files of databases are linked
 * instead of copied, so a split needs little time and space. The new cluster keeps the port, so the addresses of moved databases stay
 * valid; the old one gets another. The process may be killed at any point: until the copy is renamed, the old cluster is unchanged;
 * afterwards, the next call completes the recorded plan. Neither cluster may be started until the split is complete.
 */
export async function splitCluster(options: SplitOptions): Promise<void> {
  const { from, to, log, onStep = () => undefined } = options
  mkdirSync(to, { recursive: true, mode: 0o711 })
  await withStartLock(to, async () => {
    if (!needsSplit(options)) return
    log('Moving the databases of squids to their own Postgres …')
    if (!existsSync(join(to, 'data'))) await copy(options, onStep)
    const plan: Plan = JSON.parse(readFileSync(join(to, planFile), 'utf8'))
    await withStartLock(from, () => trim(from, to, plan, onStep))
    rmSync(join(to, planFile))
    log('Moved the databases of squids to their own Postgres.')
  })
}

async function copy({ from, to, plan: makePlan }: SplitOptions, onStep: (step: SplitStep) => void): Promise<void> {
  const staging = join(to, 'data.part')
  for (const name of [staging, join(to, planFile)]) rmSync(name, { recursive: true, force: true })
  // The start also recovers the cluster if it has crashed.
  const postgres = await startEmbeddedPostgres({ dir: from })
  const plan: Plan = { ...(await makePlan(postgres)), port: postgres.port }
  onStep('planned')
  await postgres.stop()
  onStep('stopped')
  await copyFiles(join(from, 'data'), staging, foldersToLink(plan), () => onStep('copying'))
  await copyFile(join(from, 'password'), join(to, 'password'))
  writeFileSync(join(to, 'port'), String(plan.port), { mode: 0o600 })
  await sync(to)
  onStep('copied')
  writeFileSync(join(to, planFile), JSON.stringify(plan), { mode: 0o600 })
  await sync(to)
  onStep('recorded')
  renameSync(staging, join(to, 'data'))
  await sync(to)
  onStep('renamed')
}

/** Returns the folders of databases that only one of the two clusters keeps, so that neither writes to the files of the other. */
function foldersToLink({ databases }: Plan): Set<string> {
  const systemDatabases = new Set(['postgres', 'template0', 'template1'])
  return new Set(databases.filter(({ name }) => !systemDatabases.has(name)).map(({ oid }) => `base/${oid}`))
}

async function copyFiles(
  source: string,
  target: string,
  linkedFolders: Set<string>,
  onPartCopied: () => void,
): Promise<void> {
  mkdirSync(target, { mode: 0o700 })
  let count = 0
  const owners: { path: string; uid: number; gid: number }[] = []
  for await (const { path, absolute, stats } of walk(source)) {
    const targetPath = join(target, path)
    const mayLink = stats.isFile() && linkedFolders.has(path.split('/').slice(0, 2).join('/'))
    if (path === 'postmaster.pid' || path === 'postgres.log') continue
    if (stats.isDirectory()) mkdirSync(targetPath, { mode: 0o700 })
    else if (stats.isSymbolicLink()) await symlink(await readlink(absolute), targetPath)
    else if (!(mayLink && (await tryLink(absolute, targetPath)))) {
      await copyFile(absolute, targetPath)
      await chmod(targetPath, stats.mode & 0o777)
    }
    if (!mayLink || stats.isDirectory()) owners.push({ path: targetPath, uid: stats.uid, gid: stats.gid })
    count += 1
    // Called after a part of the files, so that tests can kill the process during the copy.
    if (count === 200) onPartCopied()
  }
  if (process.getuid?.() !== 0) return
  const { uid = 0, gid = 0 } = owners[0] ?? {}
  await lchown(target, uid, gid)
  for (const owner of owners) await lchown(owner.path, owner.uid, owner.gid)
}

/** Links a file. Resolves to false if its file system cannot have the link, or the two paths are on different file systems. */
async function tryLink(existing: string, path: string): Promise<boolean> {
  try {
    await link(existing, path)
    return true
  } catch (error) {
    if (['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP'].includes(errorCode(error) ?? '')) return false
    throw error
  }
}

/**
 * Drops from each cluster the databases and roles of the other, and deletes the recorded port of the old one, so that its next start
 * chooses another. Can be repeated.
 */
async function trim(from: string, to: string, plan: Plan, onStep: (step: SplitStep) => void): Promise<void> {
  const keptDatabases = new Set([...plan.moved.databases, 'template0', 'template1', 'postgres'])
  const keptRoles = new Set([...plan.moved.roles, superuser])
  const otherDatabases = plan.databases.map(({ name }) => name).filter((name) => !keptDatabases.has(name))
  await cleanUpCrashed(join(to, 'data'))
  await runSingleUser(to, [
    ...otherDatabases.map((name) => `drop database if exists ${quoted(name)}`),
    // These roles may own objects in `postgres`, so they are kept, but cannot log in.
    ...plan.roles.filter((name) => !keptRoles.has(name)).map((name) => `alter role ${quoted(name)} nologin`),
  ])
  onStep('trimmed-new')
  await cleanUpCrashed(join(from, 'data'))
  const dropping = runSingleUser(from, [
    ...plan.moved.databases.map((name) => `drop database if exists ${quoted(name)}`),
    ...plan.moved.roles.map(dropRoleSql),
  ])
  onStep('trimming-old')
  await dropping
  onStep('trimmed-old')
  const portFile = join(from, 'port')
  if (existsSync(portFile) && readFileSync(portFile, 'utf8').trim() === String(plan.port)) rmSync(portFile)
  onStep('port-moved')
}

/** Returns SQL that drops a role, or removes its right to log in if other objects depend on the role. */
const dropRoleSql = (name: string) =>
  `do $do$ begin drop role if exists ${quoted(name)}; exception when dependent_objects_still_exist then alter role ${quoted(name)} nologin; end $do$`

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

const run = promisify(execFile)

/** Writes everything below `dir` to the disk. */
async function sync(dir: string): Promise<void> {
  await run('sync', ['-f', dir], { env: PLAIN_ENV }).catch(() => run('sync', { env: PLAIN_ENV }))
}
