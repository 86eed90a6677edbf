import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../app.ts'
import { unknownPath } from './admit.ts'
import { readConsolePage } from './console-page.ts'

const builtConsole = join(import.meta.dirname, '../../../console/dist')

/** Serves the built console: files with hashed names, cached without limit, and the page for all other paths outside the API. */
export async function mountConsole(
  server: FastifyInstance,
  app: Pick<App, 'config'>,
  dist: string = builtConsole,
): Promise<void> {
  const page = existsSync(join(dist, 'csp.json')) ? readConsolePage(dist, app.config) : null
  if (page)
    await server.register(fastifyStatic, {
      root: dist,
      preCompressed: true,
      index: false,
      wildcard: false,
      // The page is served below, with the settings of this installation.
      globIgnore: ['index.html*', 'csp.json*'],
      setHeaders: (reply, path) => {
        reply.header('cache-control', path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
      },
    })
  // Before the body is read, as for the endpoints of operators: otherwise, a malformed body would distinguish them from unknown paths.
  server.addHook('onRequest', (request, _, done) =>
    done(request.is404 && request.url.startsWith('/api') ? unknownPath(request) : undefined),
  )
  server.setNotFoundHandler(async (request, reply) => {
    if (!isPage(request)) throw unknownPath(request)
    if (!page) return reply.type('text/html').send(notBuiltPage(app))
    const { headers, body } = await page(request.headers['accept-encoding'] ?? '')
    return reply.headers(headers).send(body)
  })
}

const isPage = ({ method, url }: FastifyRequest): boolean =>
  ['GET', 'HEAD'].includes(method) && !url.startsWith('/api') && !/\.\w+$/.test(url.split('?')[0] ?? '')

const notBuiltPage = (app: Pick<App, 'config'>) => `<!doctype html><meta charset="utf-8"><title>Shoal</title>
<body><h1>Shoal</h1>
<p>The console is not built. Sign in with the command-line client:</p>
<pre>npm i -g @subsquid/cli@3.2.3 joi@17.13.3
sqd auth -k &lt;API token&gt; -h ${app.config.publicUrl}/api</pre>`
