import { dirname } from 'node:path'
import { rmSync } from 'node:fs'
import { bareManifest } from './bare-squid.ts'
import { deploy, waitForDeployment } from './deploy.ts'
import { addOrg, type Org } from './org.ts'
import { makePgSquid } from './pg-squid.ts'
import type { Shoal } from './shoal.ts'
import { until } from './until.ts'

/** Source of the squid's api. It runs the statements that a test sends in the version's database. */
const api = `
const { Client } = require('pg')
const http = require('node:http')
const net = require('node:net')
const connect = async () => {
  const client = new Client({ connectionString: process.env.DB_URL })
  client.on('error', () => undefined)
  await client.connect()
  return client
}
const failureOf = (error) => error.code ?? error.message
let heldClients = []
let heldSockets = []
let isAttacking = false
let attackers = []
// The connection for GET requests.
let queryClient = null
let connections = 0
const openQueryClient = async () => {
  if (queryClient) return queryClient
  queryClient = await connect()
  connections++
  queryClient.on('end', () => (queryClient = null))
  return queryClient
}
const attack = async (sql, codes) => {
  let client = null
  while (isAttacking) {
    try {
      client ??= await connect()
      await client.query(sql)
      codes.completed = (codes.completed ?? 0) + 1
    } catch (error) {
      codes[failureOf(error)] = (codes[failureOf(error)] ?? 0) + 1
      await client?.end().catch(() => undefined)
      client = null
      await new Promise((done) => setTimeout(done, 100))
    }
  }
  void client?.end().catch(() => undefined)
}
const codes = {}
const actions = {
  async run({ sql }) {
    const client = await connect()
    try {
      const result = await client.query(sql)
      return { rows: [result].flat().at(-1).rows.slice(0, 10) }
    } catch (error) {
      return { error: failureOf(error), message: error.message }
    } finally {
      await client.end().catch(() => undefined)
    }
  },
  async hold({ count, sql }) {
    let error = null
    for (let i = 0; i < count && !error; i++)
      try {
        const client = await connect()
        heldClients.push(client)
        if (sql) await client.query(sql)
      } catch (problem) {
        error = failureOf(problem)
      }
    return { held: heldClients.length, error }
  },
  async knock({ count }) {
    const { hostname, port } = new URL(process.env.DB_URL)
    const knock = () => new Promise((done) => {
      const socket = net.connect({ host: hostname, port: Number(port) })
      heldSockets.push(socket)
      socket.on('connect', () => done(true)).on('error', () => done(false))
    })
    const results = await Promise.all(Array.from({ length: count }, knock))
    return { opened: results.filter(Boolean).length }
  },
  async signIn(options) {
    const client = new Client(options)
    client.on('error', () => undefined)
    try {
      await client.connect()
      return { result: 'signed in' }
    } catch (error) {
      return { result: failureOf(error) }
    } finally {
      await client.end().catch(() => undefined)
    }
  },
  async release() {
    for (const socket of heldSockets.splice(0)) socket.destroy()
    await Promise.allSettled(heldClients.splice(0).map((client) => client.end()))
    return {}
  },
  async attack({ loops }) {
    isAttacking = true
    for (const { sql, connections } of loops) for (let i = 0; i < connections; i++) attackers.push(attack(sql, codes))
    return {}
  },
  async stop() {
    isAttacking = false
    await Promise.all(attackers.splice(0))
    return codes
  },
}
http.createServer(async (request, response) => {
  try {
    if (request.method === 'GET') {
      const client = await openQueryClient()
      const { rows } = await client.query('select pg_backend_pid() as pid, count(*)::int as rows from pings')
      return response.end(JSON.stringify({ ...rows[0], connections }))
    }
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const { action, ...input } = JSON.parse(Buffer.concat(chunks).toString())
    // The readiness check sends a GraphQL query.
    if (!action) return response.end(JSON.stringify({ data: { __typename: 'Query' } }))
    response.end(JSON.stringify(await actions[action](input)))
  } catch (error) {
    response.writeHead(500).end(JSON.stringify({ error: failureOf(error) }))
  }
}).listen(process.env.GQL_PORT)
openQueryClient().then((client) => client.query('create table if not exists pings as select n from generate_series(1, 100) n'))
`

export type SqlResult = { rows?: Record<string, unknown>[]; error?: string; message?: string }

/** Options of the client of Postgres. `host`: an address, or the folder of a Unix socket. */
export type SignIn = { host: string; port: number; user: string; database: string; password?: string }

/** A deployed squid in its own organization, which runs statements in its database. */
export type SqlSquid = Org & {
  reference: string
  /** The URL of its api at the gateway. A GET queries its database: `{pid, rows, connections}`, where `connections` is the number of connections that it has opened for such queries. */
  url: string
  /** Runs statements in a new connection. */
  run: (sql: string) => Promise<SqlResult>
  /** Opens up to `count` connections, until one is refused; runs `sql` in each, and keeps them open. */
  hold: (count: number, sql?: string) => Promise<{ held: number; error: string | null }>
  /** Opens up to `count` connections to its Postgres at the same time, which send nothing. Returns how many were accepted. */
  knock: (count: number) => Promise<{ opened: number }>
  /** Tries to sign in to any Postgres: `signed in`, the code of the error, or its message if it has no code. */
  signIn: (options: SignIn) => Promise<string>
  /** Closes the connections that `hold` and `knock` opened. */
  release: () => Promise<unknown>
  /** Repeats each statement in the background, on this number of connections. */
  attack: (loops: { sql: string; connections: number }[]) => Promise<unknown>
  /** Ends the loops after their current statement. Returns how many statements had each result since the deployment: `completed`, or an error code. */
  stop: () => Promise<Record<string, number>>
}

/** Deploys a squid that runs statements in a new organization. @param config the `config` of the addon postgres, such as `{version: 16}` */
export async function deploySqlSquid(shoal: Shoal, code: string, config = '{}'): Promise<SqlSquid> {
  const org = await addOrg(shoal, code)
  const addon = `  addons:\n    postgres:\n      config: ${config}\n`
  const project = makePgSquid(code, { 'squid.yaml': bareManifest(code, addon), 'api.js': api })
  try {
    const cloud = { shoal, ...org, project }
    const deployment = await waitForDeployment(cloud, await deploy(cloud, { name: code, slot: 'v1' }))
    if (deployment.failed !== 'NO') throw new Error(`${code} was not deployed: ${deployment.failureReason ?? ''}`)
  } finally {
    rmSync(dirname(project), { recursive: true, force: true })
  }
  const url = `${shoal.gatewayUrl}/${code}/${code}@v1/api/`
  const call = async <T = never>(action: string, input: object = {}) => {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ action, ...input }) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${action}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }
  await until(async () => (await fetch(url)).ok, `${code} responds`)
  return {
    ...org,
    reference: `${code}@v1`,
    url,
    run: (sql) => call('run', { sql }),
    hold: (count, sql) => call('hold', { count, sql }),
    knock: (count) => call('knock', { count }),
    signIn: async (options) => (await call<{ result: string }>('signIn', options)).result,
    release: () => call('release'),
    attack: (loops) => call('attack', { loops }),
    stop: () => call('stop'),
  }
}
