import { startPebble, type Pebble } from '../../../../../scripts/pebble.ts'
import { systemClock } from '../../../clock.ts'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { openTlsPorts } from '../../../tls/index.ts'

export const consoleName = 'console.shoal.test'
export const gatewayName = 'squids.shoal.test'

export type WithPebble = { pebble: Pebble; t: TestApp; end: () => Promise<void> }

/**
 * Starts Pebble, and a server with SHOAL_TLS=acme. The server orders certificates only when the test calls
 * `orderDueCertificates`. `validitySeconds`: the lifetime of Pebble's certificates.
 */
export async function startWithPebble({ validitySeconds }: { validitySeconds?: number } = {}): Promise<WithPebble> {
  const cleanup = new AsyncDisposableStack()
  try {
    const pebble = await startPebble(validitySeconds === undefined ? {} : { validitySeconds })
    cleanup.defer(pebble.end)
    const env = {
      ...pebble.settings,
      SHOAL_TLS: 'acme',
      SHOAL_TLS_PORT: String(pebble.tlsPort),
      SHOAL_TLS_REDIRECT_PORT: String(pebble.httpPort),
      SHOAL_TLS_HOST: '127.0.0.1',
      SHOAL_PUBLIC_URL: `https://${consoleName}`,
      SHOAL_GATEWAY_URL: `https://${gatewayName}/{org}`,
      SHOAL_ACME_EMAIL: 'operator@shoal.test',
      SHOAL_DNS_SERVERS: pebble.dnsServer,
    }
    const t = await startTestApp({ env, clock: systemClock })
    cleanup.defer(t.close)
    const ports = await openTlsPorts(t.app.config)
    if (!ports) throw new Error('no ports were opened')
    for (const listener of ports.listeners) cleanup.defer(() => listener.close())
    const close = await ports.start(t.app, {
      api: { request: (_, res) => void res.end('console') },
      gateway: { request: (_, res) => void res.end('gateway'), servesDomain: () => false },
    })
    cleanup.defer(close)
    return { pebble, t, end: () => cleanup.disposeAsync() }
  } catch (error) {
    await cleanup.disposeAsync()
    throw error
  }
}
