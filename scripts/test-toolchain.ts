import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ensureToolchain } from '../runtime/src/build/toolchain.ts'
import { PNPM_TOOLS, YARN_BERRY_TOOLS, YARN_CLASSIC } from '../runtime/src/build/tools.ts'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

/** Later test runs reuse this folder. The names of its entries contain versions or hashes, so an entry is never outdated. */
const cacheDir = join(root, 'node_modules/.cache/toolchain')

/**
 * Installs the programs that build and run squids in `dir`, which must not exist, so that no test has to download them. Squids run as
 * system users that may not be allowed to enter the repository's folder, so `dir` is outside of it.
 */
export async function installTestToolchain(dir: string): Promise<void> {
  const isNew = !existsSync(cacheDir)
  if (isNew) await withProgress('Installing the toolchain of squids for the tests', install)
  else await install()
  const { code, output } = await runCommand('sh', [
    '-c',
    'cp -al "$0" "$1" 2>/dev/null || cp -a "$0" "$1"',
    cacheDir,
    dir,
  ])
  if (code !== 0) throw new Error(`Copying the toolchain of tests failed: ${output}`)
}

async function install(): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]))
  const toolchain = await ensureToolchain({ dir: cacheDir, npm: { command: ['npm'], env }, log: () => undefined })
  await toolchain.node('18')
  for (const tool of [...PNPM_TOOLS, YARN_CLASSIC, ...YARN_BERRY_TOOLS]) await toolchain.install(tool)
}
