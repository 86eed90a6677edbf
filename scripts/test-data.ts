import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { root } from './root.ts'

/**
 * Creates `dir`, the data directory of an installation without users: a stopped Postgres cluster with Shoal's tables. Each server in the
 * tests uses a copy, since creating another cluster would take a few seconds. Every command that opens the database, such as `status`,
 * first creates and migrates it.
 * @throws Error when the directory cannot be created
 */
export async function createTestData(dir: string): Promise<void> {
  const env = { ...process.env, SHOAL_DATA_DIR: dir }
  const { code, output } = await runCommand('node', [join(root, 'server/src/cli.ts'), 'status', '--json'], { env })
  if (code !== 0) throw new Error(`Creating the data directory of the tests failed: ${output}`)
  // A server that uses a copy selects its own port and creates its own locks.
  const clusterFiles = ['postgres', 'postgres-squids'].flatMap((name) => [`${name}/port`, `${name}/start.lock`])
  for (const name of ['locks', ...clusterFiles]) rmSync(join(dir, name), { recursive: true, force: true })
}
