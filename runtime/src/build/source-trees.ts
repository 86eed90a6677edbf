import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { UnpackRequest, Unpacked } from '../builder.ts'
import { findManifest, readPackageJson } from './manifest-file.ts'
import type { Staging } from './staging.ts'
import { summarizeTree } from './tree.ts'
import { unpackArchive } from './unpack-archive.ts'

/** Stores unpacked sources in `<dir>/<key>/app`, and the results of `unpack` in `<dir>/<key>/tree.json`. */
export type SourceTrees = {
  /** Replaces an existing tree of the same key. @throws BuildFailure */
  unpack(request: UnpackRequest): Promise<Unpacked>
  /** @throws when there is no tree for `key` */
  find(key: string): Promise<{ root: string; unpacked: Unpacked }>
  remove(key: string): Promise<void>
}

export async function openSourceTrees(dir: string, staging: Staging): Promise<SourceTrees> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const pathOf = (key: string) => {
    if (!/^[\w-][\w.-]*$/.test(key)) {
      throw new Error(`${JSON.stringify(key)} is not a valid key`)
    }
    return join(dir, key)
  }
  return {
    async unpack({ key, archive, manifestPath, limits }) {
      const target = pathOf(key)
      const { path } = await staging.make()
      try {
        const root = join(path, 'app')
        await mkdir(root)
        const notes = await unpackArchive(archive(), root, limits)
        const manifest = await findManifest(root, manifestPath)
        const packageJson = await readPackageJson(root)
        const summary = await summarizeTree(root)
        const manifestFields = { manifestPath: manifest.path, manifestRaw: manifest.raw }
        const unpacked = { key, ...manifestFields, packageJson, notes, ...summary }
        await writeFile(join(path, 'tree.json'), JSON.stringify(unpacked))
        await staging.discard(target)
        await rename(path, target)
        return unpacked
      } finally {
        await staging.discard(path)
      }
    },
    async find(key) {
      const unpacked: Unpacked = JSON.parse(await readFile(join(pathOf(key), 'tree.json'), 'utf8'))
      return { root: join(pathOf(key), 'app'), unpacked }
    },
    async remove(key) {
      await staging.discard(pathOf(key))
    },
  }
}
