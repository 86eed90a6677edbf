import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPebble, startPebble, type Pebble } from '../../scripts/pebble.ts'
import { startInstallation, type Installation, type RoleProcess } from '../support/role-processes.ts'
import { until } from '../support/until.ts'

const gatewayHost = 'squids.shoal.test'
/** The addresses of the two gateways, which listen on the same ports. */
const [firstAddress, secondAddress] = ['127.0.0.1', '127.0.0.2'] as const

/** Returns the serial number of the certificate that the gateway at this address serves. @throws Error if clients would reject it */
function servedSerial(host: string, port: number, ca: string): Promise<string> {
  return new Promise((done, fail) => {
    const socket = connect({ host, port, servername: gatewayHost, ca }, () => {
      done(socket.getPeerCertificate().serialNumber)
      socket.destroy()
    })
    socket.once('error', fail)
  })
}

describe.skipIf(!hasPebble())('two gateways and two workers', { timeout: 300_000 }, () => {
  let pebble: Pebble
  let installation: Installation

  beforeAll(async () => {
    pebble = await startPebble()
    const env = {
      ...pebble.settings,
      SHOAL_TLS: 'acme',
      SHOAL_TLS_PORT: String(pebble.tlsPort),
      SHOAL_TLS_REDIRECT_PORT: String(pebble.httpPort),
      SHOAL_PUBLIC_URL: 'https://console.shoal.test',
      SHOAL_GATEWAY_URL: `https://${gatewayHost}/{org}`,
    }
    installation = await startInstallation({ api: 0, worker: 2, gateway: 2 }, env, {
      envOf: (_, index) => ({ SHOAL_TLS_HOST: index === 0 ? firstAddress : secondAddress }),
    })
  }, 300_000)
  afterAll(async () => {
    await installation?.end()
    await pebble?.end()
  })

  const serial = async (host: string) => await servedSerial(host, pebble.tlsPort, await pebble.root()).catch(() => null)
  const hasIssued = (worker: RoleProcess | undefined) => worker?.output().includes('certificate issued') === true

  test('both gateways serve the same certificate, and after the leading worker was killed, the other one revokes and replaces it', async () => {
    await until(async () => (await serial(firstAddress)) !== null, 'the first gateway serves a certificate')
    const old = await serial(firstAddress)
    await until(async () => (await serial(secondAddress)) === old, 'the second gateway serves the same certificate')

    const [workers, [firstGateway]] = [installation.withRole('worker'), installation.withRole('gateway')]
    const leader = workers.find(hasIssued)
    const other = workers.find((worker) => worker !== leader)
    expect([hasIssued(leader), hasIssued(other)]).toEqual([true, false])
    await leader?.end('SIGKILL')
    // Now the authority reaches only the second gateway.
    await firstGateway?.end('SIGKILL')
    for (const host of [gatewayHost, 'console.shoal.test'])
      await pebble.dns('/add-a', { host, addresses: [secondAddress] })
    await installation.cli('certificate', 'revoke', '--name', gatewayHost)

    const isReplaced = async (host: string) => ![old, null].includes(await serial(host))
    await until(() => isReplaced(secondAddress), 'the second gateway serves another certificate', 120_000)
    expect(hasIssued(other)).toBe(true)
    await until(async () => (await pebble.revocationReason(old ?? '')) === 1, 'the old certificate is revoked', 120_000)
    await firstGateway?.start()
    expect(await serial(firstAddress)).toBe(await serial(secondAddress))
  })
})
