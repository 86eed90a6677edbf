import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { root } from './root.ts'

/**
 * Makes `dir` the data directory of an installation that has no users yet, and that no process serves: a cluster of Postgres
 * with the tables of Shoal. Each server of tests gets a copy, where making its own would take it a few seconds.
 * @throws Error when it cannot be made
 */
export async function installTestData(dir: string): Promise<void> {
  const env = { ...process.env, SHOAL_DATA_DIR: dir }
  const { code, output } = await runCommand('node', [join(root, 'server/src/cli.ts'), 'status', '--json'], { env })
  if (code !== 0) throw new Error(`The data directory of the tests could not be made: ${output}`)
  // Each copy gets a port of its own, and no lock.
  for (const name of ['locks', 'postgres/port', 'postgres/start.lock'])
    rmSync(join(dir, name), { recursive: true, force: true })
}
