import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mayRaiseLimits, missingForDebianContainer } from '../../scripts/debian/container.ts'
import { authorities, npmRegistry } from '../../scripts/debian/files.ts'
import { hasPebble, startPebble, type Pebble } from '../../scripts/pebble.ts'
import { type CheckResult, doctorReport, type Fault, faults, hostFaults, worsened } from '../support/doctor-faults.ts'
import { blocksOf, startInstallContainer, type InstallContainer } from '../support/install-pages.ts'
import { promisedLimitMs } from '../support/tier.ts'
import { until } from '../support/until.ts'

const missing =
  missingForDebianContainer() ?? (hasPebble() ? null : 'Pebble, an ACME authority, cannot be built without Go.')
if (missing) console.log(`The tests of a new server with SHOAL_TLS=acme are skipped. ${missing}`)

/** The file in the container with all authorities that its programs trust. */
const trustedAuthorities = '/usr/local/share/authorities.pem'

/** Runs the commands of the page "one server" on a Debian that has only systemd. Shoal orders its certificates from Pebble. */
describe.skipIf(missing)('a new server with SHOAL_TLS=acme', { timeout: 1_800_000 }, () => {
  const version = '2.0.0'
  let container: InstallContainer
  let pebble: Pebble

  beforeAll(async () => {
    container = await startInstallContainer(version, 'bare')
    const { debian, chain, mailUrl } = container
    pebble = await startPebble({ address: debian.address })
    const directory = new URL(pebble.settings.SHOAL_ACME_DIRECTORY_URL)
    await debian.exposeHostPort(Number(directory.port))
    // The certificate of Pebble's own API contains the name `pebble`.
    directory.hostname = 'pebble'
    await debian.run(`echo "${debian.hostAddress} pebble" >> /etc/hosts; mkdir -p /etc/shoal`)
    const root = await pebble.root()
    const certificates = [authorities, pebble.settings.SHOAL_ACME_CA_FILE].map((file) => readFileSync(file, 'utf8'))
    writeFileSync(join(debian.folder, trustedAuthorities), [...certificates, root].join('\n'))
    writeFileSync(join(debian.folder, 'root/.npmrc'), `registry=${npmRegistry()}\ncafile=${authorities}\n`)
    writeFileSync(
      join(debian.folder, 'etc/rpc.json'),
      JSON.stringify({ chains: { devnet: { upstreams: [{ url: chain.href }] } } }),
    )
    // Only this test needs these settings: its authority, chain, mail server and npm registry.
    const settings = {
      SHOAL_ACME_DIRECTORY_URL: directory.href,
      SHOAL_ACME_CA_FILE: trustedAuthorities,
      SHOAL_NETWORK_ALLOW: chain.host,
      SHOAL_RPC_CONFIG: '/etc/rpc.json',
      SHOAL_MAIL_URL: mailUrl,
      NODE_EXTRA_CA_CERTS: trustedAuthorities,
      NPM_CONFIG_REGISTRY: npmRegistry(),
      NPM_CONFIG_CAFILE: authorities,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`)
    writeFileSync(join(debian.folder, 'etc/shoal/shoal.env'), lines.join(''))
  }, 900_000)

  afterAll(async () => {
    await pebble?.end()
    await container?.end()
  }, 600_000)

  const blocksWith = (isIncluded: (commands: string) => boolean, kinds = ['server', 'server acme']) =>
    blocksOf('one-server.md').filter(({ kind, commands }) => kinds.includes(kind) && isIncluded(commands))

  test('following only the page, a squid responds over HTTPS with a certificate of Pebble within ten minutes', async () => {
    const startedMs = performance.now()
    const blocks = blocksWith(() => true)
    const last = blocks.findIndex(({ commands }) => commands.includes('shoal token add'))
    let printed = ''
    for (const { commands } of blocks.slice(0, last + 1)) printed += await container.runBlock(commands)
    expect(printed).toContain(`Shoal ${version} is ready`)
    const token = /^token +(\S+)$/m.exec(printed)?.[1] ?? ''
    // The page says that the certificates arrive within a minute.
    const statusCommand = `curl -sS --cacert ${trustedAuthorities} -o /dev/null -w '%{http_code}' https://shoal.example.com/healthz || true`
    await until(
      async () => (await container.debian.run(statusCommand)).endsWith('200'),
      'the console has a certificate',
    )
    expect(await container.deploySquid(token, trustedAuthorities)).toMatch(/^https:/)
    const tookMs = performance.now() - startedMs
    console.log(`From the first command of the page to a squid over HTTPS: ${(tookMs / 60_000).toFixed(1)} minutes.`)
    const issuer = await container.debian.run(
      'openssl s_client -connect squids.example.com:443 -servername squids.example.com < /dev/null 2>/dev/null | openssl x509 -noout -issuer',
    )
    expect(issuer).toContain('Pebble')
    expect(tookMs).toBeLessThan(promisedLimitMs(600_000))
  })

  const statuses = (report: CheckResult[]) => report.map(({ name, status }) => `${name}: ${status}`)
  const isSame = (a: CheckResult[], b: CheckResult[]) => statuses(a).join() === statuses(b).join()

  // Only a machine whose systemd may raise limits can give the service more open files.
  const problemsIn = (report: CheckResult[]) =>
    report
      .filter(({ status }) => status !== 'ok' && status !== 'skipped')
      .filter(({ name }) => name !== 'limits' || mayRaiseLimits)

  test('after a backup, the doctor reports no problem', async () => {
    for (const { commands } of blocksWith((text) => text.includes('shoal-backup.service')))
      await container.runBlock(commands)
    expect(problemsIn(await doctorReport(container.debian))).toEqual([])
  })

  /** Breaks the installation, compares the doctor's report with `before`, and repairs the installation. */
  async function expectReported(
    { checks, consequences = [], commands, restore, ...doctor }: Fault,
    before: CheckResult[],
  ) {
    const { debian } = container
    if (commands) await debian.run(commands(container))
    try {
      const worse = worsened(before, await doctorReport(debian, doctor))
      const names = worse.map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining(checks))
      expect(worse.filter(({ name }) => ![...checks, ...consequences].includes(name))).toEqual([])
      for (const { name, remedy } of worse) expect(remedy, name).toBeTruthy()
    } finally {
      if (restore) {
        await debian.run(restore)
        // Even after a failure, so that the next test begins with a working installation.
        await until(async () => isSame(await doctorReport(debian), before), 'the report is as before', 300_000)
      }
    }
  }

  describe('the doctor reports what is broken, and nothing else', () => {
    let before: CheckResult[] = []
    beforeAll(async () => {
      const healthyReport = async () => {
        const report = await doctorReport(container.debian)
        return problemsIn(report).length === 0 ? report : null
      }
      before = await until(healthyReport, 'the doctor reports no problem', 300_000)
    }, 600_000)

    test('each check is tested below', () => {
      const tested = [...faults, ...hostFaults].flatMap(({ checks }) => checks)
      expect([...new Set(before.map(({ name }) => name))].filter((name) => !tested.includes(name))).toEqual([])
    })

    test.for(faults)('$name', (fault) => expectReported(fault, before))
  })

  describe('while the server is stopped, the doctor reports the protections that do not work, and nothing else', () => {
    let before: CheckResult[] = []
    beforeAll(async () => {
      await container.debian.run('systemctl stop shoal')
      before = await doctorReport(container.debian)
    })
    afterAll(async () => {
      await container.debian.run('systemctl start shoal')
      await container.untilReady()
    })

    test.for(hostFaults)('$name', (fault) => expectReported(fault, before))
  })
})
