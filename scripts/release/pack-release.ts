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
  const name = basename(folder)
  const options = { cwd: dirname(folder), file: archive, gzip: { level: 6 }, portable: true, mtime: entryTime }
  await create(options, [name])
  const hash = createHash('sha256')
  await pipeline(createReadStream(archive), hash)
  writeFileSync(`${archive}.sha256`, `${hash.digest('hex')}  ${basename(archive)}\n`)
  copyFileSync(join(folder, 'sbom.cdx.json'), `${folder}.sbom.cdx.json`)
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => lstatSync(join(entry.parentPath, entry.name)).size)
  const unpackedBytes = sizes.reduce((sum, size) => sum + size, 0)
  return { archive, bytes: statSync(archive).size, unpackedBytes, files: sizes.length }
}
