import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'

/** Browser features that no page of Shoal uses. */
const permissionsPolicy = ['camera', 'display-capture', 'geolocation', 'hid', 'microphone', 'midi', 'serial', 'usb']
  .map((feature) => `${feature}=()`)
  .join(', ')

/**
 * Sets security headers on every response. The default content security policy allows nothing, which is right for data; pages set their own policies.
 * HSTS is sent only if the public URL is `https:`, since browsers remember it.
 */
export async function setSecurityHeaders(server: FastifyInstance, config: Pick<Config, 'publicUrl'>): Promise<void> {
  await server.register(fastifyHelmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    strictTransportSecurity: config.publicUrl.startsWith('https:'),
    frameguard: { action: 'deny' },
  })
  server.addHook('onRequest', async (_, reply) => void reply.header('permissions-policy', permissionsPolicy))
}

/** Returns the policy of the API docs, given the policy that Swagger UI computes for its files. */
export const apiDocsPolicy = (policy: string): string =>
  policy
    .replace(' upgrade-insecure-requests;', '')
    .replace(' validator.swagger.io', '')
    .replace("base-uri 'self'", "base-uri 'none'")
    .replace("frame-ancestors 'self'", "frame-ancestors 'none'")
    .replaceAll(' https:', '')

/** Returns a content security policy, given the sources of each directive. */
export const policyOf = (directives: Record<string, string[]>): string =>
  Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources.join(' ')}`)
    .join('; ')
