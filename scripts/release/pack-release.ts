import { createHash } from 'node:crypto'
import { copyFileSync, createReadStream, lstatSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { create } from 'tar'

type Packed = { archive: string; bytes: number; unpackedBytes: number; files: number }

/** The time of all entries of the archive. It is constant, so that the same files always result in the same archive. */
const entryTime = new Date('2026-01-01T00:00:00Z')

/** Packs the folder of a release as `<folder>.tar.gz`, and writes its checksum and its bill of materials next to it. */
export async function packRelease(folder: string): Promise<Packed> {
  const archive = `${folder}.tar.gz`
  await pack(archive, dirname(folder), [basename(folder)], { gzip: { level: 6 } })
  copyFileSync(join(folder, 'sbom.cdx.json'), `${folder}.sbom.cdx.json`)
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => lstatSync(join(entry.parentPath, entry.name)).size)
  const unpackedBytes = sizes.reduce((sum, size) => sum + size, 0)
  return { archive, bytes: statSync(archive).size, unpackedBytes, files: sizes.length }
}

/** Packs the folder of an image layout as an archive, with its checksum next to it. Returns the size of the archive. */
export async function packImage(folder: string, archive: string): Promise<number> {
  // The layers are compressed already.
  await pack(archive, folder, ['oci-layout', 'index.json', 'blobs'], {})
  return statSync(archive).size
}

/** Writes an archive of files in a folder, and its checksum. */
async function pack(
  archive: string,
  cwd: string,
  names: string[],
  options: { gzip?: { level: number } },
): Promise<void> {
  await create({ cwd, file: archive, portable: true, mtime: entryTime, ...options }, names)
  const hash = createHash('sha256')
  await pipeline(createReadStream(archive), hash)
  writeFileSync(`${archive}.sha256`, `${hash.digest('hex')}  ${basename(archive)}\n`)
}
