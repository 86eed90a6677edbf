import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../root.ts'
import { buildOnce, cachedProgram, goBuild, missingGo } from './go.ts'

const sourceFolder = join(root, 'test/collector')

/** Returns whether the collector is in the user's cache or can be built. */
export const hasCollector = async (): Promise<boolean> =>
  existsSync(cachedCollector()) || (await missingGo(sourceFolder)) === null

/**
 * Returns the path of the OpenTelemetry Collector in the user's cache, after building it if necessary, which takes four minutes with empty Go caches.
 * @throws with the output of Go if the build fails
 */
export async function buildCollector(): Promise<string> {
  const program = cachedCollector()
  await buildOnce(program, 'Building the collector from its Go modules', (unfinished) =>
    goBuild({ folder: sourceFolder, program: '.', output: join(unfinished, 'collector') }),
  )
  return program
}

function cachedCollector(): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(sourceFolder, file)))
  return cachedProgram(hash, 'collector')
}
