import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { endLeftovers, endProcessesOf } from '../../scripts/leftovers.ts'
import { freePort } from '../support/free-port.ts'
import { hostEnvironment, repositoryRoot } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

test(
  'npm run demo starts a server, deploys the example squid, prints its data, and ends everything on Ctrl-C',
  { timeout: 600_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-demo-'))
    onTestFinished(() => {
      endProcessesOf(folder)
      rmSync(folder, { recursive: true, force: true })
    })
    const env = {
      ...hostEnvironment(),
      TMPDIR: folder,
      SHOAL_DATA_DIR: join(folder, 'data'),
      SHOAL_PORT: String(await freePort()),
      SHOAL_GATEWAY_PORT: String(await freePort()),
    }
    // In a separate process group, as in a terminal.
    const demo = spawn(process.execPath, [join(repositoryRoot, 'scripts/run.mjs'), 'demo'], {
      env,
      cwd: repositoryRoot,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const ended = new Promise<number | null>((resolve) => demo.once('exit', resolve))
    await until(
      () => {
        if (demo.exitCode !== null) throw new Error(`The demo ended:\n${output}`)
        return output.includes('Ctrl-C ends the demo')
      },
      'the demo prints the data of the squid',
      400_000,
    )
    const [, endpoint = ''] = /^GraphQL +(\S+)$/m.exec(output) ?? []
    expect(output).toMatch(/^Response +.*"totalCount":\d{3}/m)
    const count = (await totalTransfers(endpoint)) ?? Infinity
    await until(async () => ((await totalTransfers(endpoint)) ?? 0) > count, 'the squid indexes new transfers')
    process.kill(-(demo.pid ?? 0), 'SIGINT')
    expect(await ended, output).toBe(0)
    expect(await endLeftovers(folder)).toEqual([])
  },
)
