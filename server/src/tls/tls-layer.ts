import {
  constants,
  createServer as createHttp2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { Socket } from 'node:net'
import { createServer as createTlsServer, type SecureContext, type TLSSocket } from 'node:tls'
import { callbackify } from 'node:util'
import { getExtensionData, readTlsClientHello } from 'read-tls-client-hello'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ConnectionLayer, RequestHandlers } from '../ports/listener.ts'

/** Finds certificates by the name that a client requests. */
export type CertificateSource = {
  /** Returns null for a name without a certificate; the client's connection is then refused. */
  contextFor: (name: string) => Promise<SecureContext | null>
  /** Returns the certificate that proves control of the name to the ACME authority (RFC 8737); null if it did not request one. */
  challengeFor: (name: string) => Promise<SecureContext | null>
}

export type TlsLayer = ConnectionLayer & {
  /** Sets the source of certificates. Handshakes wait until then. */
  setCertificates: (source: CertificateSource) => void
}

/** The protocol with which ACME authorities connect. */
const acmeProtocol = 'acme-tls/1'
const handshakeTimeoutMs = 10_000
/** As for HTTP/1, longer than load balancers keep their connections. */
const idleTimeoutMs = 72_000
/** The default time in which a body must have arrived, as for HTTP/1. */
const maxBodyMs = 300_000
/** The maximum interval at which bodies are checked. */
const maxSweepMs = 10_000
/** Names that are longer do not exist in DNS. */
const maxNameLength = 253

/**
 * Encrypts the connections of a port. HTTP/1.1 connections use the same server as on other ports, so that WebSockets and uploads behave
 * the same. Requests over HTTP/2 are passed to the same handlers. `bodyMs`: resets a stream whose body has not arrived completely within
 * this time: Node's timeouts apply to HTTP/1 only.
 */
export function createTlsLayer({ bodyMs = maxBodyMs } = {}): TlsLayer {
  const source = Promise.withResolvers<CertificateSource>()
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  /** When the request of each open stream with a body began, oldest first. */
  const bodies = new Map<ServerHttp2Stream, number>()
  let isDraining = false
  let onHttp1: (socket: Socket) => void = (socket) => socket.destroy()
  let onRequest: RequestHandlers['request'] = (_, res) => res.destroy()

  const selectWith = (find: (source: CertificateSource, name: string) => Promise<SecureContext | null>) =>
    callbackify(async (name: string): Promise<SecureContext> => {
      const current = await source.promise
      const context = name.length > maxNameLength ? null : await find(current, name.toLowerCase())
      if (!context) throw new Error('there is no certificate for this name')
      return context
    })

  const http2 = createHttp2Server({ settings: { maxConcurrentStreams: 128, maxHeaderListSize: 32_768 } })
  http2.on('request', (req, res) => {
    const { stream } = req
    if (!stream.endAfterHeaders) {
      bodies.set(stream, performance.now())
      stream.once('close', () => bodies.delete(stream))
    }
    onRequest(...likeHttp1(req, res))
  })
  const resetSlow = () => {
    for (const [stream, startedMs] of bodies) {
      if (performance.now() - startedMs < bodyMs) return
      bodies.delete(stream)
      if (!isReceived(stream)) stream.close(constants.NGHTTP2_CANCEL)
    }
  }
  const sweep = setInterval(resetSlow, Math.min(bodyMs, maxSweepMs)).unref()
  http2.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.on('error', () => session.destroy())
    // Streams in progress end first.
    session.setTimeout(idleTimeoutMs, () => session.close())
    if (isDraining) session.close()
  })

  const tlsServer = createTlsServer(
    {
      ALPNProtocols: ['h2', 'http/1.1'],
      minVersion: 'TLSv1.2',
      handshakeTimeout: handshakeTimeoutMs,
      SNICallback: selectWith(({ contextFor }, name) => contextFor(name)),
    },
    (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') http2.emit('connection', socket)
      else onHttp1(socket)
    },
  )
  const challengeServer = createTlsServer(
    {
      ALPNProtocols: [acmeProtocol],
      handshakeTimeout: handshakeTimeoutMs,
      SNICallback: selectWith(({ challengeFor }, name) => challengeFor(name)),
    },
    (socket) => socket.end(),
  )

  return {
    setCertificates: source.resolve,
    accept: (socket, http1, request) => {
      onHttp1 = http1
      onRequest = request
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      socket.on('error', () => socket.destroy())
      const timer = setTimeout(() => socket.destroy(), handshakeTimeoutMs).unref()
      readTlsClientHello(socket)
        .then((hello) => {
          const protocols = getExtensionData(hello, 'alpn')?.protocols ?? []
          const isChallenge = protocols.length === 1 && protocols[0] === acmeProtocol
          ;(isChallenge ? challengeServer : tlsServer).emit('connection', socket)
        })
        .catch(() => socket.destroy())
        .finally(() => clearTimeout(timer))
    },
    openConnections: () => sockets.size,
    drain: () => {
      isDraining = true
      for (const session of sessions) session.close()
    },
    close: () => {
      clearInterval(sweep)
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Whether the client has sent the whole request, even if the handler has not read it. */
const isReceived = ({ destroyed, state }: ServerHttp2Stream): boolean =>
  destroyed || state.state === constants.NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE

/**
 * Gives a request over HTTP/2 the headers that it would have over HTTP/1.1: `host`, and `transfer-encoding` for a body of unknown
 * length, and its response the property `destroyed`, which Node's HTTP/2 compatibility API lacks. The casts are safe, because the other
 * methods are those of HTTP/1.1.
 */
function likeHttp1(req: Http2ServerRequest, res: Http2ServerResponse): [IncomingMessage, ServerResponse] {
  const { headers, rawHeaders } = req
  const host = req.authority || headers.host
  const http1RawHeaders: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (!name.startsWith(':') && name !== 'host') http1RawHeaders.push(name, rawHeaders[i + 1] ?? '')
  }
  if (host !== undefined) {
    headers.host = host
    http1RawHeaders.push('host', host)
  }
  if (headers['content-length'] === undefined && !req.stream.endAfterHeaders) headers['transfer-encoding'] = 'chunked'
  rawHeaders.splice(0, rawHeaders.length, ...http1RawHeaders)
  const { stream } = res
  Object.defineProperty(res, 'destroyed', { get: () => stream.destroyed })
  return [req as unknown as IncomingMessage, res as unknown as ServerResponse]
}
