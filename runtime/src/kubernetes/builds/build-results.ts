import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { EntryFilter, asFailure } from '../../build/entry-filter.ts'
import { outOfDisk } from '../../build/build-failures.ts'
import type { TreeTasks } from '../../build/tree-tasks.ts'
import { unpackArchive } from '../../build/unpack-archive.ts'
import { BuildFailure, type BuildLimits, type UnpackLimits } from '../../builder.ts'
import { errorCode } from '../../error-code.ts'

/** A sealed tree of this host. */
export type ResultTree = { dir: string; bytes: number }

/** The archive `DEPENDENCIES_ARCHIVE` and the sealed tree `production` in `dir`. */
export type DependencyTrees = { dir: string; productionBytes: number }

/** The archive of installed dependencies, as the install container has sent it (`packDependencies` of `build-trees.cjs`). */
export const DEPENDENCIES_ARCHIVE = 'dependencies.tar'

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
  const unpackLimits = unpackLimitsOf(limits)
  await mkdir(dir, { mode: 0o755 })
  try {
    await unpackArchive(archive, dir, unpackLimits, 'result')
  } catch (error) {
    throw failureOf(asFailure(error), unpackLimits)
  }
}

const unpackLimitsOf = ({ diskBytes }: ReceiveContext['limits']): UnpackLimits => ({
  totalBytes: diskBytes === 0 ? MAX_BYTES : diskBytes,
  files: MAX_FILES,
  ratio: MAX_RATIO,
})

/**
 * Writes the archive of installed dependencies, which is not compressed, into the new folder `dir`, without checking its content.
 * @throws BuildFailure if the archive is too large
 */
export async function storeArchive(
  archive: Readable,
  dir: string,
  { limits }: Pick<ReceiveContext, 'limits'>,
): Promise<void> {
  const unpackLimits = unpackLimitsOf(limits)
  const entryFilter = new EntryFilter(unpackLimits, 'result')
  await mkdir(dir, { mode: 0o755 })
  const counted = async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      entryFilter.countCompressed(chunk)
      entryFilter.countInflated(chunk)
      yield chunk
    }
  }
  try {
    await pipeline(archive, counted, createWriteStream(join(dir, DEPENDENCIES_ARCHIVE), { mode: 0o600 }))
  } catch (error) {
    throw failureOf(error, unpackLimits)
  }
}

/**
 * Checks the archive that `storeArchive` wrote into `dir`, which is as untrusted as a user's, and unpacks and seals its production
 * dependencies.
 * @throws BuildFailure if the archive is damaged, hostile or too large
 */
export async function unpackReceivedDependencies(
  dir: string,
  { limits, trees }: ReceiveContext,
): Promise<DependencyTrees> {
  const unpackLimits = unpackLimitsOf(limits)
  try {
    const [file, to] = [join(dir, DEPENDENCIES_ARCHIVE), join(dir, 'production')]
    return { dir, productionBytes: await trees.unpackDependencies(file, to, unpackLimits) }
  } catch (error) {
    throw failureOf(error, unpackLimits)
  }
}

function failureOf(error: unknown, { totalBytes }: UnpackLimits): unknown {
  if (errorCode(error) === 'ECONNRESET')
    return new LostConnection('The connection of the build was lost', { cause: error })
  if (!(error instanceof BuildFailure)) return error
  if (/unpacks to more than \d+ MB/.test(error.message))
    return outOfDisk('The build', { ...NO_LIMITS, diskBytes: totalBytes })
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
