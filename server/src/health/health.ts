import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../app.ts'
import type { Config } from '../config/config.ts'
import { listen, type Listener } from '../ports/listener.ts'
import { shoalVersion } from '../installation/version.ts'
import { metricsOf } from './metrics.ts'
import { readiness, type ReadinessApp } from './readiness.ts'

export type HealthResponse = { status: number; type: string; body: string }

const json = (status: number, body: object): HealthResponse => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
})

const version = shoalVersion()

/** Responds to `/healthz`: the process is alive, and has this version. */
export const healthz = (): HealthResponse => json(200, { status: 'ok', version })

/** Responds to `/readyz` within two seconds: whether all dependencies of this process respond, with the problem of each that does not. */
export async function readyz(app: ReadinessApp): Promise<HealthResponse> {
  const { isReady, checks, facts } = await readiness(app)
  return json(isReady ? 200 : 503, { status: isReady ? 'ok' : 'not ready', checks, facts })
}

/** Responds to `/metrics`; null if the request does not have SHOAL_METRICS_TOKEN. */
export async function metricsResponse(app: App, authorization: string | undefined): Promise<HealthResponse | null> {
  const { isAllowed, registry } = metricsOf(app)
  if (!isAllowed(authorization)) return null
  return { status: 200, type: registry.contentType, body: await registry.metrics() }
}

/** Responds to a request for one of the three pages on a plain HTTP port; null for any other or unauthorized request. */
export async function healthResponse(app: App, req: IncomingMessage): Promise<HealthResponse | null> {
  if (req.method !== 'GET' && req.method !== 'HEAD') return null
  const path = req.url?.split('?')[0]
  if (path === '/' || path === '/healthz') return healthz()
  if (path === '/readyz') return await readyz(app)
  return path === '/metrics' ? await metricsResponse(app, req.headers.authorization) : null
}

/** Sends a response on a plain HTTP port, without its body for HEAD. */
export function sendHealth(req: IncomingMessage, res: ServerResponse, { status, type, body }: HealthResponse): void {
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' }
  res.writeHead(status, headers).end(req.method === 'HEAD' ? undefined : body)
}

const defaultPort = 4002

/**
 * Opens the port that serves only health and metrics: SHOAL_HEALTH_PORT, or a default port in a process without any other port.
 * Returns null if the process does not need one.
 * @throws Error with the code EADDRINUSE if SHOAL_HEALTH_PORT is in use
 */
export async function listenForHealth(
  config: Pick<Config, 'SHOAL_HEALTH_PORT' | 'SHOAL_HEALTH_HOST' | 'SHOAL_ROLES'>,
): Promise<Listener | null> {
  const host = config.SHOAL_HEALTH_HOST
  if (config.SHOAL_HEALTH_PORT !== undefined) return await listen(config.SHOAL_HEALTH_PORT, host)
  if (config.SHOAL_ROLES.some((role) => role !== 'worker')) return null
  // Several workers may run on one host.
  return await listen(defaultPort, host).catch(() => listen(0, host))
}

/** Handles a request on the port that serves only health and metrics. */
export async function handleHealthRequest(app: App, req: IncomingMessage, res: ServerResponse): Promise<void> {
  try {
    sendHealth(req, res, (await healthResponse(app, req)) ?? json(404, { error: 'There is no such page.' }))
  } catch (error) {
    app.log.error({ err: error, path: req.url?.split('?')[0] }, 'a health page failed')
    sendHealth(req, res, json(500, { error: 'The page failed. The log of the server has the reason.' }))
  }
}
