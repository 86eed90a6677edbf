import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  mayRaiseLimits,
  missingForContainer,
  startDebianContainer,
  type DebianContainer,
} from '../../scripts/debian/container.ts'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { releaseName } from '../../scripts/release/stage-release.ts'
import { repositoryRoot } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const missing = missingForContainer()
if (missing) console.log(`The tests of the pages about installing are skipped. ${missing}`)

type Block = { kind: string; commands: string }

/** Returns the blocks of commands of a page. Their kind is the text after `sh`: `server`, `server nginx`, `client`, `here`, `docker`, or nothing. */
function blocksOf(page: string): Block[] {
  const text = readFileSync(join(repositoryRoot, 'docs/install', page), 'utf8')
  return [...text.matchAll(/^```sh ?(.*)\n([^]*?)^```$/gm)].map(([, kind = '', commands = '']) => ({ kind, commands }))
}

/** Blocks without a kind, for the machine of a developer, with the test that runs them. */
const testedElsewhere: Record<string, string> = {
  'npm start': 'scripts/test-fresh.ts',
  'npm run demo': 'e2e/client.test.ts, with the same client',
}

test('a test runs each block of commands', () => {
  const untested = ['README.md', 'try-it.md', 'one-server.md', 'containers.md']
    .flatMap(blocksOf)
    .filter(({ kind, commands }) => kind === '' && !Object.hasOwn(testedElsewhere, commands.split('\n')[0] ?? ''))
  expect(untested).toEqual([])
})

/** A mail server that accepts every sender. */
function startMailServer(): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('220 mail\r\n')
    socket.on('data', (chunk) => void socket.write(chunk.toString().startsWith('QUIT') ? '221 bye\r\n' : '250 ok\r\n'))
  })
  return new Promise((done) => void server.listen(0, '127.0.0.1', () => done(server)))
}

