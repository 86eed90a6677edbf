import { execFile } from 'node:child_process'
import { mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PLAIN_ENV } from '../process/sandbox.ts'
import type { BuildRun } from './build-step.ts'
import type { WorkDirs } from './build-work.ts'

/**
 * Mounts sealed dependencies as the build's `node_modules`, if the build has a disk of its own and this host can mount overlays. A disk
 * of its own cannot share files with the cache by hard links, and copying them takes longer than many builds. As in a clone, the
 * build's user may add, replace and remove files, but not modify the sealed ones.
 * @returns a function that unmounts them and removes `node_modules`; null if nothing was mounted
 */
export async function mountModules(
  { host, disk, trees, uid }: BuildRun,
  dirs: WorkDirs,
  sealed: string,
): Promise<(() => Promise<void>) | null> {
  const [program, ...prefix] = disk.commandPrefix
  if (program === undefined || uid === null || host.workFolders !== 'overlay') {
    return null
  }
  const runInside = (...command: string[]) =>
    promisify(execFile)(program, [...prefix, ...command], { env: PLAIN_ENV, timeout: TIMEOUT_MS })
  const target = join(dirs.app, 'node_modules')
  const [upper, work] = [join(dirs.dir, 'modules'), join(dirs.dir, 'modules-work')]
  for (const folder of [target, upper, work]) {
    await mkdir(folder, { mode: 0o711 })
  }
  const [lowerdir, upperdir, workdir] = [sealed, upper, work].map(disk.inNamespace)
  // `redirect_dir`: package managers rename folders. `index=off`: many builds use the same sealed tree at the same time.
  const options = `lowerdir=${lowerdir},upperdir=${upperdir},workdir=${workdir},redirect_dir=on,index=off,nosuid,nodev`
  try {
    await runInside('mount', '-t', 'overlay', 'shoal-modules', '-o', options, disk.inNamespace(target))
  } catch {
    await rmdir(target)
    return null
  }
  await trees.own(target, uid)
  return async () => {
    await runInside('umount', disk.inNamespace(target))
    await rmdir(target)
  }
}

const TIMEOUT_MS = 30_000
