import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installClient } from '../../scripts/public-client.ts'
import { siteBlocks } from '../support/site-blocks.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { until } from '../support/until.ts'

/** The pages whose commands are executed, in this order. Those of the other pages need more of an installation, and are not executed yet. */
const order = ['index.md', 'organizations.md', 'api/index.md']

describe('the commands of the documentation', () => {
  const commands = siteBlocks().filter(({ language, use }) => language === 'sh' && use === 'run')
  let cloud: TestCloud
  /** Limited to the organization, as the pages recommend: the client then needs no `-o`. */
  let token: string
  let home: string
  let folder: string
  let path: string

  beforeAll(async () => {
    // The archive of the example squid is downloaded, so its dependencies come from the cache.
    const [client, started] = await Promise.all([installClient(), startTestCloud({ prebuilt: 'dependencies' })])
    cloud = started
    const options = [
      '--email',
      `admin@${cloud.org}.dev`,
      '--name',
      'documentation',
      '--scope',
      'admin',
      '--code',
      cloud.org,
    ]
    token = (await cloud.shoal.cli<{ token: string }>('token', 'add', ...options)).token
    home = mkdtempSync(join(tmpdir(), 'shoal-docs-'))
    folder = home
    mkdirSync(join(home, 'bin'))
    writeFileSync(join(home, 'bin/sqd'), `#!/bin/sh\nexec ${process.execPath} ${client} "$@"\n`, { mode: 0o755 })
    path = [join(home, 'bin'), dirname(process.execPath), process.env['PATH']].join(':')
  })

  afterAll(async () => {
    if (home) rmSync(home, { recursive: true, force: true })
    await cloud?.end()
  })

  /** Replaces the examples of the pages by what this installation has. */
  function filledIn(text: string): string {
    return text
      .replaceAll('https://shoal.example.com', cloud.shoal.url)
      .replaceAll('<token>', token)
      .replaceAll('<address of an RPC node>', cloud.devnet.rpcUrl)
      .replaceAll('<address of the API>', () => cloud.endpointOf(reference))
      .replaceAll('acme-labs', cloud.org)
  }
  let reference = ''

  /** Runs a block as `bash -e` in the folder where the block before ended. Resolves with its output. */
  async function runBlock(text: string): Promise<string> {
    const env = { PATH: path, HOME: home, SQD_SKIP_NEW_VERSION_CHECK: 'true', SHOAL_TOKEN: token }
    const script = `set -euo pipefail\n${filledIn(text)}\npwd > ${home}/folder`
    const output = await new Promise<string>((resolve, reject) => {
      execFile('bash', ['-c', script], { cwd: folder, env, maxBuffer: 50_000_000 }, (error, stdout, stderr) => {
        const all = stripVTControlCharacters(stdout + stderr)
        if (error) reject(new Error(`${script}\n\n${all}`, { cause: error }))
        else resolve(all)
      }).stdin?.end()
    })
    folder = readFileSync(join(home, 'folder'), 'utf8').trim()
    return output
  }

  test.each(order)('%s', async (page) => {
    const blocks = commands.filter((command) => command.page === page)
    expect(blocks).not.toEqual([])
    for (const { line, text } of blocks) {
      if (text.includes('<address of the API>'))
        await until(async () => ((await totalTransfers(cloud.endpointOf(reference))) ?? 0) > 0, 'the squid serves data')
      const output = await runBlock(text).catch((error: Error) => {
        throw new Error(`${page}:${line} ${error.message}`)
      })
      reference = /A new squid [^/]+\/(\S+) has been/.exec(output)?.[1] ?? reference
      if (text.includes('whoami')) expect(output).toContain('admin@acme-labs.dev')
      if (text.includes('query')) expect(output).toMatch(/"transfers":\s*\[\s*\{/)
    }
  })
})
