import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { endCommandsOnSignal } from './command.ts'
import { ensureConsole } from './console-build.ts'
import { ImageLayout } from './release/image-layout.ts'
import { packImage, packRelease } from './release/pack-release.ts'
import { stageRelease } from './release/stage-release.ts'
import { root } from './root.ts'
import { storeImage } from './server-image.ts'

const usage = `npm run release -- [--to FOLDER] [--version VERSION] [--image]

Writes an archive of Shoal for this platform, with its checksum and bill of materials, to FOLDER (default: dist, which it empties first,
since deploy/Containerfile uses the release there). The archive includes all dependencies. --version replaces the version of package.json.
--image also writes the image for Kubernetes, with the same files, as an archive of an OCI image layout, with its checksum.`

endCommandsOnSignal()
const { values } = parseArgs({
  options: {
    to: { type: 'string' },
    version: { type: 'string' },
    image: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})
if (values.help) console.log(usage)
else {
  const startedMs = performance.now()
  const to = resolve(values.to ?? join(root, 'dist'))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  if (values.to === undefined) rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  await ensureConsole()
  const folder = stageRelease(to, values.version ?? version)
  const { archive, bytes, unpackedBytes, files } = await packRelease(folder)
  const megabytes = (size: number) => `${(size / 1e6).toFixed(0)} MB`
  if (values.image) {
    const layout = `${folder}.oci`
    rmSync(layout, { recursive: true, force: true })
    const client = new ImageLayout(layout, values.version ?? version)
    const { digest } = await storeImage(folder, client, { repository: '', baseImage: null, authFile: null })
    const imageBytes = await packImage(layout, `${layout}.tar`)
    rmSync(layout, { recursive: true })
    console.log(`Wrote ${layout}.tar (${megabytes(imageBytes)}), the image ${digest}.`)
  }
  rmSync(folder, { recursive: true })
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
  console.log(
    `Wrote ${archive} (${megabytes(bytes)}, unpacked ${megabytes(unpackedBytes)} in ${files} files) in ${seconds} s.`,
  )
}
