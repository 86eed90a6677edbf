import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../app.ts'
import type { Config } from '../config/config.ts'
import { listen, type Listener } from '../listener.ts'
import { healthResponse, sendHealth } from './health.ts'

const usualPort = 4002
const host = '127.0.0.1'

/**
 * The port for health and metrics alone: the one that was set, or else one for a process that would listen nowhere. Null: none.
 * @throws Error with the code EADDRINUSE when the port that was set is taken
 */
export async function listenForHealth(
  config: Pick<Config, 'SHOAL_HEALTH_PORT' | 'SHOAL_ROLES'>,
): Promise<Listener | null> {
  if (config.SHOAL_HEALTH_PORT !== undefined) return await listen(config.SHOAL_HEALTH_PORT, host)
  if (config.SHOAL_ROLES.some((role) => role !== 'worker')) return null
  // Several workers may run on one host.
  return await listen(usualPort, host).catch(() => listen(0, host))
}

export async function handleHealthRequest(app: App, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const answer = await healthResponse(app, req).catch(() => null)
  sendHealth(req, res, answer ?? { status: 404, type: 'application/json', body: '{"error":"There is no such page."}' })
}
