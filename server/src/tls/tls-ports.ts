import type { App } from '../app.ts'
import type { Config } from '../config/config.ts'
import { listen, type Listener, type RequestHandlers } from '../ports/listener.ts'
import { rejectUpgrade } from '../ports/reject-upgrade.ts'
import { ownCertificates } from '../modules/certificates/index.ts'
import { openCertificateFiles } from './certificate-files.ts'
import { nameOf } from './host-name.ts'
import { openOrderedCertificates } from './ordered-certificates.ts'
import { createRedirect } from './redirect.ts'
import { createTlsLayer } from './tls-layer.ts'

/** The handlers of the roles of this process; null for a role that it does not have. */
type Roles = {
  api: RequestHandlers | null
  gateway: (RequestHandlers & { servesDomain: (name: string) => boolean }) | null
}

export type TlsPorts = {
  listeners: Listener[]
  /** Starts to serve. Returns a function that stops watching the certificates. @throws InvalidSettingError for certificate files that cannot be used */
  start: (app: App, roles: Roles) => Promise<() => void>
}

/** How long browsers use only HTTPS for the gateway's names, in seconds: 30 days. The console sends its own header. */
const strictTransportSeconds = 2_592_000

/**
 * Opens the ports for HTTPS and HTTP; null if this process serves no HTTPS. Requests wait until `start`.
 * @throws Error with the code EADDRINUSE if another program uses one of these ports
 */
export async function openTlsPorts(config: Config): Promise<TlsPorts | null> {
  const { tls, inheritedFds, SHOAL_TLS_HOST: host } = config
  if (!tls || !config.SHOAL_ROLES.some((role) => role !== 'worker')) return null
  const layer = createTlsLayer()
  const https = await listen(config.SHOAL_TLS_PORT, host, { layer, inheritedFds })
  const http = await listen(config.SHOAL_TLS_REDIRECT_PORT, host, { inheritedFds }).catch(async (error: unknown) => {
    await https.close()
    throw error
  })
  return {
    listeners: [https, http],
    start: async (app, roles) => {
      const files = tls.source.kind === 'files' ? await openCertificateFiles(app, tls.source) : null
      const certificates = files ?? openOrderedCertificates(app)
      if (app.componentStates && tls.source.kind === 'acme')
        app.componentStates.certificates = () => ownCertificates(app)
      const isServed = (name: string) =>
        name === tls.consoleName ||
        (files ? files.covers(name) : tls.ownNames.includes(name)) ||
        roles.gateway?.servesDomain(name) === true
      layer.setCertificates(certificates.source)
      https.setHandlers(byName(tls.consoleName, roles))
      http.setHandlers({ request: createRedirect(app, https.port, isServed) })
      return certificates.close
    },
  }
}

/** Passes requests for the console's name to the api, and all others to the gateway. */
function byName(consoleName: string, { api, gateway }: Roles): RequestHandlers {
  const isForConsole = (host: string | undefined) => nameOf(host) === consoleName
  return {
    request: (req, res) => {
      if (isForConsole(req.headers.host)) return api ? api.request(req, res) : refuse(res)
      res.setHeader('strict-transport-security', `max-age=${strictTransportSeconds}`)
      if (gateway) gateway.request(req, res)
      else refuse(res)
    },
    upgrade: (req, socket, head) => {
      const handler = isForConsole(req.headers.host) ? api : gateway
      if (handler?.upgrade) handler.upgrade(req, socket, head)
      else rejectUpgrade(socket, 421, '')
    },
    ...(gateway?.closeUpgraded ? { closeUpgraded: gateway.closeUpgraded } : {}),
  }
}

/** Responds that this process does not serve the name, with status 421 (Misdirected Request). */
const refuse = (res: Parameters<RequestHandlers['request']>[1]): void => void res.writeHead(421).end()
