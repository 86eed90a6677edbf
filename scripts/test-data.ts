import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { root } from './root.ts'

/**
 * Creates the data directory `dir` of an installation without users: a stopped Postgres cluster with Shoal's tables. Each server in
 * the tests uses a copy, since creating a new one would take a few seconds.
 * @throws Error when the directory cannot be created
 */
export async function installTestData(dir: string): Promise<void> {
  const env = { ...process.env, SHOAL_DATA_DIR: dir }
  const { code, output } = await runCommand('node', [join(root, 'server/src/cli.ts'), 'status', '--json'], { env })
  if (code !== 0) throw new Error(`The data directory of the tests could not be created: ${output}`)
  // The server that uses a copy selects its own port and creates its own locks.
  const clusterFiles = ['postgres', 'postgres-squids'].flatMap((name) => [`${name}/port`, `${name}/start.lock`])
  for (const name of ['locks', ...clusterFiles]) rmSync(join(dir, name), { recursive: true, force: true })
}
