import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ensureToolchain } from '../runtime/src/build/toolchain.ts'
import { PNPM_TOOLS, YARN_BERRY_TOOLS, YARN_CLASSIC } from '../runtime/src/build/tools.ts'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

/** Later test runs reuse this folder, whose entries are named by their content. */
const cacheDir = join(root, 'node_modules/.cache/toolchain')

/**
 * Copies the programs that build and run squids to `dir`, which must not exist, so that no test has to download them. It copies them,
 * because the users that run squids may not be allowed to enter the repository's folder.
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
