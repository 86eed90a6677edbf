import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { hours } from '../clock.ts'
import { ArtifactMissing, type ArtifactStore } from './artifact-store.ts'
import { lazyStream, hashWhileRead } from './streams.ts'

/** After this time without a write, the process that wrote a temporary file is assumed to have ended. */
const idleMs = hours(1)

/** Stores artifacts as files of a directory, which is created when the first one is received. */
export function createFileStore(dir: string): ArtifactStore {
  const pathOf = (sha256: string) => join(dir, sha256)
  const names = () => readdir(dir).catch(() => [])
  return {
    receive: async (source) => {
      await mkdir(dir, { recursive: true, mode: 0o700 })
      const part = join(dir, `${randomUUID()}.part`)
      const discard = () => rm(part, { force: true })
      const { content, result } = hashWhileRead(source)
      try {
        await pipeline(content, createWriteStream(part, { mode: 0o600, flags: 'wx' }))
      } catch (error) {
        await discard()
        throw error
      }
      const { sha256, bytes } = result()
      let isRenamed = false
      const keep = async () => {
        if (!isRenamed) await rename(part, pathOf(sha256))
        isRenamed = true
      }
      return { sha256, bytes, keep, discard }
    },
    read: (sha256) =>
      lazyStream(
        () => createReadStream(pathOf(sha256)),
        (error) =>
          (error as NodeJS.ErrnoException).code === 'ENOENT'
            ? new ArtifactMissing(`There is no artifact ${sha256}.`)
            : error,
      ),
    remove: (sha256) => rm(pathOf(sha256), { force: true }),
    list: async () => (await names()).filter((name) => /^[0-9a-f]{64}$/.test(name)),
    removeInterrupted: async (now) => {
      for (const name of await names()) {
        if (!name.endsWith('.part')) continue
        const info = await stat(join(dir, name)).catch(() => null)
        if (info && info.mtimeMs < now.getTime() - idleMs) await rm(join(dir, name), { force: true })
      }
    },
    check: async () => {},
    close: () => {},
  }
}
