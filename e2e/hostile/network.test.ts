import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasNamespaces, openTestBed, OUTSIDE, PORT, reserveTestBed, type TestBed } from '@shoal/runtime/network-harness'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg } from '../support/org.ts'
import { ordinaryUser, ordinaryUserObstacle } from '../support/ordinary-user.ts'
import {
  type DeployScript,
  type ProbeResults,
  makeProberSquid,
  resultsOf,
  type Target,
} from '../support/prober-squid.ts'
import { freePort } from '../support/free-port.ts'
import { processesIn, startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

/**
 * The configurations in which the same attacks run. The attacks fail with a network for each version or with rules for its user, and
 * succeed in the network of the host. `isClosed`: rules limit what programs can reach. `isOwn`: programs have their own ports and
 * loopback. `user`: the user that runs the server.
 */
const networkKinds = [
  { name: 'a network for each version', setting: 'auto', isClosed: true, isOwn: true },
  { name: 'a network by pasta', setting: 'auto', isClosed: true, isOwn: true, user: ordinaryUser },
  { name: 'rules for its user', setting: 'uids', isClosed: true, isOwn: false },
  { name: 'the network of the host', setting: 'none', isClosed: false, isOwn: false },
]

const obstacle = ordinaryUserObstacle()
if (obstacle !== null) console.warn(`A server without root is not tested: ${obstacle}.`)
const testedKinds = networkKinds.filter(({ user }) => !user || obstacle === null)

const isRoot = process.getuid?.() === 0
const outsideAddress = () =>
  Object.values(networkInterfaces())
    .flat()
    .find(
      (address) => address && !address.internal && address.family === 'IPv4' && !address.address.startsWith('198.18.'),
    )?.address

/** The metadata service of clouds. The test bed simulates it. */
const metadata: Target = `${OUTSIDE.metadata}:${PORT}`

type Report = { found: ProbeResults; database: Target; address: string }

describe.each(testedKinds)('a hostile squid with $name', ({ setting, isClosed, isOwn, user }) => {
  let shoal: Shoal
  let listener: Server
  let listenerPort: number
  let ports: { api: number; gateway: number; open: number; victim: number }
  let report: (org: string, targets: Target[]) => Promise<Report>
  let resultsIn: (script: DeployScript) => ProbeResults
  let bed: TestBed | null = null
  const folders: string[] = []

  if (hasNamespaces) reserveTestBed()
  beforeAll(async () => {
    if (hasNamespaces) {
      bed = await openTestBed()
      await bed.listen(bed.outside)
    }
    // This server simulates a service of the host that listens on all addresses.
    listener = createServer((socket) => socket.end('a service of the host'))
    listenerPort = await freePort()
    await new Promise<void>((resolve) => listener.listen(listenerPort, '0.0.0.0', resolve))
    // With SHOAL_ALLOW_SHARED_NETWORK=false, a server without root deploys for both organizations only if each version has its own network.
    const env = { SHOAL_NETWORK: setting, SHOAL_OUTBOX: 'true', ...(user && { SHOAL_ALLOW_SHARED_NETWORK: 'false' }) }
    shoal = await startShoal(env, undefined, user)
    ports = {
      api: Number(new URL(shoal.url).port),
      gateway: Number(new URL(shoal.gatewayUrl).port),
      open: await freePort(),
      victim: await freePort(),
    }
    const reports: Record<string, (targets: Target[]) => Promise<Report>> = {}
    const addSquid = async (org: string, listeners: Target[], scriptTargets: Target[]) => {
      const { token, api } = await addOrg(shoal, org)
      const project = makeProberSquid(org, { listeners, scriptTargets })
      folders.push(dirname(project))
      const deployer = { shoal, org, token, api, project }
      const deployment = await waitForDeployment(deployer, await deploy(deployer, { name: org, slot: 'v1' }))
      expect(deployment.failureReason).toBeNull()
      reports[org] = (targets) =>
        until(async () => {
          const query = new URLSearchParams(targets.map((target): [string, string] => ['target', target]))
          const response = await fetch(`${shoal.gatewayUrl}/${org}/${org}@v1/api/?${query.toString()}`)
          return response.ok ? ((await response.json()) as Report) : null
        }, `the squid of ${org} responds`)
      return deployment
    }
    report = (org, targets) => reports[org]?.(targets) ?? Promise.reject(new Error(org))
    await addSquid('victims', [`0.0.0.0:${ports.victim}`], [])
    const serverAddresses = [
      `[::1]:${ports.api}`,
      `127.0.0.2:${ports.api}`,
      `127.0.0.1:${ports.api}`,
      `0.0.0.0:${ports.open}`,
    ]
    const { logs } = await addSquid('attackers', serverAddresses, [
      `127.0.0.1:${ports.api}`,
      outbox(),
      `127.0.0.1:${listenerPort}`,
      ...(bed ? [metadata] : []),
    ])
    resultsIn = (script) => resultsOf(script, logs)
  })

  afterAll(async () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    listener?.close()
    await shoal?.end()
    await bed?.end()
  })

  const outbox = () => `127.0.0.1:${ports.api}/outbox`
  const skipWithoutNetworks = (skip: (condition: boolean, reason: string) => void) =>
    skip(isClosed && !shoal.isolationSummary().includes('for each version,') && !isRoot, shoal.isolationSummary())

  const reachability = (found: ProbeResults) =>
    Object.fromEntries(Object.entries(found).map(([target, text]) => [target, text !== null]))

  const untilFound = (org: string, target: Target, text: string) =>
    until(
      async () => ((await report(org, [target])).found[target]?.includes(text) ? true : null),
      `the squid of ${org} finds "${text}" at ${target}`,
    )

  test('reaches services of the host, on loopback and at other addresses, only in the network of the host', async ({
    skip,
  }) => {
    skipWithoutNetworks(skip)
    const targets = [`127.0.0.1:${listenerPort}`, ...(outsideAddress() ? [`${outsideAddress()}:${listenerPort}`] : [])]
    const { found } = await report('attackers', targets)
    expect(reachability(found)).toEqual(Object.fromEntries(targets.map((target) => [target, !isClosed])))
    const api = (await report('attackers', [`127.0.0.1:${ports.api}`])).found[`127.0.0.1:${ports.api}`]
    // In its own network, the squid reaches its own listener at this port.
    if (isOwn) expect(api).toContain('hostile squid')
    else if (isClosed) expect(api).toBeNull()
    else expect(api).toMatch(/^HTTP\/1\.1 (?!.*hostile squid)/s)
  })

  test('reaches its Postgres and the gateway', async () => {
    const { database } = await report('attackers', [])
    const targets = [`127.0.0.1:${ports.gateway}`]
    const { found } = await report('attackers', [...targets, database])
    expect(found[targets[0] ?? '']).toContain('HTTP/1.1')
    // Postgres closes a connection that speaks HTTP, so an empty text shows that the squid could connect.
    expect(found[database]).not.toBeNull()
  })

  test.each<DeployScript>(['build', 'postinstall'])(
    'reaches services of the host and the metadata service from its script “%s” only in the network of the host',
    (script) => {
      const found = resultsIn(script)
      expect(reachability(found)).toEqual({
        [`127.0.0.1:${ports.api}`]: !isClosed,
        [outbox()]: !isClosed,
        [`127.0.0.1:${listenerPort}`]: !isClosed,
        ...(bed && { [metadata]: !isClosed }),
      })
      // The script has no key, so that it cannot read the emails even where it reaches the server.
      if (!isClosed) expect(found[outbox()]).toMatch(/^HTTP\/1\.1 403 /)
    },
  )

  test('reaches the metadata service of a cloud, while it runs, only in the network of the host', async ({ skip }) => {
    skip(bed === null, 'the test bed needs root, iproute2 and nftables')
    skipWithoutNetworks(skip)
    const addresses = [metadata, `${OUTSIDE['link-local']}:${PORT}`]
    const { found } = await report('attackers', addresses)
    expect(reachability(found)).toEqual(Object.fromEntries(addresses.map((address) => [address, !isClosed])))
  })

  test('reaches another version only in the network of the host', async ({ skip }) => {
    skipWithoutNetworks(skip)
    const { address } = await report('victims', [])
    const target = `${address}:${ports.victim}`
    // The victim can reach its own listener once its child process has opened the port.
    if (isOwn || !isClosed) await untilFound('victims', target, 'hostile squid')
    expect(reachability((await report('attackers', [target])).found)).toEqual({ [target]: !isClosed })
  })

  test('opens ports of the host, while the server runs or restarts, only in the network of the host', async ({
    skip,
  }) => {
    skipWithoutNetworks(skip)
    if (isOwn || !isClosed)
      for (const target of [`127.0.0.2:${ports.api}`, `127.0.0.1:${ports.open}`])
        await untilFound('attackers', target, 'hostile squid')
    const textAt = (url: string) =>
      fetch(url, { signal: AbortSignal.timeout(10_000) }).then(
        (response) => response.text(),
        () => null,
      )
    // The server listens on both addresses to which `localhost` may resolve.
    expect(await textAt(`http://[::1]:${ports.api}/healthz`)).toContain('ok')
    const urls = [`http://127.0.0.2:${ports.api}`, `http://${outsideAddress() ?? '127.0.0.1'}:${ports.open}`]
    const texts = await Promise.all(urls.map(textAt))
    expect(texts.map((text) => text === 'hostile squid')).toEqual(urls.map(() => !isClosed))
    await shoal.kill()
    // The squid retries every 200 ms to open the server's port.
    const occupiesServerPort = await until(
      async () => ((await textAt(`http://127.0.0.1:${ports.api}`)) === 'hostile squid' ? true : null),
      'the squid responds in place of the server',
      isClosed ? 1_500 : 60_000,
    ).catch(() => false)
    expect(occupiesServerPort).toBe(!isClosed)
    // In the network of the host, the server cannot start until the squid's listener has ended.
    const imitators = isOwn ? [] : processesIn(shoal.dataDir).filter((line) => line.includes('hostile squid'))
    for (const line of imitators) process.kill(Number(line.split(' ')[0]), 'SIGKILL')
    await shoal.start()
    if (!isClosed) return
    expect(await textAt(`${shoal.url}/healthz`)).not.toBe('hostile squid')
    const afterRestart = await report('attackers', [`[::1]:${ports.api}`, `127.0.0.1:${listenerPort}`])
    expect(reachability(afterRestart.found)).toEqual({
      [`[::1]:${ports.api}`]: isOwn,
      [`127.0.0.1:${listenerPort}`]: false,
    })
  })
})
