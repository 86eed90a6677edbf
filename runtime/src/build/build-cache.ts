import { createHash } from 'node:crypto'
import { lchown, mkdir, readFile, readdir, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import type { Staging } from './staging.ts'
import { walk } from './tree.ts'

/**
 * Cache of a tenant's builds: sealed dependency trees and downloads of the package managers. Not shared between tenants,
 * since install scripts are untrusted and could plant files.
 *
 *   <dir>/<hash of the tenant>/deps/<key>/{full,production,entry.json}   owned by the server, not readable by others
 *   <dir>/<hash of the tenant>/downloads/{files,entry.json}              `files` is owned by the build user
 */
export type BuildCache = {
  /** Passes the dependencies of `key` to `work`, or null; they are not evicted while `work` runs. */
  withDependencies<T>(tenant: string, key: string, work: (kept: KeptDependencies | null) => Promise<T>): Promise<T>
  /** Moves `dir`, which contains the sealed trees `full` and `production`, into the cache. Keeps an existing entry. */
  keepDependencies(tenant: string, key: string, dir: string, sizes: Sizes): Promise<void>
  /** Passes the tenant's download folder, writable by `uid`, to `work`; it is not evicted while `work` runs. */
  withDownloads<T>(tenant: string, uid: number | null, work: (dir: string) => Promise<T>): Promise<T>
  /** Evicts the least recently used entries beyond the size limit. */
  collect(): Promise<void>
}

export type KeptDependencies = { full: string; production: string; productionBytes: number }

/** `bytes` on disk; the production tree shares files with the full one. */
type Sizes = { bytes: number; productionBytes: number }

const ENTRY_FILE = 'entry.json'

export async function openBuildCache(dir: string, staging: Staging, maxBytes: number): Promise<BuildCache> {
  await mkdir(dir, { recursive: true, mode: 0o711 })
  const tenantDir = (tenant: string) => join(dir, createHash('sha256').update(tenant).digest('hex').slice(0, 32))
  const dependencyDir = (tenant: string, key: string) => join(tenantDir(tenant), 'deps', key)
  const inUse = new Map<string, number>()
  const whileInUse = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
    inUse.set(path, (inUse.get(path) ?? 0) + 1)
    try {
      return await work()
    } finally {
      inUse.set(path, (inUse.get(path) ?? 1) - 1)
    }
  }
  return {
    async withDependencies(tenant, key, work) {
      const found = dependencyDir(tenant, key)
      return await whileInUse(found, async () => {
        const entry = await readEntry(found)
        await touch(found)
        const { productionBytes } = entry ?? { productionBytes: 0 }
        const trees = { full: join(found, 'full'), production: join(found, 'production'), productionBytes }
        return await work(entry === null ? null : trees)
      })
    },
    async keepDependencies(tenant, key, made, { bytes, productionBytes }) {
      await writeFile(join(made, ENTRY_FILE), JSON.stringify({ bytes, productionBytes }))
      await mkdir(join(tenantDir(tenant), 'deps'), { recursive: true, mode: 0o711 })
      try {
        await rename(made, dependencyDir(tenant, key))
      } catch (error) {
        const isThereAlready = errorCode(error) === 'ENOTEMPTY' || errorCode(error) === 'EEXIST'
        if (!isThereAlready) {
          throw error
        }
      }
    },
    async withDownloads(tenant, uid, work) {
      const downloads = join(tenantDir(tenant), 'downloads')
      const files = join(downloads, 'files')
      return await whileInUse(downloads, async () => {
        await mkdir(files, { recursive: true, mode: 0o711 })
        if (uid !== null) {
          await lchown(files, uid, uid)
        }
        try {
          return await work(files)
        } finally {
          const bytes = await bytesBelow(files)
          await writeFile(join(downloads, ENTRY_FILE), JSON.stringify({ bytes, productionBytes: 0 }))
        }
      })
    },
    async collect() {
      const entries = await listEntries(dir)
      let keptBytes = 0
      for (const entry of entries.sort((a, b) => b.usedAtMs - a.usedAtMs)) {
        keptBytes += entry.bytes
        const isInUse = (inUse.get(entry.dir) ?? 0) > 0
        if (keptBytes > maxBytes && !isInUse) {
          await staging.discard(entry.dir)
        }
      }
    },
  }
}

type Entry = Sizes & { dir: string; usedAtMs: number }

async function listEntries(dir: string): Promise<Entry[]> {
  const entries: (Entry | null)[] = []
  for (const tenant of await readdir(dir)) {
    const kept = await readdir(join(dir, tenant, 'deps')).catch(() => [])
    entries.push(...(await Promise.all(kept.map((key) => readEntry(join(dir, tenant, 'deps', key))))))
    entries.push(await readEntry(join(dir, tenant, 'downloads')))
  }
  return entries.filter((entry) => entry !== null)
}

/** Null for a missing or incomplete entry. */
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

async function bytesBelow(dir: string): Promise<number> {
  let bytes = 0
  try {
    for await (const { stats } of walk(dir)) {
      bytes += stats.size
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
