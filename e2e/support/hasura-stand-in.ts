import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Writes a program for SHOAL_HASURA_PROGRAM that stands in for Hasura, and returns its path. It reads its settings from the same
 * environment variables, reports its health at the same path and checks the admin secret, as Hasura's documentation describes, but it
 * has no schema. With STAND_IN=fails, it exits immediately.
 */
export function writeHasuraStandIn(folder: string): string {
  const file = join(folder, 'graphql-engine')
  writeFileSync(file, program)
  chmodSync(file, 0o755)
  return file
}

const program = `#!/usr/bin/env node
const { createServer } = require('node:http')
const { connect } = require('node:net')
const env = process.env
if (process.argv[2] !== 'serve') throw new Error('no such command')
if (env.STAND_IN === 'fails') {
  console.error('the metadata is inconsistent')
  process.exit(1)
}
const database = new URL(env.HASURA_GRAPHQL_DATABASE_URL)
const respond = (response, status, body) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

connect({ host: database.hostname, port: Number(database.port || 5432) }, function () {
  this.destroy()
  createServer((request, response) => {
    if (request.url === '/healthz') return response.end('OK')
    if (request.headers['x-hasura-admin-secret'] !== env.HASURA_GRAPHQL_ADMIN_SECRET)
      return respond(response, 200, { errors: [{ extensions: { code: 'access-denied' } }] })
    respond(response, 200, { data: { __typename: 'query_root' }, marker: env.MARKER ?? null })
  }).listen(Number(env.HASURA_GRAPHQL_SERVER_PORT), env.HASURA_GRAPHQL_SERVER_HOST, () =>
    console.log('serving with the database ' + database.pathname),
  )
})
`
