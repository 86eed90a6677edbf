import { createHash } from 'node:crypto'
import { chmod, lchown, mkdir, readFile, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildLimits } from '../builder.ts'
import { errorCode } from '../error-code.ts'
import type { OpenDisk } from '../process/disk/disks.ts'
import { chooseEntriesToEvict } from './cache-eviction.ts'
import { type Staging, moveIntoPlace } from './staging.ts'
import type { TreeTasks } from './tree-tasks.ts'
import { walk } from './tree.ts'

/**
 * Caches the sealed dependency trees and the package manager downloads of each tenant's builds. Tenants do not share entries,
 * since install scripts are untrusted and could add malicious files. `full` includes development dependencies, `production` does not.
 *
 *   <dir>/<hash of the tenant>/deps/<key>/{full,production,entry.json}   owned by the server, not readable by others
 *   <dir>/<hash of the tenant>/deps/job-<key>/{dependencies.tar,production,entry.json}   the same of builds in a cluster
 *   <dir>/<hash of the tenant>/downloads/{files,entry.json}              `files` is owned by the build user
 *   <dir>/<hash of the tenant>/downloads/files.img                       the disk image mounted on `files`, if disk space is limited
 */
export type BuildCache = {
  /** Passes the dependencies cached for `key`, or null, to `work`. They are not evicted while `work` runs. */
  withDependencies<T>(tenant: string, key: string, work: (cached: CachedDependencies | null) => Promise<T>): Promise<T>
  /**
   * Moves `dir`, which contains `full` (a sealed tree, or in `dependencies.tar`) and the sealed tree `production`, into the cache. Keeps an
   * existing entry. `productionBytes`: the size of the production tree.
   */
  storeDependencies(tenant: string, key: string, dir: string, productionBytes: number): Promise<void>
  /** Passes the tenant's download folder, writable by `user`, to `work`. The folder is not evicted while `work` runs. */
  withDownloads<T>(tenant: string, user: DownloadsUser, work: (dir: string) => Promise<T>): Promise<T>
  /** Evicts entries while the cache is larger than its limit: see `chooseEntriesToEvict`. */
  evictExcess(): Promise<void>
}

/** The folder of an entry, its two trees, and the size of the production tree. */
export type CachedDependencies = { dir: string; full: string; production: string; productionBytes: number }

/** `bytes`: what the entry uses on the disk; `productionBytes`: size of the production tree. */
type Sizes = { bytes: number; productionBytes: number }

/** The build that uses a download folder: its uid, the disk on which the folder is mounted, and its limits. */
export type DownloadsUser = { uid: number | null; disk: OpenDisk; limits: Pick<BuildLimits, 'diskBytes'> }

const ENTRY_FILE = 'entry.json'

