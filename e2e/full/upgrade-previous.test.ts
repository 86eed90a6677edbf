import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  missingForDebianContainer,
  startDebianContainer,
  type DebianContainer,
} from '../../scripts/debian/container.ts'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { releaseName } from '../../scripts/release/stage-release.ts'
import { runningVersion, squidPrograms } from '../support/debian-installation.ts'
import { deployExample } from '../support/deploy-example.ts'
import { buildPreviousRelease, commitOfPreviousRelease, previousVersion } from '../support/previous-release.ts'
import { measureGap } from '../support/response-gap.ts'
import { repositoryRoot } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

const commit = commitOfPreviousRelease()
const missing = missingForDebianContainer() ?? (commit === null ? 'Git has no commit of the previous release.' : null)
if (missing) console.log(`The tests of an upgrade from the previous release are skipped. ${missing}`)

const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as { version: string }

/** Installs the previous release in a Debian container, with a squid, and upgrades it to this one. */
describe.skipIf(missing)('an upgrade from the previous release', { timeout: 1_800_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-upgrade-'))
  let debian: DebianContainer
  let devnet: Devnet
  let sqd: PublicClient
  let endpoint = ''
  /** The process ids and start times of the squid's programs. */
  let programs = ''

  /** Unpacks an archive in the container, runs the shell command `change` in the release, and returns its folder. */
  async function addRelease(archive: string, name: string, change = 'true'): Promise<string> {
    const parent = `/var/releases/${name}`
    await debian.run(`mkdir -p ${parent}`)
    cpSync(archive, join(debian.folder, parent, 'release.tar.gz'))
    await debian.run(
      `cd ${parent} && tar -xzf release.tar.gz && rm release.tar.gz && mv shoal-* shoal && cd shoal && ${change}`,
    )
    return `${parent}/shoal`
  }
  /** Unpacks this release with another version and an additional line at the start of its server. */
  const addBroken = (broken: string, line: string) =>
    addRelease(
      join(folder, 'dist', `${releaseName(version)}.tar.gz`),
      broken,
      `sed -i 's/"version": "${version}"/"version": "${broken}"/' package.json server/package.json && ${line}`,
    )

  const countTransfers = () => totalTransfers(endpoint).catch(() => null)

  /** Checks that the same programs run, that the squid indexes another transfer, and that the data of the control plane is the same. */
  async function expectKept() {
    await devnet.chain.transfer(1)
    const transfers = await devnet.chain.countTransfers()
    await until(async () => (await countTransfers()) === transfers, 'GraphQL returns the new transfer', 240_000)
    expect(await squidPrograms(debian)).toBe(programs)
    expect((await sqd('list')).stdout).toContain('erc20-transfers')
    expect((await sqd('secrets', 'list')).stdout).toContain('RPC_URL')
  }

  beforeAll(async () => {
    mkdirSync(join(folder, 'dist'))
    execFileSync(process.execPath, ['scripts/release.ts', '--to', join(folder, 'dist')], { cwd: repositoryRoot })
    const previous = buildPreviousRelease(commit ?? '', folder)
    devnet = await startDevnet({ transfers: 5, isStreaming: false })
    sqd = await openClient()
    debian = await startDebianContainer()
    await debian.exposeHostPort(Number(new URL(devnet.rpcUrl).port))
    const release = await addRelease(previous, previousVersion)
    const [url, gatewayUrl] = [`http://${debian.address}:4000`, `http://${debian.address}:4001`]
    const flags = `--public-url ${url} --gateway-url ${gatewayUrl}/{org} --set SHOAL_HOST=0.0.0.0 --set SHOAL_NETWORK_ALLOW=${debian.hostAddress}:${new URL(devnet.rpcUrl).port}`
    await debian.run(`${release}/bin/shoal install ${flags}`)
    endpoint = await deployExample(sqd, {
      shoal: (...args) => debian.run(`shoal ${args.join(' ')}`),
      url,
      gatewayUrl,
      rpcUrl: devnet.rpcUrl.replace('127.0.0.1', debian.hostAddress),
    })
    programs = await squidPrograms(debian)
  }, 1_800_000)

  afterAll(async () => {
    sqd?.close()
    await devnet?.stop()
    await debian?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, 600_000)

  test('the previous release runs, with a squid', async () => {
    expect(await runningVersion(debian)).toBe(previousVersion)
    await expectKept()
  })

  test.for([
    // The first one never opens the database; the second one migrates it, and may become ready.
    [
      'never becomes ready',
      'stuck',
      `sed -i '1i await new Promise(() => setInterval(() => {}, 1e6))' server/src/main.ts`,
    ],
    [
      'migrates and then ends',
      'ended',
      `echo 'setTimeout(() => process.exit(3), 20000)' >> server/src/installation/version.ts`,
    ],
  ])('after an upgrade to a release that %s, the previous one runs again', async ([, name = '', line = '']) => {
    const broken = `${version}-${name}`
    const release = await addBroken(broken, line)
    await expect(debian.run(`${release}/bin/shoal upgrade --timeout 60`)).rejects.toThrow(
      `Version ${previousVersion} runs again.`,
    )
    expect(await runningVersion(debian)).toBe(previousVersion)
    await expectKept()
  })

  test('an upgrade to this release keeps the data and the running squid', async () => {
    const release = await addRelease(join(folder, 'dist', `${releaseName(version)}.tar.gz`), version)
    let printed = ''
    const { gapMs } = await measureGap(
      async () => (await countTransfers()) !== null,
      async () => (printed = await debian.run(`${release}/bin/shoal upgrade`)),
    )
    console.log(`Upgrade from ${previousVersion} to ${version}: no response of the squid for ${gapMs} ms.`)
    expect(printed).toContain(`Version ${version} is ready.`)
    expect(await runningVersion(debian)).toBe(version)
    expect(await debian.run(`ls /var/backups/shoal/shoal-before-${version}-[0-9]*.tar`)).toContain(version)
    await expectKept()
  })
})
