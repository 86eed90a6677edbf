import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { ImageManifest } from '../image.ts'
import { writeRecordFile } from '../process/container-record.ts'
import { ifExists } from './read-entries.ts'

/** Replaces the absolute paths by which images reference their tools: the state directory `from` becomes `to`. */
export async function relocateImages(imagesDir: string, from: string, to: string): Promise<void> {
  const relocate = (dir: string) => (dir.startsWith(from + sep) ? join(to, dir.slice(from.length)) : dir)
  for (const image of (await ifExists(readdir(imagesDir))) ?? []) {
    const file = join(imagesDir, image, 'image.json')
    const text = await ifExists(readFile(file, 'utf8'))
    if (text === null) continue
    const { nodeBinDir, toolchainBinDir, managerBinDir, ...rest }: ImageManifest = JSON.parse(text)
    writeRecordFile(file, {
      ...rest,
      nodeBinDir: relocate(nodeBinDir),
      toolchainBinDir: relocate(toolchainBinDir),
      ...(managerBinDir === undefined
        ? {}
        : { managerBinDir: managerBinDir === null ? null : relocate(managerBinDir) }),
    })
  }
}
