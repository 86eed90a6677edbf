import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  mayRaiseLimits,
  missingForDebianContainer,
  startDebianContainer,
  type DebianContainer,
} from '../../scripts/debian/container.ts'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { releaseName } from '../../scripts/release/stage-release.ts'
import { blocksOf } from '../support/install-pages.ts'
import { runningVersion, squidPrograms } from '../support/debian-installation.ts'
import { deployExample } from '../support/deploy-example.ts'
import { measureGap } from '../support/response-gap.ts'
import { repositoryRoot } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { promisedLimitMs } from '../support/tier.ts'
import { until } from '../support/until.ts'

const missing = missingForDebianContainer()
if (missing) console.log(`The installation tests are skipped. ${missing}`)

const versions = { first: '1.0.0', second: '1.1.0', broken: '1.2.0', stuck: '1.3.0' }

/** Installs, upgrades and removes Shoal in a Debian container with systemd as process 1. */
describe.skipIf(missing)('an installation as a systemd service', { timeout: 1_800_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-install-'))
  let debian: DebianContainer
  /** The URLs of the console and of the gateway. */
  let url = ''
  let gatewayUrl = ''
  let devnet: Devnet
  let sqd: PublicClient
  let endpoint = ''

  /** Unpacks a release with this version in the container, and runs the shell command `change` in its folder. Returns the folder. */
  async function addRelease(version: string, change = 'true'): Promise<string> {
    const name = releaseName(version)
    const parent = `/var/releases/${version}`
    await debian.run(`mkdir -p ${parent} && tar -xzf /var/release.tar.gz -C ${parent}`)
    if (version !== versions.first) await debian.run(`mv ${parent}/${releaseName(versions.first)} ${parent}/${name}`)
    const path = `/var/releases/${version}/${name}`
    // All releases come from one archive, because they differ only in their versions and in what `change` does.
    await debian.run(
      `cd ${path} && sed -i 's/"version": "${versions.first}"/"version": "${version}"/' package.json server/package.json && ${change}`,
    )
    return path
  }

  const countTransfers = () => totalTransfers(endpoint).catch(() => null)
  const untilSquidResponds = () => until(async () => (await countTransfers()) !== null, 'the squid responds', 240_000)

  const installFlags = () =>
    `--public-url ${url} --gateway-url ${gatewayUrl}/{org} --set SHOAL_HOST=0.0.0.0 --set SHOAL_NETWORK_ALLOW=${debian.hostAddress}:${new URL(devnet.rpcUrl).port}`

  const doctor = async () =>
    (
      JSON.parse(await debian.run('shoal doctor --json || true')) as {
        checks: { name: string; status: string; finding: string }[]
      }
    ).checks

  const deploy = () =>
    deployExample(sqd, {
      shoal: (...args) => debian.run(`shoal ${args.join(' ')}`),
      url,
      gatewayUrl,
      rpcUrl: devnet.rpcUrl.replace('127.0.0.1', debian.hostAddress),
    })

  beforeAll(async () => {
    mkdirSync(join(folder, 'dist'))
    execFileSync(process.execPath, ['scripts/release.ts', '--to', join(folder, 'dist'), '--version', versions.first], {
      cwd: repositoryRoot,
    })
    devnet = await startDevnet({ transfers: 5, isStreaming: false })
    sqd = await openClient()
    debian = await startDebianContainer()
    await debian.exposeHostPort(Number(new URL(devnet.rpcUrl).port))
    ;[url, gatewayUrl] = [`http://${debian.address}:4000`, `http://${debian.address}:4001`]
    cpSync(join(folder, 'dist', `${releaseName(versions.first)}.tar.gz`), join(debian.folder, 'var/release.tar.gz'))
  }, 900_000)

  afterAll(async () => {
    sqd?.close()
    await devnet?.stop()
    await debian?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, 600_000)

  test('--dry-run prints every step and changes nothing', async () => {
    const release = await addRelease(versions.first)
    const output = await debian.run(`${release}/bin/shoal install --dry-run`)
    for (const text of ['/opt/shoal/current', '/etc/shoal/shoal.env', 'shoal.service', 'enable and start'])
      expect(output).toContain(text)
    expect(await debian.run('ls -d /opt/shoal /etc/shoal /var/lib/shoal-data 2>/dev/null || true')).toBe('')
  })

  test('the service becomes ready, with a sandbox and a user for each version, and a repeated installation changes nothing', async () => {
    const release = `/var/releases/${versions.first}/${releaseName(versions.first)}`
    const flags = installFlags()
    const output = await debian.run(`${release}/bin/shoal install ${flags}`)
    expect(output).toContain(`Shoal ${versions.first} is ready`)
    const again = await debian.run(`${release}/bin/shoal install ${flags}`)
    // The line of a step that changes something begins with `now`.
    const changes = again.split('\n').filter((line) => /^ {2}now/.test(line))
    expect(changes).toEqual([])
    const names = (await doctor())
      .filter(({ status }) => status !== 'ok' && status !== 'skipped')
      .map(({ name }) => name)
      // The public nodes respond only if the internet can be reached.
      .filter((name) => name !== 'RPC nodes')
    // This installation has no mail server and no backup, and neither of its two origins has a certificate.
    const expected = ['mail', 'backup', 'certificates', 'certificates']
    expect(names).toEqual(mayRaiseLimits ? expected : ['limits', ...expected])
    const process = await debian.run('cat /proc/$(systemctl show shoal --property=MainPID --value)/status')
    expect(process).toMatch(/^NoNewPrivs:\t1$/m)
    expect(process).toMatch(/^Seccomp:\t2$/m)
    // CAP_SYS_MODULE is bit 16, CAP_SYS_TIME bit 25, CAP_SYSLOG bit 34, CAP_BPF bit 39.
    const capabilities = BigInt(`0x${/^CapBnd:\t([0-9a-f]+)$/m.exec(process)?.[1]}`)
    expect([16n, 25n, 34n, 39n].filter((bit) => (capabilities >> bit) & 1n)).toEqual([])
    expect(await debian.run('systemctl is-active shoal.socket')).toBe('active\n')
    expect(await debian.run('systemctl is-enabled shoal.service shoal-backup.timer')).toBe('enabled\nenabled\n')
    expect(await debian.run('stat -c %a:%U /etc/shoal/shoal.env /var/backups/shoal')).toBe('600:root\n700:root\n')
  })

  test('a squid is deployed with the public client, and keeps running while the service restarts; no request fails, and the slowest takes less than 20 seconds', async () => {
    endpoint = await deploy()
    const transfers = await devnet.chain.countTransfers()
    await until(async () => (await countTransfers()) === transfers, 'GraphQL returns all transfers', 240_000)

    const programs = await squidPrograms(debian)
    expect(programs.split('\n').length).toBeGreaterThan(1)
    const { gapMs, failed } = await measureGap(
      async () => (await countTransfers()) !== null,
      () => debian.run('systemctl restart shoal'),
    )
    console.log(`systemctl restart: no response of the squid for ${gapMs} ms.`)
    expect(failed).toBe(0)
    expect(gapMs).toBeLessThan(promisedLimitMs(20_000))
    expect(await squidPrograms(debian)).toBe(programs)
    expect(await debian.run('journalctl -u shoal --no-pager | grep -c "server ended" || true')).toBe('0\n')
  })

  test('when the service is stopped, its ports are closed until it is started', async () => {
    await debian.run('systemctl stop shoal')
    expect(await debian.run('systemctl is-active shoal.service shoal.socket || true')).toBe('inactive\ninactive\n')
    await expect(fetch(url)).rejects.toThrow('fetch failed')
    await debian.run('systemctl start shoal')
    expect(await debian.run('systemctl is-active shoal.socket')).toBe('active\n')
    await untilSquidResponds()
  })

  test('another port replaces the previous one', async () => {
    const release = `/opt/shoal/releases/${versions.first}`
    const ports = () => debian.run("ss -Hltn 'sport = :4001 or sport = :4002' | awk '{print $4}' | sort -u")
    await debian.run(`${release}/bin/shoal install ${installFlags()} --set SHOAL_GATEWAY_PORT=4002`)
    expect(await ports()).toBe('0.0.0.0:4002\n')
    await debian.run(`${release}/bin/shoal install ${installFlags()} --set SHOAL_GATEWAY_PORT=4001`)
    expect(await ports()).toBe('0.0.0.0:4001\n')
    await untilSquidResponds()
  })

  test('an upgrade makes a backup, runs the new version, and leaves the squid running', async () => {
    const programs = await squidPrograms(debian)
    const release = await addRelease(versions.second)
    expect(await debian.run(`${release}/bin/shoal upgrade --dry-run`)).toContain('would')
    expect(await runningVersion(debian)).toBe(versions.first)
    let output = ''
    const { gapMs, failed } = await measureGap(
      async () => (await countTransfers()) !== null,
      async () => (output = await debian.run(`${release}/bin/shoal upgrade`)),
    )
    console.log(`shoal upgrade: no response of the squid for ${gapMs} ms.`)
    expect(failed).toBe(0)
    expect(output).toContain(`Version ${versions.second} is ready.`)
    expect(await runningVersion(debian)).toBe(versions.second)
    expect(await debian.run('readlink /opt/shoal/current')).toBe(`/opt/shoal/releases/${versions.second}\n`)
    expect(await debian.run('ls /var/backups/shoal')).toMatch(/^shoal-before-1\.1\.0-\d+\.tar\n$/)
    await untilSquidResponds()
    expect(await squidPrograms(debian)).toBe(programs)
  })

  test('after an upgrade to a broken release, the old release runs again, with the newer schema', async () => {
    const programs = await squidPrograms(debian)
    // This release migrates the database, may become ready, and then ends.
    const migration = `echo 'create table added_by_the_broken_release (id int);' > server/migrations/9999_broken.sql`
    const release = await addRelease(
      versions.broken,
      `${migration} && echo 'setTimeout(() => process.exit(3), 15000)' >> server/src/installation/version.ts`,
    )
    const failure = debian.run(`${release}/bin/shoal upgrade --timeout 40`)
    await expect(failure).rejects.toThrow(`Version ${versions.second} runs again.`)
    expect(await runningVersion(debian)).toBe(versions.second)
    await untilSquidResponds()
    expect(await squidPrograms(debian)).toBe(programs)
  })

  test('after an upgrade to a release that runs but never becomes ready, the old release runs again', async () => {
    const programs = await squidPrograms(debian)
    const release = await addRelease(
      versions.stuck,
      `sed -i '1i await new Promise(() => setInterval(() => {}, 1_000_000))' server/src/main.ts`,
    )
    const failure = debian.run(`${release}/bin/shoal upgrade --timeout 20`)
    await expect(failure).rejects.toThrow(`Version ${versions.second} runs again.`)
    expect(await runningVersion(debian)).toBe(versions.second)
    await untilSquidResponds()
    expect(await squidPrograms(debian)).toBe(programs)
  })

  test('after a reboot, the service and the squid run again, and the nightly backup works', async () => {
    await debian.reboot()
    await until(
      async () =>
        (await debian.run('curl -s -o /dev/null -w "%{http_code}" http://127.0.0.1:4000/readyz || true')) === '200',
      'the service is ready',
      300_000,
    )
    await untilSquidResponds()
    await debian.run('systemctl start shoal-backup.service')
    expect(await debian.run('ls /var/backups/shoal')).toMatch(/shoal-\d{4}-\d\d-\d\d-\d{6}\.tar/)
  })

  test('uninstall stops the squids and keeps the data, with which a new installation continues', async () => {
    await debian.run('shoal uninstall --dry-run')
    expect(await runningVersion(debian)).toBe(versions.second)
    expect(await debian.run('shoal uninstall')).toContain('kept   /var/lib/shoal-data')
    expect(
      await debian.run('ls -d /opt/shoal /usr/local/bin/shoal /etc/systemd/system/shoal* 2>/dev/null || true'),
    ).toBe('')
    expect((await squidPrograms(debian).catch(() => '')).trim()).toBe('')
    expect(await debian.run('pgrep -c postgres || true')).toBe('0\n')
    await debian.run(`/var/releases/${versions.second}/${releaseName(versions.second)}/bin/shoal install`)
    await untilSquidResponds()
  })

  test('the commands of the page restore a backup, with which the squid responds again', async () => {
    const backup = (await debian.run('ls -t /var/backups/shoal/shoal-2*.tar')).split('\n')[0] ?? ''
    const marker = '/var/lib/shoal-data/written-after-the-backup'
    await debian.run(`touch ${marker}`)
    const [block] = blocksOf('one-server.md').filter(({ kind }) => kind === 'restore')
    const commands = (block?.commands ?? '').replace('/var/backups/shoal/<file>', backup)
    await debian.run(`set -e; cd /var/releases/${versions.second}; ${commands}`, 600_000)
    expect(await debian.run(`ls ${marker} 2>/dev/null || true`)).toBe('')
    expect(await runningVersion(debian)).toBe(versions.second)
    await untilSquidResponds()
  })

  test('with --user, everything runs as an ordinary user, and a squid is deployed', async () => {
    await debian.run('shoal uninstall && rm -r /var/lib/shoal-data /etc/shoal /var/backups/shoal')
    const release = `/var/releases/${versions.second}/${releaseName(versions.second)}`
    const output = await debian.run(`${release}/bin/shoal install --user shoal ${installFlags()}`)
    expect(output).toContain(`Shoal ${versions.second} is ready`)
    endpoint = await deploy()
    const transfers = await devnet.chain.countTransfers()
    await until(async () => (await countTransfers()) === transfers, 'GraphQL returns all transfers', 240_000)
    const users = await debian.run(
      "ps -eo user:20,args --no-headers | grep -E '[l]ib/main.js|[b]in/postgres -D|[m]ain.ts'",
    )
    expect(
      users
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('shoal ')),
    ).toEqual([])
    // As docs/install/one-server.md says, an ordinary user cannot limit the memory and disk of squids.
    const problems = (await doctor()).filter(({ status }) => status !== 'ok' && status !== 'skipped')
    console.log(
      `With --user, the doctor reports: ${problems.map(({ name, finding }) => `${name}: ${finding}`).join('\n')}`,
    )
    expect(await debian.run('shoal uninstall')).toContain('kept   /var/lib/shoal-data')
    expect((await squidPrograms(debian).catch(() => '')).trim()).toBe('')
  })

  test('systemd mounts the disk of SHOAL_DATA_DIR before it starts the service, and uninstall keeps what is on it', async () => {
    await debian.run('rm -rf /var/lib/shoal-data /etc/shoal /var/backups/shoal')
    // With `noauto`, systemd mounts the disk only if a unit requires it.
    const line = '/srv/files /srv/disk none bind,noauto 0 0'
    await debian.run(`mkdir -p /srv/files /srv/disk && echo "${line}" >> /etc/fstab && systemctl daemon-reload`)
    const release = `/var/releases/${versions.first}/${releaseName(versions.first)}`
    await debian.run(`${release}/bin/shoal install ${installFlags()} --set SHOAL_DATA_DIR=/srv/disk/data`)
    expect(await debian.run('ls /srv/files/data/secrets.key')).toBe('/srv/files/data/secrets.key\n')
    expect(await debian.run('shoal uninstall')).toContain('/srv/disk/data')
    expect(await debian.run('pgrep -c postgres || true')).toBe('0\n')
    expect(await debian.run('ls /srv/disk/data/secrets.key')).toBe('/srv/disk/data/secrets.key\n')
  })
})
