import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { isUnavailable } from '../db/unavailable.ts'
import {
  notFoundHtml,
  publicPagesOf,
  renderPreview,
  statusPagePolicy,
  unavailableHtml,
  type Format,
} from '../modules/statuspage/index.ts'
import { encodingOf, hasEtag } from './encoding.ts'
import { retryAfterSeconds } from './mount.ts'

/**
 * How long browsers and proxies may keep a response, in seconds. Together with the cache of the process, a change is visible everywhere
 * within a minute.
 */
const maxAgeSeconds = 30

const contentTypes: Record<Format, string> = {
  html: 'text/html; charset=utf-8',
  json: 'application/json; charset=utf-8',
  feed: 'application/atom+xml; charset=utf-8',
}

/** Serves the public status pages: `/status/SLUG`, `/status/SLUG.json` and `/status/SLUG/feed.xml`, and previews for administrators. Their handlers read no cookies and no query. */
export function mountStatusPages(server: FastifyInstance, app: App): void {
  const pages = publicPagesOf(app)
  const respond = async (request: FastifyRequest, reply: FastifyReply, slug: string, format: Format) => {
    const file = await withRequestTimeouts(() => pages.find(slug, format))
    if (!file) return await sendNotFound(reply)
    const encoding = encodingOf(request.headers['accept-encoding'])
    reply
      .header('cache-control', `public, max-age=${maxAgeSeconds}`)
      .header('vary', 'accept-encoding')
      // Proxies may compress the response themselves, so the ETag is weak: it identifies the content in any encoding.
      .header('etag', `W/${file.etag}`)
    if (hasEtag(request.headers['if-none-match'], file.etag)) return await reply.code(304).send()
    if (format === 'html') reply.header('content-security-policy', statusPagePolicy)
    // Other sites may read these formats in a browser, because their content is public.
    else reply.header('access-control-allow-origin', '*').header('cross-origin-resource-policy', 'cross-origin')
    if (encoding) reply.header('content-encoding', encoding)
    return await reply.type(contentTypes[format]).send(file[encoding ?? 'identity'])
  }
  server.get<{ Params: { file: string } }>('/status/:file', (request, reply) => {
    const { file } = request.params
    return file.endsWith('.json')
      ? respond(request, reply, file.slice(0, -'.json'.length), 'json')
      : respond(request, reply, file, 'html').catch((error: unknown) => sendUnavailable(reply, error))
  })
  const respondWithPreview = async (reply: FastifyReply, key: string) => {
    const html = await withRequestTimeouts(() => renderPreview(app, key))
    if (html === null) return await sendNotFound(reply)
    return await reply
      .header('cache-control', 'no-store')
      .header('x-robots-tag', 'noindex')
      .header('content-security-policy', statusPagePolicy)
      .type(contentTypes.html)
      .send(html)
  }
  server.get<{ Params: { key: string } }>('/status-preview/:key', (request, reply) =>
    respondWithPreview(reply, request.params.key).catch((error: unknown) => sendUnavailable(reply, error)),
  )
  server.get<{ Params: { slug: string } }>('/status/:slug/feed.xml', (request, reply) =>
    respond(request, reply, request.params.slug, 'feed'),
  )
}

/** Sends the same response for every address without a public page. */
const sendNotFound = (reply: FastifyReply) =>
  reply
    .code(404)
    .header('cache-control', 'public, max-age=5')
    .header('content-security-policy', statusPagePolicy)
    .type(contentTypes.html)
    .send(notFoundHtml)

/** Sends the page about an unavailable database. Rethrows all other errors. */
function sendUnavailable(reply: FastifyReply, error: unknown) {
  if (!isUnavailable(error)) throw error
  return reply
    .code(503)
    .header('retry-after', retryAfterSeconds)
    .header('cache-control', 'no-store')
    .header('content-security-policy', statusPagePolicy)
    .type(contentTypes.html)
    .send(unavailableHtml)
}
