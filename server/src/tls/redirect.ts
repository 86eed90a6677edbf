import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../app.ts'
import { findKeyAuthorization } from '../modules/certificates/index.ts'
import { nameOf } from './host-name.ts'
import { ReadLimit } from './read-limit.ts'

const challengePath = '/.well-known/acme-challenge/'

/** The paths of the API, and those of the gateway that contain a credential. */
const credentialPaths = /^\/+(?:api|rpc|portal)(?:[/?]|$)/

/** Whether a request must not be redirected, since a program probably sent it: it changes something, or may contain a credential. */
const isCall = ({ method, url, headers }: IncomingMessage): boolean =>
  !['GET', 'HEAD'].includes(method ?? '') || headers.authorization !== undefined || credentialPaths.test(url ?? '')

/**
 * Handles requests to the HTTP port: responds to the challenges of the ACME authority, and redirects browsers to HTTPS for names that
 * `isServed` accepts. Other names are not redirected, because a redirect to the name in the request would let anyone make links that lead
 * from this server to any site. Calls are refused: a client that follows redirects would send its credential unencrypted with every call,
 * and its user would not notice.
 */
export function createRedirect(
  app: App,
  httpsPort: number,
  isServed: (name: string) => boolean,
): (req: IncomingMessage, res: ServerResponse) => void {
  // Anyone can send requests with invented challenge tokens, and each of them is looked up in the database.
  const reads = new ReadLimit()
  const challenge = async (req: IncomingMessage, res: ServerResponse, name: string) => {
    const token = (req.url ?? '').slice(challengePath.length)
    try {
      // `undefined`: refused; null: there is no such challenge.
      const keyAuthorization = await reads.run(() => findKeyAuthorization(app, token, name), undefined)
      if (keyAuthorization === undefined) return send(res, 503, 'Too many concurrent requests.')
      send(res, keyAuthorization === null ? 404 : 200, keyAuthorization ?? 'There is no such challenge.')
    } catch {
      send(res, 503, 'The database does not respond.')
    }
  }
  return (req, res) => {
    const name = nameOf(req.headers.host)
    const url = req.url ?? '/'
    if (url.startsWith(challengePath)) return void challenge(req, res, name)
    if (!isServed(name) || !url.startsWith('/')) return send(res, 404, 'There is no such site.')
    const origin = `https://${name}${httpsPort === 443 ? '' : `:${httpsPort}`}`
    if (isCall(req)) return refuseCall(res, origin)
    res.writeHead(308, { location: `${origin}${url}`, 'cache-control': 'no-store', connection: 'close' })
    res.end()
  }
}

/** Responds with 405, since the public client prints the message of this status. */
function refuseCall(res: ServerResponse, origin: string): void {
  const error = `Use ${origin}: this request was not encrypted. If it contained a token or password, replace that, since others may have read it.`
  res.writeHead(405, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
  })
  res.end(JSON.stringify({ error, code: 'HTTPS_NEEDED' }))
}

function send(res: ServerResponse, status: number, body: string): void {
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end(body)
}
