import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingForDebianContainer } from '../../scripts/debian/container.ts'
import { missingForDocker, startDocker, type Docker } from '../../scripts/debian/docker.ts'
import { ensureFiles } from '../../scripts/debian/files.ts'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { deployExample } from '../support/deploy-example.ts'
import { blocksOf } from '../support/install-pages.ts'
import { repositoryRoot } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

const missing = missingForDebianContainer() ?? missingForDocker()
if (missing) console.log(`The test of compose.yaml is skipped. ${missing}`)

/** The Containerfile of an image with Debian's Postgres. Its entrypoint `start` accepts the variables of the official image, which this machine may not be able to download. */
const postgresImage = `FROM shoal-test/base
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-15
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PGDATA=/var/lib/postgresql/data
COPY start /start
ENTRYPOINT ["/start"]
`
const postgresStart = `#!/bin/sh
set -e
mkdir -p /run/postgresql
chown postgres: $PGDATA /run/postgresql
if [ ! -e $PGDATA/PG_VERSION ]; then
  echo "$POSTGRES_PASSWORD" > /tmp/password
  chmod 644 /tmp/password
  runuser -u postgres -- initdb --username=$POSTGRES_USER --pwfile=/tmp/password --auth=scram-sha-256
  echo 'host all all all scram-sha-256' >> $PGDATA/pg_hba.conf
  echo "create database $POSTGRES_DB" | runuser -u postgres -- postgres --single -D $PGDATA postgres
fi
exec runuser -u postgres -- "$@" -c listen_addresses='*'
`

const pageBlocks = blocksOf('containers.md').map(({ commands }) => commands)

