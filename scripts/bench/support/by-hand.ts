import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../e2e/support/free-port.ts'
import { startEmbeddedPostgres } from '../../../runtime/src/postgres/embedded-postgres.ts'
import { runCommand } from '../../command.ts'
import { makeFolderForAllUsers } from '../../temporary-folders.ts'
import { readyAtMs, copyExample } from './squid.ts'

/**
 * Runs the commands that a user without Shoal would run: installs with an empty npm cache, builds, migrates, and starts the processor
 * and the API. Returns the seconds until the API returns the expected data, without the time to create the database.
 */
export async function deployByHand(rpcUrl: string, transfers: number): Promise<number> {
  const cwd = copyExample()
  const postgres = await startEmbeddedPostgres({ dir: makeFolderForAllUsers('pg-') })
  const port = await freePort()
  const env = {
    ...process.env,
    PATH: machinePath(),
    npm_config_cache: mkdtempSync(join(tmpdir(), 'npm-')),
    DB_URL: postgres.url('postgres'),
    RPC_URL: rpcUrl,
    GQL_PORT: `${port}`,
  }
  const runNpm = async (...args: string[]) => {
    const { code, output } = await runCommand('npm', args, { cwd, env })
    if (code !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${output.slice(-2000)}`)
  }
  const programs: ChildProcess[] = []
  const start = (...args: string[]) => programs.push(spawn('node', args, { cwd, env, stdio: 'ignore' }))
  try {
    const startedAt = performance.now()
    await runNpm('ci', '--no-audit', '--no-fund')
    await runNpm('run', 'build')
    await runNpm('run', 'migration:apply')
    start('lib/main.js')
    start('node_modules/@subsquid/graphql-server/bin/run.js')
    return ((await readyAtMs(`http://127.0.0.1:${port}/graphql`, transfers)) - startedAt) / 1000
  } finally {
    for (const program of programs) program.kill('SIGKILL')
    await postgres.stop()
  }
}

/** Returns PATH without the folders that npm adds, so that commands use the machine's Node instead of Shoal's. */
function machinePath(): string {
  const folders = (process.env.PATH ?? '').split(':')
  return folders.filter((folder) => !/\/node_modules\/(\.bin|npm\/.*)$/.test(folder)).join(':')
}