/** @param trees measures the entries */
export async function openBuildCache(
  dir: string,
  staging: Staging,
  trees: Pick<TreeTasks, 'measure'>,
  maxBytes: number,
): Promise<BuildCache> {
  await mkdir(dir, { recursive: true, mode: 0o711 })
  const tenantDir = (tenant: string) => join(dir, createHash('sha256').update(tenant).digest('hex').slice(0, 32))
  const dependencyDir = (tenant: string, key: string) => join(tenantDir(tenant), 'deps', key)
  const inUse = new UseCounts()
  return {
    async withDependencies(tenant, key, work) {
      const entryDir = dependencyDir(tenant, key)
      return await inUse.during(entryDir, async () => {
        const entry = await readEntry(entryDir)
        await touch(entryDir)
        const { productionBytes } = entry ?? { productionBytes: 0 }
        const [full, production] = [join(entryDir, 'full'), join(entryDir, 'production')]
        return await work(entry === null ? null : { dir: entryDir, full, production, productionBytes })
      })
    },
    async storeDependencies(tenant, key, preparedDir, productionBytes) {
      // Measured on the disk: the trees may share files through hard links, and small files use more space than their size.
      const bytes = await trees.measure(preparedDir)
      await writeFile(join(preparedDir, ENTRY_FILE), JSON.stringify({ bytes, productionBytes }), {
        mode: 0o600,
      })
      await mkdir(tenantDir(tenant), { recursive: true, mode: 0o711 })
      await mkdir(join(tenantDir(tenant), 'deps'), { recursive: true, mode: 0o700 })
      await moveIntoPlace(preparedDir, dependencyDir(tenant, key))
    },

    async withDownloads(tenant, { uid, disk, limits }, work) {
      const downloads = join(tenantDir(tenant), 'downloads')
      const folder = join(downloads, 'files')
      const diskImage = join(downloads, 'files.img')
      return await inUse.during(downloads, async () => {
        await mkdir(downloads, { recursive: true, mode: 0o711 })
        await mkdir(folder, { recursive: true, mode: 0o700 })
        if (
          inUse.count(downloads) === 1 &&
          (await allocatedBytes(diskImage)) > limits.diskBytes * MAX_DOWNLOADS_SHARE
        ) {
          await staging.discard(diskImage)
        }
        await disk.attach({ dir: folder, image: diskImage, bytes: limits.diskBytes })
        const files = disk.fromServer(folder)
        await chmod(files, 0o700)
        if (uid !== null) {
          await lchown(files, uid, uid)
        }
        try {
          return await work(files)
        } finally {
          const bytes = disk.kind === 'image' ? await allocatedBytes(diskImage) : await bytesBelow(files)
          await writeFile(join(downloads, ENTRY_FILE), JSON.stringify({ bytes, productionBytes: 0 }), { mode: 0o600 })
        }
      })
    },
    async evictExcess() {
      const entries = (await listEntries(dir)).map((entry) => ({ ...entry, isInUse: inUse.count(entry.dir) > 0 }))
      for (const entry of chooseEntriesToEvict(entries, maxBytes, Date.now())) {
        // A build may have begun to use it while others were discarded.
        if (inUse.count(entry.dir) === 0) await staging.discard(entry.dir)
      }
    },
  }
}

/** Counts the tasks that use each path. */
class UseCounts {
  readonly #counts = new Map<string, number>()

  count(path: string): number {
    return this.#counts.get(path) ?? 0
  }

  /** Counts `path` as used while `work` runs. */
  async during<T>(path: string, work: () => Promise<T>): Promise<T> {
    this.#counts.set(path, this.count(path) + 1)
    try {
      return await work()
    } finally {
      this.#counts.set(path, this.count(path) - 1)
    }
  }
}

type Entry = Sizes & { dir: string; usedAtMs: number }

async function listEntries(dir: string): Promise<(Entry & { tenant: string })[]> {
  const entries: (Entry & { tenant: string })[] = []
  for (const tenant of await readdir(dir)) {
    const keys = await readdir(join(dir, tenant, 'deps')).catch(() => [])
    const dirs = [...keys.map((key) => join(dir, tenant, 'deps', key)), join(dir, tenant, 'downloads')]
    const found = await Promise.all(dirs.map(readEntry))
    entries.push(...found.filter((entry) => entry !== null).map((entry) => ({ ...entry, tenant })))
  }
  return entries
}

/** Returns null for a missing or incomplete entry. */
async function readEntry(dir: string): Promise<Entry | null> {
  try {
    const file = join(dir, ENTRY_FILE)
    const { mtimeMs } = await stat(file)
    const sizes: Sizes = JSON.parse(await readFile(file, 'utf8'))
    return { ...sizes, dir, usedAtMs: mtimeMs }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      return null
    }
    throw error
  }
}

/**
 * A download folder that uses more than this share of its disk is emptied before the next build, so that the build does not run out
 * of space.
 */
const MAX_DOWNLOADS_SHARE = 0.5

/** Returns the bytes that a file, or the files in a folder, use on the disk; 0 if it does not exist. */
async function allocatedBytes(file: string): Promise<number> {
  try {
    const stats = await stat(file)
    return stats.isDirectory() ? await bytesBelow(file) : stats.blocks * 512
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      return 0
    }
    throw error
  }
}

async function bytesBelow(dir: string): Promise<number> {
  let bytes = 0
  try {
    for await (const { stats } of walk(dir)) {
      bytes += Math.max(stats.blocks * 512, stats.isFile() ? stats.size : 0)
    }
  } catch (error) {
    // A concurrent build of the tenant may move its temporary files.
    if (errorCode(error) !== 'ENOENT') {
      throw error
    }
  }
  return bytes
}

/** Updates the time of last use, if the entry exists. */
async function touch(dir: string): Promise<void> {
  const now = new Date()
  try {
    await utimes(join(dir, ENTRY_FILE), now, now)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') {
      throw error
    }
  }
}