/** Runs the commands of docs/install/containers.md with deploy/compose.yaml. */
describe.skipIf(missing)('deploy/compose.yaml', { timeout: 900_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-compose-'))
  let docker: Docker
  let devnet: Devnet
  let sqd: PublicClient
  let settings: Record<string, string>
  let endpoint = ''

  const compose = (...args: string[]) => docker.compose(folder, '-f', 'deploy/compose.yaml', ...args)
  const shoal = (...args: string[]) => compose('exec', '-T', 'shoal', 'shoal', ...args)

  /** Runs commands of the page in the folder of the release. */
  const run = (commands: string) => {
    try {
      return docker.script(folder, commands)
    } catch (error) {
      throw new Error(`${String(error)}\n${compose('logs', '--tail=50')}`, { cause: error })
    }
  }

  /** Waits until Shoal reports that it is healthy. */
  async function untilHealthy(): Promise<void> {
    const id = compose('ps', '--quiet', 'shoal').trim()
    const readState = () =>
      docker.docker('inspect', '--format', '{{.State.Status}} {{.State.Health.Status}}', id).trim()
    await until(
      () => {
        const state = readState()
        if (!state.startsWith('running')) throw new Error(`Shoal ended:\n${compose('logs', '--tail=50')}`)
        return state === 'running healthy'
      },
      'Shoal is healthy',
      300_000,
    ).catch((error: unknown) => {
      throw new Error(compose('logs', '--tail=50'), { cause: error })
    })
  }

  beforeAll(async () => {
    execFileSync(process.execPath, ['scripts/release.ts', '--to', join(folder, 'dist')], { cwd: repositoryRoot })
    for (const path of ['deploy/Containerfile', 'deploy/compose.yaml', '.dockerignore'])
      cpSync(join(repositoryRoot, path), join(folder, path))
    // One after another, so that the end of the tests stops what was started before a failure.
    devnet = await startDevnet({ transfers: 5, isStreaming: false })
    sqd = await openClient()
    docker = await startDocker()
    const chainPort = Number(new URL(devnet.rpcUrl).port)
    await docker.exposeHostPort(chainPort)
    settings = {
      POSTGRES_IMAGE: 'shoal-test/postgres',
      SHOAL_BIND: '0.0.0.0',
      SHOAL_CPUS: '2',
      SHOAL_MEMORY: '4g',
      SHOAL_PUBLIC_URL: `http://${docker.address}:4000`,
      SHOAL_GATEWAY_URL: `http://${docker.address}:4001/{org}`,
      SHOAL_NETWORK_ALLOW: `${docker.hostAddress}:${chainPort}`,
    }
    // The base image has Debian's packages, Node and npm, like the one in Containerfile.
    docker.importImage(ensureFiles(), 'shoal-test/base')
    mkdirSync(join(folder, 'postgres'))
    writeFileSync(join(folder, 'postgres/Dockerfile'), postgresImage)
    writeFileSync(join(folder, 'postgres/start'), postgresStart, { mode: 0o755 })
    docker.docker('build', '-t', 'shoal-test/postgres', join(folder, 'postgres'))
  }, 900_000)

  afterAll(async () => {
    sqd?.close()
    try {
      if (docker) compose('down', '--volumes', '--timeout', '60')
    } finally {
      await docker?.stop()
      await devnet?.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }, 600_000)

  test('following the page, Containerfile builds an image of a release, and the services become healthy', async () => {
    const [start = ''] = pageBlocks
    // The release is in dist/ already. This machine may not be able to download the images.
    const [release, ...commands] = start.trimEnd().split('\n')
    expect(release).toBe('npm run release')
    const upAt = commands.findIndex((command) => command.includes('compose'))
    const build = commands
      .slice(0, upAt)
      .map((command) => command.replace('docker build', '$& --build-arg BASE=shoal-test/base'))
    run(build.join('\n'))
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    appendFileSync(join(folder, 'deploy/.env'), lines.join(''))
    const startedMs = performance.now()
    run(commands.slice(upAt).join('\n'))
    await untilHealthy()
    const size = Number(docker.docker('image', 'inspect', '--format', '{{.Size}}', 'shoal'))
    const base = Number(docker.docker('image', 'inspect', '--format', '{{.Size}}', 'shoal-test/base'))
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    console.log(`Shoal adds ${Math.round((size - base) / 1e6)} MB to its base, and was healthy after ${seconds} s.`)
    expect(await (await fetch(`${settings['SHOAL_PUBLIC_URL']}/readyz`)).json()).toMatchObject({ status: 'ok' })
  })

  test('following the page, the operator adds a user and a token, and runs the doctor', async () => {
    const [, operate = ''] = pageBlocks
    expect(pageBlocks).toHaveLength(2)
    // The doctor fails, because a container cannot create cgroups.
    const printed = run(operate.replace(/shoal doctor$/m, '$& || echo "It exited with $?"'))
    expect(printed).toContain('me@example.com')
    expect(printed).toMatch(/cgroups/)
    expect(printed).toContain('It exited with 1')
    const token = /\bshoal_[\w-]+|[\w-]{40,}/.exec(printed)?.[0] ?? ''
    const headers = { authorization: `token ${token}` }
    expect((await fetch(`${settings['SHOAL_PUBLIC_URL']}/api/v1/user`, { headers })).status).toBe(200)
  })

  test('the log names the protections in use; the log and "shoal doctor" report that cgroups are missing', () => {
    const log = compose('logs', '--no-color', 'shoal')
    console.log(/Squids run with[^"\n]*/.exec(log)?.[0])
    expect(log).toContain('sandbox bubblewrap')
    expect(log).toContain('a network for each version')
    expect(log).toContain('a user for each version')
    expect(log).toContain('Memory and CPU limits of squids are not enforced')
    const report = JSON.parse(compose('exec', '-T', 'shoal', 'sh', '-c', 'shoal doctor --json || true')) as {
      checks: { name: string; status: string }[]
    }
    const failedChecks = report.checks.filter(({ status }) => status === 'failed').map(({ name }) => name)
    expect(failedChecks).toEqual(['cgroups'])
  })

  test('a squid is deployed with the public client, and has its data after the services were removed and started again', async () => {
    endpoint = await deployExample(sqd, {
      shoal,
      url: settings['SHOAL_PUBLIC_URL'] ?? '',
      gatewayUrl: `http://${docker.address}:4001`,
      rpcUrl: devnet.rpcUrl.replace('127.0.0.1', docker.hostAddress),
    }).catch((error: unknown) => {
      throw new Error(compose('logs', '--tail=80'), { cause: error })
    })
    const transfers = await devnet.chain.countTransfers()
    const hasAllTransfers = async () => (await totalTransfers(endpoint).catch(() => null)) === transfers
    await until(hasAllTransfers, 'GraphQL returns all transfers', 240_000)

    compose('down', '--timeout', '60')
    run('docker compose -f deploy/compose.yaml up --detach')
    await untilHealthy()
    await until(hasAllTransfers, 'GraphQL returns all transfers after the restart', 240_000)
  })
})
