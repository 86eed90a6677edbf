import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
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
  server.setNotFoundHandler(async (request, reply) => {
    const isPage =
      ['GET', 'HEAD'].includes(request.method) &&
      !request.url.startsWith('/api') &&
      !/\.\w+$/.test(request.url.split('?')[0] ?? '')
    if (isPage && page) {
      const { headers, body } = await page(request.headers['accept-encoding'] ?? '')
      return reply.headers(headers).send(body)
    }
    if (isPage) return reply.type('text/html').send(notBuiltPage(app))
    throw unknownPath(request)
  })
}

const notBuiltPage = (app: Pick<App, 'config'>) => `<!doctype html><meta charset="utf-8"><title>Shoal</title>
<body><h1>Shoal</h1>
<p>The console is not built. Sign in with the command-line client:</p>
<pre>npm i -g @subsquid/cli@3.2.3 joi@17.13.3
sqd auth -k &lt;API token&gt; -h ${app.config.publicUrl}/api</pre>`
