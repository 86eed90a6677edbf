import { createHash } from 'node:crypto'
import { existsSync, readFileSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runCommand } from '../command.ts'
import { withProgress } from '../progress.ts'
import { root } from '../root.ts'
import { fillOnce } from '../user-cache.ts'
import { cacheFolder, goEnvironment, goProgram, missingGo } from './programs.ts'

const sourceFolder = join(root, 'test/collector')

/** True if the collector is in the user's cache, or can be built. */
export const hasCollector = async (): Promise<boolean> => existsSync(cachedCollector()) || (await missingGo()) === null

/**
 * Returns the tests' OpenTelemetry Collector from the user's cache, after building it there if necessary. With empty Go caches, that takes four minutes.
 * @throws with the output of Go if the build fails
 */
export async function buildCollector(): Promise<string> {
  const program = cachedCollector()
  const folder = dirname(program)
  const now = new Date()
  if (existsSync(program)) utimesSync(folder, now, now)
  else
    await withProgress('Building the collector from its Go modules', 'Built the collector', () =>
      fillOnce(folder, build),
    )
  return program
}

function cachedCollector(): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(sourceFolder, file)))
  return join(cacheFolder(), 'programs', hash.digest('hex').slice(0, 16), 'collector')
}

async function build(unfinished: string): Promise<boolean> {
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', join(unfinished, 'collector'), '.']
  const result = await runCommand('nice', [goProgram(), ...args], { cwd: sourceFolder, env: goEnvironment() })
  if (result.code !== 0) throw new Error(`go build failed:\n${result.output.trim().slice(-3000)}`)
  return true
}
