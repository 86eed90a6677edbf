import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mayRaiseLimits, missingForDebianContainer } from '../../scripts/debian/container.ts'
import { blocksOf, startInstallContainer, type Block, type InstallContainer } from '../support/install-pages.ts'

const missing = missingForDebianContainer()
if (missing) console.log(`The tests of the pages about installing are skipped. ${missing}`)

/** The test of each block without a kind (the text after `sh`), by the block's first command. These blocks are for a developer's machine. */
const testedElsewhere: Record<string, string> = {
  'npm start': 'scripts/test-fresh.ts',
  'npm run demo': 'e2e/full/demo.test.ts',
}

test('every block of commands in the pages is covered by a test', () => {
  const untested = ['README.md', 'try-it.md', 'one-server.md', 'containers.md', 'kubernetes.md']
    .flatMap(blocksOf)
    .filter(({ kind, commands }) => kind === '' && !Object.hasOwn(testedElsewhere, commands.split('\n')[0] ?? ''))
  expect(untested).toEqual([])
})

/** Runs every command of the pages, in their order, in a Debian container with systemd as process 1. */
describe.skipIf(missing)('the pages about installing', { timeout: 1_800_000 }, () => {
  const version = '2.0.0'
  /** The certificate of Caddy's own authority. */
  const authority = '/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt'
  let container: InstallContainer

  beforeAll(async () => {
    container = await startInstallContainer(version, 'complete')
  }, 900_000)

  afterAll(() => container?.end(), 600_000)

  const serverBlocks = blocksOf('one-server.md').filter(({ kind }) => kind === 'server' || kind === 'server caddy')

  /** The blocks up to the one that adds a token, and the blocks after it. */
  const [firstBlocks, lastBlocks] = (() => {
    const end = serverBlocks.findIndex(({ commands }) => commands.includes('shoal token add')) + 1
    return [serverBlocks.slice(0, end), serverBlocks.slice(end)]
  })()
  const run = async (blocks: Block[]) => {
    const outputs: string[] = []
    for (const { commands } of blocks) {
      // The host names are not public, so Caddy issues the certificates itself.
      const block = commands.replace("<<'END'\nshoal.", "<<'END'\n{\n  local_certs\n}\nshoal.")
      // The doctor fails, because there is no mail server and no backup yet, and its requests fail because it does not trust Caddy's own authority.
      outputs.push(await container.runBlock(commands.trim() === 'shoal doctor' ? `${block.trim()} || true` : block))
    }
    return outputs.join('\n')
  }
  let token = ''
  const startedMs = performance.now()

  test('one server: every command works, and the console responds over HTTPS through Caddy', async () => {
    const printed = await run(firstBlocks)
    expect(printed).toContain(`Shoal ${version} is ready`)
    token = /^token +(\S+)$/m.exec(printed)?.[1] ?? ''
    const page = await container.debian.run(
      `curl -sS --retry 20 --retry-all-errors --retry-delay 1 --cacert ${authority} -H 'accept: text/html' https://shoal.example.com/`,
    )
    expect(page).toContain('<div id="root"')
  })

  test('one server: a squid responds over HTTPS', async () => {
    // A real installation does not need these settings. They are for the chain and the mail server on this machine, and for Caddy's authority.
    const settings = {
      SHOAL_NETWORK_ALLOW: container.chain.host,
      NODE_EXTRA_CA_CERTS: '/usr/local/share/authorities.pem',
      SHOAL_MAIL_URL: container.mailUrl,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"`)
    await container.debian.run(`cat /etc/ssl/certs/ca-certificates.crt ${authority} > /usr/local/share/authorities.pem`)
    await container.debian.run(`cat >> /etc/shoal/shoal.env <<'END'\n${lines.join('\n')}\nEND\nsystemctl restart shoal`)
    await container.untilReady()
    expect(await container.deploySquid(token, authority)).toMatch(/^https:/)
    const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1)
    console.log(`From the first command of the page to a squid over HTTPS: ${minutes} minutes.`)
  })

  test('one server: the commands of operators work', async () => {
    const printed = await run(lastBlocks)
    expect(printed).toMatch(/^ok +sandbox/m)
    expect(printed).toMatch(/shoal-\d{4}-\d\d-\d\d-\d{6}\.tar/)
  })

  test('one server: the console and the gateway also respond through nginx, and the doctor reports no problems', async () => {
    await container.debian.run('systemctl stop caddy')
    // The previous commands have restarted the service.
    await container.untilReady()
    for (const name of ['shoal', 'squids'])
      await container.debian.run(
        `mkdir -p /etc/letsencrypt/live/${name}.example.com && cd /etc/letsencrypt/live/${name}.example.com && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=${name}.example.com -addext subjectAltName=DNS:${name}.example.com -keyout privkey.pem -out fullchain.pem 2>/dev/null`,
      )
    for (const { commands } of blocksOf('one-server.md').filter(({ kind }) => kind === 'server nginx'))
      await container.runBlock(commands)
    const page = await container.debian.run(
      `curl -sS --cacert /etc/letsencrypt/live/shoal.example.com/fullchain.pem -H 'accept: text/html' https://shoal.example.com/`,
    )
    expect(page).toContain('<div id="root"')
    const squids = await container.debian.run(
      `curl -sS --cacert /etc/letsencrypt/live/squids.example.com/fullchain.pem -o /dev/null -w '%{http_code}' https://squids.example.com/a/b`,
    )
    expect(squids).toBe('404')
    // The container does not trust these certificates yet.
    await container.debian.run('cat /etc/letsencrypt/live/*/fullchain.pem >> /usr/local/share/authorities.pem')
    const report = JSON.parse(await container.debian.run('shoal doctor --json || true')) as {
      checks: { name: string; status: string }[]
    }
    const problems = report.checks.filter(({ status }) => status !== 'ok' && status !== 'skipped')
    // The container reaches no public nodes of chains.
    const unexpected = problems.filter(({ name }) => name !== 'RPC nodes' && (name !== 'limits' || mayRaiseLimits))
    expect(unexpected).toEqual([])
  })

  test('try it: a release starts without an installation', async () => {
    await container.debian.run('shoal uninstall')
    const [unpack, start] = blocksOf('try-it.md').filter(({ kind }) => kind.startsWith('server'))
    await container.runBlock(unpack?.commands ?? '')
    await container.debian.run(
      `nohup sh -c '${start?.commands.trim()}' > /tmp/start.log 2>&1 < /dev/null & echo $! > /tmp/start.pid`,
    )
    await container.untilReady('cat /tmp/start.log')
    expect(await container.debian.run('cat /tmp/start.log')).toContain('Shoal is ready')
    await container.debian.run(
      'pkill -INT -f [s]erver/src/main.ts; while pgrep -f [s]erver/src/main.ts; do sleep 0.2; done',
    )
    expect(await container.debian.run('pgrep -c postgres || true')).toBe('0\n')
  })
})
