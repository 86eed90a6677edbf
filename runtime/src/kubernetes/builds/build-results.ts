import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { asFailure } from '../../build/entry-filter.ts'
import { outOfDisk } from '../../build/build-failures.ts'
import type { TreeTasks } from '../../build/tree-tasks.ts'
import { unpackArchive } from '../../build/unpack-archive.ts'
import { BuildFailure, type BuildLimits } from '../../builder.ts'
import { errorCode } from '../../error-code.ts'

/** A sealed tree of this host. */
export type ResultTree = { dir: string; bytes: number }

/** The sealed trees `full` and `production` in `dir`. `bytes`: the size of `full`. */
export type DependencyTrees = { dir: string; bytes: number; productionBytes: number }

/** Maximum number of files and folders of a result. No legitimate squid has this many. */
const MAX_FILES = 250_000
/** Maximum size of a result if the disk space of builds is not limited. */
const MAX_BYTES = 16 * 2 ** 30
/** Gzip compresses by at most 1032 to 1, so only the size is limited. */
const MAX_RATIO = 1100

/**
 * Unpacks an archive that a build has sent into the new folder `dir`, and seals the tree. The archive is as untrusted as a user's.
 * @throws BuildFailure if the archive is damaged, hostile or too large
 */
export async function receiveTree(
  archive: Readable,
  dir: string,
  { limits, trees }: ReceiveContext,
): Promise<ResultTree> {
  await unpackResult(archive, dir, limits)
  return { dir, bytes: await trees.seal(dir, null) }
}

type ReceiveContext = { limits: Pick<BuildLimits, 'diskBytes'>; trees: TreeTasks }

async function unpackResult(archive: Readable, dir: string, limits: ReceiveContext['limits']): Promise<void> {
  const totalBytes = limits.diskBytes === 0 ? MAX_BYTES : limits.diskBytes
  await mkdir(dir, { mode: 0o755 })
  try {
    await unpackArchive(archive, dir, { totalBytes, files: MAX_FILES, ratio: MAX_RATIO }, 'result')
  } catch (error) {
    throw failureOf(asFailure(error), { diskBytes: totalBytes })
  }
}

/** Like `receiveTree`, for the folders `full` and `production` of installed dependencies, which share files by hard links. */
export async function receiveDependencies(
  archive: Readable,
  dir: string,
  { limits, trees }: ReceiveContext,
): Promise<DependencyTrees> {
  await unpackResult(archive, dir, limits)
  await chmod(dir, 0o755)
  const names = (await readdir(dir)).sort()
  if (names.join() !== 'full,production') throw refused('it does not consist of two folders of dependencies')
  const [bytes = 0, productionBytes = 0] = await Promise.all(names.map((name) => trees.seal(join(dir, name), null)))
  return { dir, bytes, productionBytes }
}

function failureOf(error: unknown, limits: { diskBytes: number }): unknown {
  if (errorCode(error) === 'ECONNRESET')
    return new LostConnection('The connection of the build was lost', { cause: error })
  if (!(error instanceof BuildFailure)) return error
  if (/unpacks to more than \d+ MB/.test(error.message))
    return outOfDisk('The build', { ...NO_LIMITS, diskBytes: limits.diskBytes })
  return refused(error.message.replace(/\.$/, ''))
}

const NO_LIMITS = { memoryBytes: 0, cpuCores: 0, timeMs: 0 }

const refused = (reason: string): BuildFailure =>
  new BuildFailure('SOURCE_FILES_BUILD_FAILED', `The result of the build was refused: ${reason}.`)

/** The build's container ended while it sent an archive. */
export class LostConnection extends Error {
  override name = 'LostConnection'
}

/** Moves the production tree `modules` into the app as its `node_modules`. Replaces a folder of this name that the build may have sent. */
export async function joinModules(app: string, modules: string): Promise<void> {
  const target = join(app, 'node_modules')
  await rm(target, { recursive: true, force: true })
  await rename(modules, target)
}
