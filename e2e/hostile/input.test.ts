import { contract, endpointsOf, isForOperators } from '@shoal/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Pool } from 'undici'
import { badCalls, type BadCall } from '../support/bad-input.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { addOrg, adminPassword, type Org } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'

const callCount = 20_000
const seed = Number(process.env['SHOAL_TEST_SEED'] ?? 20_261_122)
const callers = 8
/** After this many calls, the test creates another organization and session, because some calls delete them. */
const batchSize = 2000
const endpoints = endpointsOf(contract)

let shoal: Shoal
let org: Org
let session: string
let http: Pool

beforeAll(async () => {
  shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
  // The bad calls have a separate source address, so that their failed sign-ins do not count for the rate limit of other calls.
  http = new Pool(shoal.url.replace('localhost', '127.0.0.1'), {
    connections: callers,
    localAddress: '127.0.0.9',
    bodyTimeout: 20_000,
    headersTimeout: 20_000,
  })
  await replaceOrg(0)
})
afterAll(async () => {
  await http?.close()
  await shoal?.end()
})

async function replaceOrg(batchNumber: number): Promise<void> {
  org = await addOrg(shoal, `fuzzed-${batchNumber}`)
  session = (await shoal.as('').auth.signIn({ body: { email: org.email, password: adminPassword } })).token
  await deploySimulated({ shoal, ...org }, { name: 'squid', slot: 'v1' })
}

/** Sends a call, and returns what is wrong with the response; null if it is correct. */
async function faultOf(call: BadCall): Promise<string | null> {
  const tokens = { session, 'api token': org.token, wrong: 'Bearer of bad news', none: null }
  const token = tokens[call.token]
  const { statusCode, headers, body } = await http.request({
    method: call.method,
    path: call.path,
    headers: { ...call.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: call.body,
  })
  statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
  if (statusCode < 400) {
    // A stream of logs does not end.
    body.destroy()
    body.on('error', () => {})
    return null
  }
  const text = await body.text()
  // On a busy machine, Postgres may respond too late. The test limits the number of such responses below, since bad input must not cause them.
  if (statusCode === 503 && text.includes('DATABASE_UNAVAILABLE')) return null
  if (statusCode >= 500) return `${statusCode} ${text}`
  // Node itself rejects a request with too large headers; it does not reach Shoal's code.
  if (statusCode === 431) return null
  if (!String(headers['content-type']).startsWith('application/json')) return `${statusCode} is not JSON: ${text}`
  const { error } = JSON.parse(text) as { error?: unknown }
  if (statusCode === 404 && String(error).startsWith(`Cannot ${call.method} `)) unroutedCalls.add(call)
  if (typeof error !== 'string' || error === '') return `${statusCode} has no message: ${text}`
  return /node_modules|\bat .+:\d+:\d+|pg_|\bselect .+ from\b|RangeError|TypeError/.test(error)
    ? `${statusCode} ${error}`
    : null
}

/** Returns whether a call may end the session or delete the organization. The test sends such calls last. */
const isEnding = ({ endpoint, method }: BadCall): boolean =>
  method === 'DELETE' || /sign-?out|password|restore|email/i.test(endpoint)

const statuses = new Map<number, number>()
/** The calls that the server rejected with the message for an unknown path. */
const unroutedCalls = new Set<BadCall>()

test(
  `${callCount} random calls to all endpoints cause no server error, each rejection has a message, and the server stays ready`,
  { timeout: 900_000 },
  async () => {
    const faults: string[] = []
    for (let from = 0; from < callCount; from += batchSize) {
      if (from > 0) await replaceOrg(from / batchSize)
      const valid = { codes: [org.org], references: ['squid@v1', 'squid:prod', 'other@v1'] }
      const calls = badCalls(contract, valid, { seed: seed + from, count: batchSize })
      const remaining = [...calls.filter((call) => !isEnding(call)), ...calls.filter(isEnding)].values()
      const caller = async () => {
        for (const call of remaining) {
          const fault = await faultOf(call).catch((error: unknown) => `no response: ${String(error)}`)
          if (fault)
            faults.push(
              `${call.endpoint} ${call.method} ${call.path.slice(0, 300)} ${JSON.stringify(call.headers)} ${call.body?.subarray(0, 300).toString() ?? ''} -> ${fault.slice(0, 300)}`,
            )
        }
      }
      await Promise.all(Array.from({ length: callers }, caller))
      const oneOfEach = calls.slice(0, endpoints.length)
      expect(oneOfEach.map(({ endpoint }) => endpoint)).toEqual(endpoints.map(([name]) => name))
      // To all callers except operators, the operators' endpoints behave like unknown paths.
      const publicEndpoints = endpoints.filter(([, endpoint]) => !isForOperators(endpoint)).map(([name]) => name)
      const unreached = oneOfEach.filter((call) => unroutedCalls.has(call)).map(({ endpoint }) => endpoint)
      expect(unreached.filter((name) => publicEndpoints.includes(name))).toEqual([])
    }
    console.log(`seed ${seed}, statuses:`, Object.fromEntries([...statuses].sort(([a], [b]) => a - b)))
    expect(faults).toEqual([])
    expect(shoal.output()).not.toMatch(/uncaught|unhandled/i)
    expect((await fetch(`${shoal.url}/readyz`)).status).toBe(200)
    expect(statuses.get(503) ?? 0).toBeLessThan(callCount / 1000)
    // The calls have reached every layer: some succeeded, and the schema, a handler and the check of permissions each rejected some.
    for (const status of [200, 201, 400, 401, 404, 405])
      expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(20)
  },
)
