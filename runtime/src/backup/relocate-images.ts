import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { ImageManifest } from '../image.ts'
import { writeJson } from '../process/container-record.ts'
import { ifThere } from './read-entries.ts'

/** Images reference their tools by absolute paths: replaces paths below the state directory `from` by paths below `to`. */
export async function relocateImages(imagesDir: string, from: string, to: string): Promise<void> {
  const moved = (dir: string) => (dir.startsWith(from + sep) ? join(to, dir.slice(from.length)) : dir)
  for (const image of (await ifThere(readdir(imagesDir))) ?? []) {
    const file = join(imagesDir, image, 'image.json')
    const text = await ifThere(readFile(file, 'utf8'))
    if (text === null) continue
    const { nodeBinDir, toolchainBinDir, managerBinDir, ...rest }: ImageManifest = JSON.parse(text)
    writeJson(file, {
      ...rest,
      nodeBinDir: moved(nodeBinDir),
      toolchainBinDir: moved(toolchainBinDir),
      ...(managerBinDir === undefined ? {} : { managerBinDir: managerBinDir === null ? null : moved(managerBinDir) }),
    })
  }
}
