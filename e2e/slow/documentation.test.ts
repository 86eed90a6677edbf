import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installClient } from '../../scripts/public-client.ts'
import { pagesWithCommands, siteBlocks } from '../support/site-blocks.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { until } from '../support/until.ts'

/** If a block contains the text, its output must match the pattern, which shows that its command did what the page says. */
const expectations = [
  { contained: 'sqd whoami', expected: /admin@acme-labs\.dev/ },
  { contained: '"query"', expected: /"transfers":\s*\[\s*\{/ },
  { contained: 'sqd list -n', expected: /erc20-transfers[\s\S]*prod/ },
  { contained: 'sqd secrets list', expected: /START_BLOCK/ },
  { contained: 'sqd view -n', expected: /"slot":\s*"v1"/ },
  { contained: 'sqd view -r', expected: /erc20-transfers/ },
  { contained: 'sqd logs -n erc20-transfers -s v1 --since', expected: /processor/ },
  { contained: '/v1/orgs -H', expected: /"code":\s*"acme-labs"/ },
]

describe('the commands of the documentation', () => {
  const commands = siteBlocks().filter(({ language, use }) => language === 'sh' && use === 'run')
  let cloud: TestCloud
  /** A token that is limited to the organization of the test, as the pages recommend, so that the client needs no `-o`. */
  let token: string
  let home: string
  let folder: string
  let path: string
  /** The reference of the version that the blocks deployed most recently. */
  let reference = ''

  beforeAll(async () => {
    // The commands deploy a copy of the example that they download: the test can reuse its dependencies, but not its compiled code.
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

  /** Replaces the placeholders and examples of the pages with values of this installation. */
  function fillIn(text: string): string {
    return text
      .replaceAll('https://shoal.example.com', cloud.shoal.url)
      .replaceAll('<token>', token)
      .replaceAll('<address of an RPC node>', cloud.devnet.rpcUrl)
      .replaceAll('<address of the API>', () => cloud.endpointOf(reference))
      .replaceAll('acme-labs', cloud.org)
  }

  /** Runs a block with `bash -e` in the folder in which the previous block ended. Returns its output. */
  async function runBlock(text: string): Promise<string> {
    const env = { PATH: path, HOME: home, SQD_SKIP_NEW_VERSION_CHECK: 'true', SHOAL_TOKEN: token }
    const script = `set -euo pipefail\n${fillIn(text)}\npwd > ${home}/folder`
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

  test.each(pagesWithCommands)('the commands of %s work', async (page) => {
    const blocks = commands.filter((command) => command.page === page)
    expect(blocks).not.toEqual([])
    for (const { line, text } of blocks) {
      if (text.includes('<address of the API>'))
        await until(async () => ((await totalTransfers(cloud.endpointOf(reference))) ?? 0) > 0, 'the squid serves data')
      const output = await runBlock(text).catch((error: Error) => {
        throw new Error(`${page}:${line} ${error.message}`)
      })
      reference = /A new squid [^/]+\/(\S+) has been/.exec(output)?.[1] ?? reference
      for (const { contained, expected } of expectations) if (text.includes(contained)) expect(output).toMatch(expected)
      if (text.includes('-o database.sql.gz'))
        expect(gunzipSync(readFileSync(join(folder, 'database.sql.gz'))).toString()).toContain(
          'create table public.transfer ',
        )
    }
  })
})
