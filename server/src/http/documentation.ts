import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { policyOf } from './security-headers.ts'

const builtSite = join(import.meta.dirname, '../../../site/dist')

/**
 * Serves the built documentation (`site/`) below `/docs/`. Files with hashed names are cached without limit; pages are revalidated with
 * their ETag. The address of `deploy.html` is `/docs/deploy`.
 */
export async function mountDocumentation(server: FastifyInstance, dist: string = builtSite): Promise<void> {
  const isBuilt = existsSync(join(dist, 'csp.json'))
  await server.register(
    async (site) => {
      const type = 'text/html; charset=utf-8'
      if (!isBuilt) {
        site.get('/', (_, reply) => reply.code(404).type(type).send(notBuiltPage))
        site.setNotFoundHandler((_, reply) => reply.code(404).type(type).send(notBuiltPage))
        return
      }
      const { scriptHashes } = JSON.parse(readFileSync(join(dist, 'csp.json'), 'utf8')) as { scriptHashes: string[] }
      const policy = documentationPolicy(scriptHashes)
      await site.register(fastifyStatic, {
        root: dist,
        preCompressed: true,
        index: false,
        wildcard: false,
        globIgnore: ['**/*.html*', 'csp.json*'],
        setHeaders: (response, path) => {
          const isHashed = path.includes('/assets/')
          response.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
        },
      })
      const options = { prefixTrailingSlash: 'slash' } as const
      for (const path of globSync('**/*.html', { cwd: dist })) {
        const address = `/${path.replace(/(^|\/)index\.html$|\.html$/, '$1')}`
        if (path === '404.html') continue
        site.get(address, options, (_, reply) => reply.header('content-security-policy', policy).sendFile(path))
        if (address.endsWith('/'))
          server.get(`/docs${address.slice(0, -1)}`, (_, reply) => reply.redirect(`/docs${address}`, 308))
      }
      const notFound = readFileSync(join(dist, '404.html'))
      site.setNotFoundHandler((_, reply) =>
        reply
          .code(404)
          .headers({ 'content-security-policy': policy, 'cache-control': 'no-store' })
          .type(type)
          .send(notFound),
      )
    },
    { prefix: '/docs' },
  )
}

const notBuiltPage = `<!doctype html><meta charset="utf-8"><title>Shoal</title>
<body><h1>Shoal</h1><p>The documentation is not built. <code>npm start</code> builds it.</p>`

/** Returns the content security policy of the documentation: files of this origin, and no inline scripts except those of the build. */
function documentationPolicy(scriptHashes: string[]): string {
  return policyOf({
    'default-src': ["'none'"],
    'script-src': ["'self'", ...scriptHashes.map((hash) => `'${hash}'`)],
    'style-src': ["'self'"],
    // Code is coloured with `style` attributes.
    'style-src-attr': ["'unsafe-inline'"],
    'font-src': ["'self'"],
    'img-src': ["'self'", 'data:'],
    'connect-src': ["'self'"],
    'object-src': ["'none'"],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
  })
}
