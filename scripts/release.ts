import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { endCommandsOnSignal } from './command.ts'
import { ensureConsole } from './console-build.ts'
import { packRelease } from './release/pack-release.ts'
import { stageRelease } from './release/stage-release.ts'
import { root } from './root.ts'

const usage = `npm run release -- [--to FOLDER] [--version VERSION]

Writes an archive of Shoal for this platform, with its checksum and bill of materials, to FOLDER (default: dist). The archive includes all
dependencies. --version replaces the version of package.json.`

endCommandsOnSignal()
const { values } = parseArgs({
  options: { to: { type: 'string' }, version: { type: 'string' }, help: { type: 'boolean' } },
})
if (values.help) console.log(usage)
else {
  const startedMs = performance.now()
  const to = resolve(values.to ?? join(root, 'dist'))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  mkdirSync(to, { recursive: true })
  await ensureConsole()
  const folder = stageRelease(to, values.version ?? version)
  const { archive, bytes, unpackedBytes, files } = await packRelease(folder)
  rmSync(folder, { recursive: true })
  const megabytes = (size: number) => `${(size / 1e6).toFixed(0)} MB`
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
  console.log(
    `Wrote ${archive} (${megabytes(bytes)}, unpacked ${megabytes(unpackedBytes)} in ${files} files) in ${seconds} s.`,
  )
}
