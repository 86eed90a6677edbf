import { execFile } from 'node:child_process'
import { lstat, mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BuildFailure } from '../builder.ts'
import { PLAIN_ENV } from '../process/sandbox.ts'
import type { BuildRun } from './build-step.ts'
import type { WorkDirs } from './build-work.ts'

/**
 * Mounts sealed dependencies as the build's `node_modules`, if the build has a separate disk and this host can mount overlays. Files of
 * the cache cannot be hard-linked to a separate disk, and copying them takes longer than many builds. As in a clone, the build's user
 * may add, replace and remove files, but not modify the sealed ones.
 * @returns a function that unmounts the dependencies and removes `node_modules`; null if nothing was mounted
 * @throws when `sealed` is not a folder, see `cloneTree`
 */
export async function mountModules(
  { host, disk, trees, uid, log }: Pick<BuildRun, 'host' | 'disk' | 'trees' | 'uid' | 'log'>,
  dirs: WorkDirs,
  sealed: string,
): Promise<(() => Promise<void>) | null> {
  const [program, ...prefix] = disk.commandPrefix
  if (program === undefined || uid === null || host.workFolders !== 'overlay') {
    return null
  }
  const runInside = (...command: string[]) =>
    promisify(execFile)(program, [...prefix, ...command], { env: PLAIN_ENV, timeout: TIMEOUT_MS })
  if (!(await lstat(sealed)).isDirectory()) {
    throw new Error(`${sealed} is not a folder`)
  }
  const target = join(dirs.app, 'node_modules')
  // Programs access the upper layer only through the mount.
  const layers = join(dirs.dir, 'modules')
  const [upper, work] = [join(layers, 'upper'), join(layers, 'work')]
  await mkdir(layers, { recursive: true, mode: 0o700 })
  for (const folder of [target, upper, work]) {
    await mkdir(folder, { mode: 0o755 })
  }
  const [lowerdir, upperdir, workdir] = [sealed, upper, work].map(disk.inNamespace)
  // `redirect_dir`: package managers rename folders. `index=off`: many builds use the same sealed tree at the same time. `volatile`:
  // the disk is deleted after the build, so unmounting need not wait until everything is written to it.
  const options = `lowerdir=${lowerdir},upperdir=${upperdir},workdir=${workdir},redirect_dir=on,index=off,volatile,nosuid,nodev`
  try {
    await runInside('mount', '-t', 'overlay', 'shoal-modules', '-o', options, disk.inNamespace(target))
  } catch (error) {
    log.warn(`The cached dependencies are copied, because they could not be mounted: ${reasonOf(error)}`)
    await rmdir(target)
    return null
  }
  await trees.changeOwner(target, uid)
  return async () => {
    await runInside('umount', disk.inNamespace(target))
    await rmdir(target)
  }
}

/**
 * True if a build script failed because `node_modules` is a mount point: it cannot be removed or renamed, and files cannot be renamed or
 * linked from it to other folders.
 */
export const isMountFailure = (error: unknown): boolean =>
  error instanceof BuildFailure && /\b(EBUSY|EXDEV)\b|resource busy|cross-device/i.test(error.message)

const TIMEOUT_MS = 30_000

/** Returns what `mount` printed, without paths of the host, since users read the log of a build. */
function reasonOf(error: unknown): string {
  const { stderr, killed } = error as { stderr?: string; killed?: boolean }
  if (killed) return `mount did not end within ${TIMEOUT_MS / 1000} s`
  const [line = ''] = (stderr ?? '').split('\n')
  return line.replace(/^mount: \/\S+: /, '').replaceAll(/\/\S+/g, '…') || 'mount failed'
}
