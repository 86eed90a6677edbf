import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../app.ts'
import { metricsOf } from './metrics.ts'
import { readiness, type ReadinessApp } from './readiness.ts'

export type HealthResponse = { status: number; type: string; body: string }

const json = (status: number, body: object): HealthResponse => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
})

/** `/healthz`: this process answers. */
export const healthz = (): HealthResponse => json(200, { status: 'ok' })

/** `/readyz`: what it needs answers too; names what does not, within two seconds. */
export async function readyz(app: ReadinessApp): Promise<HealthResponse> {
  const { isReady, checks, facts } = await readiness(app)
  return json(isReady ? 200 : 503, { status: isReady ? 'ok' : 'not ready', checks, facts })
}

/** `/metrics`: null for who does not send SHOAL_METRICS_TOKEN. */
export async function metrics(app: App, authorization: string | undefined): Promise<HealthResponse | null> {
  const of = metricsOf(app)
  if (!of.isAllowed(authorization)) return null
  return { status: 200, type: of.registry.contentType, body: await of.registry.metrics() }
}

/** The three pages on a port of raw HTTP; null when `url` is none of them, or may not be seen. */
export async function healthResponse(app: App, req: IncomingMessage): Promise<HealthResponse | null> {
  if (req.method !== 'GET' && req.method !== 'HEAD') return null
  const path = req.url?.split('?')[0]
  if (path === '/' || path === '/healthz') return healthz()
  if (path === '/readyz') return await readyz(app)
  return path === '/metrics' ? await metrics(app, req.headers.authorization) : null
}

export function sendHealth(req: IncomingMessage, res: ServerResponse, { status, type, body }: HealthResponse): void {
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' }
  res.writeHead(status, headers).end(req.method === 'HEAD' ? undefined : body)
}
