import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** `/api/openapi.json` and a page to browse it at `/api/docs`. */
export async function mountDocs(server: FastifyInstance, document: Record<string, unknown>): Promise<void> {
  server.get('/api/openapi.json', (_, reply) => reply.send(document))
  await server.register(fastifySwagger, { mode: 'static', specification: { document: document as never } })
  await server.register(fastifySwaggerUi, { routePrefix: '/api/docs', uiConfig: { deepLinking: true } })
}
