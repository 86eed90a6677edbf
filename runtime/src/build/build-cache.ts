import { createHash } from 'node:crypto'
import { lchown, mkdir, readFile, readdir, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import type { Staging } from './staging.ts'
import { walk } from './tree.ts'

/**
 * What builds leave for later builds of the same tenant: installed dependencies, sealed, and what the package managers
 * downloaded. Never for another tenant: install scripts are untrusted and could leave something behind.
 *
 *   <dir>/<hash of the tenant>/deps/<key>/{full,production,entry.json}   ours; read by nobody else
 *   <dir>/<hash of the tenant>/downloads/{files,entry.json}              `files` is the build user's own
 */
export type BuildCache = {
  /** Hands out what is kept under `key`, null when nothing is; it stays for as long as `work` runs. */
  withDependencies<T>(tenant: string, key: string, work: (kept: KeptDependencies | null) => Promise<T>): Promise<T>
  /** Moves `dir`, which holds sealed `full` and `production`, into the cache. The first under a key stays. */
  keepDependencies(tenant: string, key: string, dir: string, sizes: Sizes): Promise<void>
  /** Hands out the tenant's folder of downloads, which a program of `uid` may write to; it stays for as long as `work` runs. */
  withDownloads<T>(tenant: string, uid: number | null, work: (dir: string) => Promise<T>): Promise<T>
  /** Forgets what was used longest ago until no more than the allowed bytes are kept. */
  collect(): Promise<void>
}

export type KeptDependencies = { full: string; production: string; productionBytes: number }

/** `bytes` are those on the disk: the production tree shares the files of the full one. */
type Sizes = { bytes: number; productionBytes: number }

const ENTRY_FILE = 'entry.json'

export async function openBuildCache(dir: string, staging: Staging, maxBytes: number): Promise<BuildCache> {
  await mkdir(dir, { recursive: true, mode: 0o711 })
  const tenantDir = (tenant: string) => join(dir, createHash('sha256').update(tenant).digest('hex').slice(0, 32))
  const dependencyDir = (tenant: string, key: string) => join(tenantDir(tenant), 'deps', key)
  const inUse = new Map<string, number>()
  const holding = async <T>(held: string, work: () => Promise<T>): Promise<T> => {
    inUse.set(held, (inUse.get(held) ?? 0) + 1)
    try {
      return await work()
    } finally {
      inUse.set(held, (inUse.get(held) ?? 1) - 1)
    }
  }
  return {
    async withDependencies(tenant, key, work) {
      const found = dependencyDir(tenant, key)
      return await holding(found, async () => {
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
      return await holding(downloads, async () => {
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

/** Null when there is none, or none that was finished. */
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
    // Another build of the tenant moves its temporary files while we look.
    if (errorCode(error) !== 'ENOENT') {
      throw error
    }
  }
  return bytes
}

/** Marks an entry as used now, when there is one. */
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