/** Runs every command of the pages, in their order, on a Debian with systemd. */
describe.skipIf(missing)('the pages about installing', { timeout: 1_800_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-pages-'))
  const version = '2.0.0'
  const authority = '/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt'
  let vm: DebianContainer
  let devnet: Devnet
  let mail: Server
  /** The URL of the chain for programs in the container. */
  let chain: URL

  beforeAll(async () => {
    const args = ['scripts/release.ts', '--to', folder, '--version', version]
    execFileSync(process.execPath, args, { cwd: repositoryRoot })
    ;[devnet, mail, vm] = await Promise.all([
      startDevnet({ transfers: 5, isStreaming: false }),
      startMailServer(),
      startDebianContainer(),
    ])
    chain = new URL(devnet.rpcUrl)
    chain.hostname = vm.hostAddress
    await vm.forward(Number(chain.port))
    await vm.forward((mail.address() as AddressInfo).port)
    cpSync(join(repositoryRoot, 'examples/erc20-transfers'), join(vm.folder, 'root/squid'), { recursive: true })
    for (const end of ['.tar.gz', '.tar.gz.sha256'])
      cpSync(join(folder, `${releaseName(version)}${end}`), join(vm.folder, `root/${releaseName(version)}${end}`))
    // These host names resolve to the container itself.
    await vm.run('echo "127.0.0.1 shoal.example.com squids.example.com" >> /etc/hosts')
  }, 900_000)

  afterAll(async () => {
    await vm?.stop()
    mail?.close()
    await devnet?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, 600_000)

  /** Runs a block as a script that ends when a command fails. */
  const runBlock = (commands: string) =>
    vm.run(`cat > /tmp/block <<'END_OF_BLOCK'\nset -e\n${commands}\nEND_OF_BLOCK\nsh /tmp/block`, 600_000)

  /** Waits until the server is ready. After five minutes, runs the command `explain`, which prints why it is not, and throws. */
  const untilReady = (explain = 'journalctl -u shoal --no-pager | tail -50') =>
    vm.run(
      `timeout 300 sh -c 'until curl -sf http://localhost:4000/readyz; do sleep 1; done' || { ${explain} >&2; exit 1; }`,
    )

  const serverBlocks = blocksOf('one-server.md').filter(({ kind }) => kind === 'server')

  /** The blocks of the kind `server` in the page, up to the one that adds a token, and those after it. */
  const [firstBlocks, lastBlocks] = (() => {
    const end = serverBlocks.findIndex(({ commands }) => commands.includes('shoal token add')) + 1
    return [serverBlocks.slice(0, end), serverBlocks.slice(end)]
  })()
  const run = async (blocks: Block[]) => {
    const outputs: string[] = []
    for (const { commands } of blocks) {
      // The host names are not public, so Caddy issues the certificates itself.
      const block = commands.replace("<<'END'\nshoal.", "<<'END'\n{\n  local_certs\n}\nshoal.")
      // The doctor fails, because there is no mail server and no backup yet, and clients do not know the authority of these certificates.
      outputs.push(await runBlock(commands.trim() === 'shoal doctor' ? `${block.trim()} || true` : block))
    }
    return outputs.join('\n')
  }
  let token = ''
  const startedMs = performance.now()

  test('one server: every command works, and the console responds over HTTPS through Caddy', async () => {
    const printed = await run(firstBlocks)
    expect(printed).toContain(`Shoal ${version} is ready`)
    token = /^token +(\S+)$/m.exec(printed)?.[1] ?? ''
    const page = await vm.run(
      `curl -sS --retry 20 --retry-all-errors --retry-delay 1 --cacert ${authority} -H 'accept: text/html' https://shoal.example.com/`,
    )
    expect(page).toContain('<div id="root"')
  })

  test('one server: a squid responds over HTTPS', async () => {
    // Only this test needs these settings, for the chain and the mail server on this machine and the authority of Caddy.
    const settings = {
      SHOAL_NETWORK_ALLOW: chain.host,
      NODE_EXTRA_CA_CERTS: '/usr/local/share/authorities.pem',
      SHOAL_MAIL_URL: `smtp://${vm.hostAddress}:${(mail.address() as AddressInfo).port}`,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"`)
    await vm.run(`cat /etc/ssl/certs/ca-certificates.crt ${authority} > /usr/local/share/authorities.pem`)
    await vm.run(`cat >> /etc/shoal/shoal.env <<'END'\n${lines.join('\n')}\nEND\nsystemctl restart shoal`)
    await untilReady()
    const [block] = blocksOf('one-server.md').filter(({ kind }) => kind === 'client')
    const commands = (block?.commands ?? '')
      .replace('<token>', token)
      .replace('sqd deploy <folder of the squid>', `sqd secrets set RPC_URL ${chain.href}\n$&`)
      .replace('<folder of the squid>', '~/squid --no-interactive --no-stream-logs')
    const printed = await runBlock(`export NODE_EXTRA_CA_CERTS=${authority}\n${commands}`)
    const url = /https:\/\/squids\.example\.com\/[^ @]+@[a-z0-9]+/.exec(printed)?.[0]
    expect(url, printed).toBeDefined()
    const transfers = await devnet.chain.countTransfers()
    const query = `{"query":"{ transfersConnection(orderBy: id_ASC) { totalCount } }"}`
    const queryCount = () =>
      vm.run(
        `curl -sS --cacert ${authority} -H 'content-type: application/json' -d '${query}' ${url}/api/graphql || true`,
      )
    await until(
      async () => (await queryCount()).includes(`"totalCount":${transfers}}`),
      'GraphQL returns all transfers',
    )
    const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1)
    console.log(`From the first command of the page to a squid over HTTPS: ${minutes} minutes.`)
  })

  test('one server: the commands of operators work', async () => {
    const printed = await run(lastBlocks)
    expect(printed).toMatch(/^ok +sandbox/m)
    expect(printed).toMatch(/shoal-\d{4}-\d\d-\d\d-\d{6}\.tar/)
  })

  test('one server: the console and the gateway also respond through nginx, and the doctor reports no problems', async () => {
    await vm.run('systemctl stop caddy')
    // The previous commands have restarted the service.
    await untilReady()
    for (const name of ['shoal', 'squids'])
      await vm.run(
        `mkdir -p /etc/letsencrypt/live/${name}.example.com && cd /etc/letsencrypt/live/${name}.example.com && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=${name}.example.com -addext subjectAltName=DNS:${name}.example.com -keyout privkey.pem -out fullchain.pem 2>/dev/null`,
      )
    for (const { commands } of blocksOf('one-server.md').filter(({ kind }) => kind === 'server nginx'))
      await runBlock(commands)
    const page = await vm.run(
      `curl -sS --cacert /etc/letsencrypt/live/shoal.example.com/fullchain.pem -H 'accept: text/html' https://shoal.example.com/`,
    )
    expect(page).toContain('<div id="root"')
    const squids = await vm.run(
      `curl -sS --cacert /etc/letsencrypt/live/squids.example.com/fullchain.pem -o /dev/null -w '%{http_code}' https://squids.example.com/a/b`,
    )
    expect(squids).toBe('404')
    // The container does not trust these certificates yet.
    await vm.run('cat /etc/letsencrypt/live/*/fullchain.pem >> /usr/local/share/authorities.pem')
    const report = JSON.parse(await vm.run('shoal doctor --json || true')) as {
      checks: { name: string; status: string }[]
    }
    const problems = report.checks.filter(({ status }) => status !== 'ok' && status !== 'skipped')
    expect(problems.filter(({ name }) => name !== 'limits' || mayRaiseLimits)).toEqual([])
  })

  test('try it: a release starts without an installation', async () => {
    await vm.run('shoal uninstall')
    const [unpack, start] = blocksOf('try-it.md').filter(({ kind }) => kind.startsWith('server'))
    await runBlock(unpack?.commands ?? '')
    await vm.run(`nohup sh -c '${start?.commands.trim()}' > /tmp/start.log 2>&1 < /dev/null & echo $! > /tmp/start.pid`)
    await untilReady('cat /tmp/start.log')
    expect(await vm.run('cat /tmp/start.log')).toContain('Shoal is ready')
    await vm.run('pkill -INT -f [s]erver/src/main.ts; while pgrep -f [s]erver/src/main.ts; do sleep 0.2; done')
    expect(await vm.run('pgrep -c postgres || true')).toBe('0\n')
  })
})
